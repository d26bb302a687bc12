// Questions over time: one alone, or one small picture each.

import { get, pathOf } from "./api.js";
import { figure, historyChart } from "./charts.js";
import { h, scroller, table } from "./dom.js";
import { count, moment, queryLine, several } from "./formatting.js";
import { LOOKS } from "./marks.js";

/** One question over time; `chosen` is the selected entry, and `go` opens another. */
export function historyFigure(history, { title = queryLine(history, 60), level = "h3", name = null, chosen = null, go = null, tall = 190 } = {}) {
  const { points, display } = history;
  const gated = "gate" in display;
  const rows = () => points.map((point, i) => [count(point.round), moment(point.time), display.values[i], display.intervals[i], ...(gated ? [point.verdict] : [])]);
  const columns = ["records#", "answered", "value#", "interval#", ...(gated ? ["verdict"] : [])];
  return figure({
    title,
    level,
    name,
    note: latest(history),
    label: `${queryLine(history)}: ${several(points.length, "answer")} over the number of records, the last ${display.values.at(-1)} in ${display.intervals.at(-1)}.`,
    draw: (wide) => {
      const picture = historyChart(history, chosen, wide, tall);
      if (go) picture.addEventListener("click", (event) => go(nearest(picture, points, event, wide).entry));
      return picture;
    },
    rows: () => scroller(`${title} as a table`, table(title, columns, rows())),
    tall,
  });
}

/** All questions that have names or, without names, those asked most often. */
export function historiesSection(histories) {
  if (histories.length === 0) return null;
  const named = histories.some((history) => history.title !== null);
  return h(
    "section",
    { class: "histories", "aria-labelledby": "over-time" },
    h("div", { class: "heading" }, h("h2", { id: "over-time" }, named ? "Dashboard" : "Questions asked most often")),
    h("p", { class: "muted" }, "Each question over the number of records, with its interval, in its own unit.", histories.some((one) => "gate" in one.display) && " The dashed line is its gate: ▲ pass, ✕ fail, ■ undecided."),
    h("div", { class: "multiples" }, histories.map((history, i) => historyFigure(history, { name: `history-${i}` }))),
  );
}

/** What the last answer says, and what was wanted. */
function latest({ display, points }) {
  const { verdict } = points.at(-1);
  return [
    h("b", {}, display.values.at(-1)),
    h("span", { class: "ends" }, ` ${display.intervals.at(-1)}`),
    verdict && [" · ", h("span", { class: `badge ${verdict}`, title: `${display.gate} wanted` }, LOOKS[verdict].badge, " ", verdict)],
  ];
}

/** The answer that is nearest to a click. */
function nearest(picture, points, event, wide) {
  const box = picture.getBoundingClientRect();
  const at = picture.scale("x").invert((event.clientX - box.left) * (wide / box.width));
  return points.reduce((best, point) => (Math.abs(point.round - at) < Math.abs(best.round - at) ? point : best));
}

const NUMBERS = ["answer", "estimate", "number"]; // kinds of results that have a history

/** The question of a number over time; nothing if there is only this answer. */
export async function historyOf(result, go) {
  if (!NUMBERS.includes(result.kind)) return null;
  const history = await get(pathOf("/v1/history", { question: result.query }));
  if (history.points.length < 2) return null;
  return historyFigure(history, { title: "This question over time", chosen: result.entry, go });
}
