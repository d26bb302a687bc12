// One answer in full: its value, its cost and the assumptions behind it.

import { cellsChart, figure } from "./charts.js";
import { h, scroller, table, terms } from "./dom.js";
import { count, moment, several } from "./formatting.js";
import { strip } from "./marks.js";
import { isOutcome, surpriseOf } from "./surprise.js";

const MOST_DRAWN = 60;

/** The details of a result, under a heading of its own. */
export function details(result, range, history = null) {
  const { value, width, interval, terms: parts } = result.display;
  return [
    h("h2", { id: "answer-title", tabindex: "-1" }, `Answer ${count(result.entry)}`),
    result.title && h("p", { class: "title" }, result.title),
    h("pre", { class: "query", tabindex: "0", role: "region", "aria-label": "Query" }, result.display.query ?? result.query),
    h("p", { class: "answer-line" }, h("b", {}, value), width && ` ${width}`, interval && h("span", { class: "ends" }, ` ${interval}`)),
    result.cells ? cells(result) : strip(result, range),
    history,
    result.kind === "fit" && h("p", {}, h("code", { class: "long" }, result.display.formula)),
    terms([
      ["Guarantee", guarantee(result)],
      ["Round", `${count(result.round)} records`],
      ["About", result.among?.length ? `the records that ${result.among.join(" and ")} ${result.among.length > 1 ? "cover" : "covers"}` : null],
      ["Hashes", Object.keys(result.names ?? {}).length ? h("code", { class: "long" }, Object.entries(result.names).map(([hash, name]) => `${name} = ${hash}`).join(", ")) : null],
      ["Width", parts && `${width} (${parts})`],
      ["Reported", result.kind === "number" && result.cell && `over these records, from ${result.cell[0]} to ${result.cell[1]}`],
      ["With earlier answers", combined(result)],
      ["Claim", isOutcome(result) && (result.claim === null ? "nothing about the population" : `number ${count(result.claim)}`)],
      ["Cost", cost(result)],
      ["Asked", `${moment(result.time)} by ${result.analyst}`],
      ["Certificate", result.certificate ? `${result.certificate} (${result.theorem})` : result.theorem],
      ["Derived from", result.parts?.length ? links(result.parts) : null],
      ["Predictor", result.predictor && h("code", { class: "long" }, result.predictor)],
      ["As written", result.query === result.text ? null : h("code", { class: "long clipped", tabindex: "0", role: "region", "aria-label": "Query as written" }, result.text)],
    ], { class: "facts" }),
    h("details", {}, h("summary", {}, "Assumptions"), h("ul", {}, result.assumptions.map((text) => h("li", {}, text)))),
    h("p", { class: "links" }, h("a", { href: `/ask?q=${encodeURIComponent(result.title ?? result.query)}` }, "Ask again")),
  ];
}

function guarantee(result) {
  if (result.kind === "fit") return "none for the coefficients; answers about this model carry the usual guarantee";
  if (result.claim === null) return "none: it is about these records only";
  return `with probability ${result.display.confidence}, this and every other answer of the analysis is correct`;
}

function cost(result) {
  if (isOutcome(result)) return `${surpriseOf(result).replace(/^cost /, "")}; ${result.display.spent} in all by then`;
  const price = result.price === 0 ? "nothing beyond the answers it is derived from" : `the price of ${several(result.price, "fraction")} at this round`;
  return `${price}; ${several(result.answers_left, "answer")} left for all afterwards`;
}

/** What all answers to a question say together, if that is more than this one says. */
function combined(result) {
  if (result.kind !== "number" || result.value === null) return null;
  if (result.combined === null) return "the answers to this question contradict each other";
  return result.display.combined === result.display.interval ? null : result.display.combined;
}

function links(entries) {
  return entries.map((entry, i) => [i > 0 && ", ", h("a", { href: `/transcript?entry=${entry}` }, `answer ${count(entry)}`)]);
}

/** Few cells as a chart with its table; many as a table that scrolls, the first that have a text. */
function cells(result) {
  const texts = result.display.cells;
  const rows = texts.map((text, i) => [result.cells[i].label, ...text.split("  ")]);
  const rest = result.cells.length - texts.length;
  const listed = scroller(
    "Cells",
    table(several(result.cells.length, "cell"), ["cell", "value#", "interval#"], rows),
    rest > 0 && h("p", { class: "muted" }, `${count(rest)} more are in the export.`),
  );
  if (result.cells.length > MOST_DRAWN) return listed;
  return figure({
    title: "Cells",
    label: `The ${several(result.cells.length, "cell")} of the table with their intervals.`,
    draw: (wide) => cellsChart(result.cells, result.range, wide),
    rows: () => listed,
    tall: 50 + 20 * result.cells.length,
  });
}
