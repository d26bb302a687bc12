// One row of a list of answers: the query, its interval as a strip, its value and its cost.

import { h } from "./dom.js";
import { count, queryLine, several, shorten } from "./formatting.js";
import { LOOKS, strip } from "./marks.js";
import { isOutcome, surpriseOf } from "./surprise.js";

const priceOf = ({ price }) => (price === 0 ? "derived, free" : `cost ${several(price, "answer")}`);

/** A row; the query links to the details, so the keyboard reaches them. */
export function answerRow(result, { range, href = `/transcript?entry=${result.entry}`, chosen = false } = {}) {
  const { value, width, interval } = result.display;
  const cost = isOutcome(result) ? surpriseOf(result) : priceOf(result);
  return h(
    "li",
    { class: chosen ? "answer chosen" : "answer", "data-entry": result.entry },
    h("a", { href, class: result.title ? "asked named" : "asked", "data-entry": result.entry, "aria-current": chosen ? "true" : null, title: result.title ? result.query : `entry ${result.entry}` }, queryLine(result)),
    strip(result, range),
    h(
      "span",
      { class: "value" },
      result.verdict && h("span", { class: `badge ${result.verdict}`, "aria-hidden": "true" }, LOOKS[result.verdict].badge, " "),
      h("b", {}, shorten(value)),
      width && ` ${width}`,
      interval && h("span", { class: "ends" }, ` ${interval}`),
    ),
    h("span", { class: "about" }, `entry ${count(result.entry)} · n = ${count(result.round)} · ${cost} · ${result.analyst}`),
  );
}
