// Everything that is known of one answer: what it says, what it cost and what it rests on.

import { cellsChart, figure } from "./charts.js";
import { h, scroller, table, terms } from "./dom.js";
import { strip } from "./marks.js";
import { count, general, moment, percent, several, width } from "./formatting.js";
import { jsonLink } from "./parts.js";
import { cellPlaces, cost, interval, kindOf, said } from "./rendering.js";
import { plain } from "./formatting.js";

const MOST_DRAWN = 60;

/** The details of a result, under a heading of its own. */
export function details(result, { range, heading = "h2" } = {}) {
  const { value, width: wide, interval: ends } = said(result);
  return [
    h(heading, { id: "answer-title", tabindex: "-1" }, `Answer ${count(result.entry)}`),
    h("pre", { class: "query", tabindex: "0", role: "region", "aria-label": "The query" }, result.query),
    h("p", { class: "answer-line" }, h("b", {}, value), wide && ` ${wide}`, ends && h("span", { class: "ends" }, ` ${ends}`)),
    kindOf(result) === "table" ? null : strip(result, range),
    extra(result),
    terms([
      ["Holds", promised(result)],
      ["Round", `${count(result.round)} records`],
      ["Width", madeOf(result)],
      ["Cost", `${cost(result)}; ${several(result.answers_left, "answer")} more were left there`],
      ["Asked", `${moment(result.time)}, by ${result.analyst}`],
      ["Certificate", `${result.certificate} (${result.theorem})`],
      ["Follows from", parts(result)],
      ["Written", result.query === result.text ? null : h("code", { class: "long clipped", tabindex: "0", role: "region", "aria-label": "The query as it was written" }, result.text)],
    ], { class: "facts" }),
    h("details", {}, h("summary", {}, "It holds if"), h("ul", {}, result.assumptions.map((text) => h("li", {}, text)))),
    h("p", { class: "links" }, jsonLink(`/v1/transcript/${result.entry}`), " · ", h("a", { href: `/ask?q=${encodeURIComponent(result.query)}` }, "Ask it again")),
  ];
}

function promised(result) {
  if (kindOf(result) === "fit") return "nothing is promised of the coefficients; answers about this model hold";
  return `with probability ${percent(result.beta)}, for all answers of the analysis together`;
}

function madeOf(result) {
  if (typeof result.width !== "number") return null;
  const made = Object.entries(result.terms ?? {}).map(([name, value]) => `${general(value)} ${name}`);
  const shown = kindOf(result) === "choice" ? `at most ${width(result.width)} from the best` : `± ${width(result.width)}`;
  return made.length ? `${shown} (${made.join(" + ")})` : shown;
}

function parts(result) {
  if (!result.parts?.length) return null;
  return result.parts.map((entry, i) => [i > 0 && ", ", h("a", { href: `/transcript?entry=${entry}` }, `answer ${count(entry)}`)]);
}

function extra(result) {
  switch (kindOf(result)) {
    case "table":
      return cells(result);
    case "fit":
      return scroller(
        "Coefficients",
        table("Coefficients", ["feature", "coefficient#"], [["intercept", general(result.intercept)], ...Object.entries(result.coefficients).map(([name, value]) => [name, general(value)])]),
        h("p", {}, "As an expression, to ask about: ", h("code", { class: "long" }, result.predictor)),
      );
    default:
      return null;
  }
}

/** Few cells as a picture with its table; many as a table that scrolls. */
function cells(result) {
  const places = cellPlaces(result.cells);
  const rows = result.cells.map((cell) => [
    cell.label,
    cell.value === null ? "undetermined" : plain(cell.value, places),
    cell.interval === null ? "" : interval(cell.interval, places),
  ]);
  const listed = scroller("Cells", table(several(result.cells.length, "cell"), ["cell", "value#", "interval#"], rows));
  if (result.cells.length > MOST_DRAWN) return listed;
  return figure({
    title: "Cells",
    label: `The ${several(result.cells.length, "cell")} of the table with their intervals.`,
    draw: (wide) => cellsChart(result.cells, result.range, wide),
    rows: listed,
    tall: 50 + 20 * result.cells.length,
  });
}
