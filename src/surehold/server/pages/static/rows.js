// An answer as a line of a list: what was asked, where it lies, what it says, what it cost.

import { h } from "./dom.js";
import { LOOKS, strip } from "./marks.js";
import { count, several } from "./formatting.js";
import { asked, said } from "./rendering.js";

/** A row; its query is the link to its details, so that it is reached by keyboard. */
export function answerRow(result, { range, href = `/transcript?entry=${result.entry}`, chosen = false } = {}) {
  const { value, width, interval } = said(result);
  const look = LOOKS[result.verdict];
  return h(
    "li",
    { class: chosen ? "answer chosen" : "answer", "data-entry": result.entry },
    h("a", { href, class: "asked", "data-entry": result.entry, "aria-current": chosen ? "true" : null, title: `entry ${result.entry}` }, asked(result)),
    strip(result, range),
    h(
      "span",
      { class: "told" },
      look && h("span", { class: `badge ${result.verdict}`, "aria-hidden": "true" }, { pass: "▲", fail: "✕", undecided: "■" }[result.verdict], " "),
      h("b", {}, value),
      width && h("span", { class: "wide" }, ` ${width}`),
      interval && h("span", { class: "ends" }, ` ${interval}`),
    ),
    h(
      "span",
      { class: "about" },
      `entry ${count(result.entry)} · n = ${count(result.round)} · ${price(result)} · ${result.analyst}`,
    ),
  );
}

function price(result) {
  return result.price === 0 ? "follows, free" : `cost ${several(result.price, "answer")}`;
}
