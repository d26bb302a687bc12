// Charts, drawn by Observable Plot (vendor/). Colours are CSS variables, so switching the theme
// needs no redrawing; every chart has a label and a table.

import { h } from "./dom.js";
import { LOOKS } from "./marks.js";
import { count, moment } from "./formatting.js";

const { Plot } = globalThis;

const LABELS = { sharp: "sharp (Surehold)", "ours-n": "ours-n (paper)", "ours-u": "ours-u (paper)", adaptive: "adaptive (paper)" };
const STYLE = { fontSize: "12px", background: "none", overflow: "visible" };

const plot = (width, height, options) => Plot.plot({ style: STYLE, width, height, ...options });
const short = (value) => (value === 0 ? "0" : globalThis.d3.format("~s")(value));

export const certificateLabel = (name) => LABELS[name] ?? name;
export const certificateColour = (name) => `var(--c-${name.replace("+", "-plus")})`;

/**
 * A figure: caption, chart and the same data as a table. `draw(width)` returns the chart and is
 * called again when the available width changes. `rows()` returns the table, once it is opened: a
 * thousand lines that nobody reads would only take memory. `name` lets an open table stay open.
 */
export function figure({ title, level = "h3", name, note, label, draw, rows, tall = 220 }) {
  const canvas = h("div", { class: "chart" });
  canvas.style.minHeight = `${tall}px`; // keeps the layout still while the chart is drawn
  const list = () => details.childElementCount === 1 && details.append(rows());
  const details = h("details", { "data-name": name, ontoggle: list }, h("summary", { onclick: list }, "As a table"));
  const whole = h("figure", {}, h("figcaption", {}, h(level, {}, title), note && h("p", {}, note)), canvas, details);
  let drawn = 0;
  const observer = new ResizeObserver(([entry]) => {
    const room = Math.floor(entry.contentRect.width);
    if (room < 60 || room === drawn) return;
    drawn = room;
    const picture = draw(room);
    // Plot labels its groups ("area", "rule"); one label for the whole chart is better.
    for (const part of picture.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", label);
    canvas.replaceChildren(picture);
  });
  observer.observe(canvas);
  return whole;
}

/** The number of records over time, with the plan's first and last round. */
export function growthChart(points, status, wide) {
  const times = points.map((point) => ({ time: new Date(point.time), n: point.n }));
  times.unshift({ time: times[0].time, n: 0 });
  times.push({ time: new Date(Math.max(Date.now(), times.at(-1).time)), n: status.n });
  const span = Math.max(times.at(-1).time - times[0].time, 60_000); // so that a single append is a line, not a point
  const since = new Date(times.at(-1).time - span);
  const planned = [["first", status.first_round], ["last", status.last_round]].filter(([, n]) => n !== undefined);
  const top = Math.max(status.n, status.first_round ?? 1) * 1.12;
  const bounds = planned.map(([which, n]) => ({ n, text: `${which} round ${count(n)}` })).filter((bound, i, all) => bound.n <= top && (i === 0 || bound.n > all[0].n));
  return plot(wide, 220, {
    marginLeft: 48,
    marginRight: 12,
    marginBottom: 36,
    x: { type: "time", domain: [since, times.at(-1).time], label: null, ticks: Math.max(2, Math.floor(wide / 130)) },
    y: { domain: [0, top], label: null, tickFormat: short, ticks: 5, grid: true },
    marks: [
      steps(times, "time", "n"),
      Plot.ruleY(bounds, { y: "n", stroke: "var(--muted)", strokeDasharray: "4 4" }),
      Plot.text(bounds, { y: "n", text: "text", frameAnchor: "right", dx: -6, dy: 11, textAnchor: "end", fill: "var(--muted)" }),
      Plot.dot(times.slice(-1), { x: "time", y: "n", r: 4, fill: "var(--holds)" }),
      Plot.ruleY([0], { stroke: "var(--line)" }),
    ],
  });
}

/** The total cost of the answers up to each round. */
export function budgetChart(rounds, status, wide) {
  const spent = [{ round: status.first_round, spent: 0 }, ...rounds.map((given) => ({ round: given.round, spent: given.share_so_far }))];
  const single = status.first_round === status.last_round;
  const domain = single ? [0, status.last_round * 1.3] : [status.first_round, status.last_round];
  const end = single ? domain[1] : Math.min(status.n, status.last_round);
  if (end > spent.at(-1).round) spent.push({ round: end, spent: spent.at(-1).spent });
  const now = status.n >= status.first_round ? [Math.min(status.n, status.last_round)] : [];
  const isLate = now[0] > (domain[0] + domain[1]) / 2;
  return plot(wide, 220, {
    marginLeft: 48,
    marginRight: 16,
    x: { domain, label: null, tickFormat: short, ticks: Math.max(2, Math.floor(wide / 90)) },
    y: { domain: [0, 1.04], label: null, tickFormat: ".0%", ticks: 5, grid: true },
    marks: [
      steps(spent, "round", "spent"),
      Plot.ruleY([1], { stroke: "var(--trouble)", strokeDasharray: "5 4" }),
      Plot.text([1], { y: 1, text: () => "total budget", frameAnchor: isLate ? "left" : "right", dx: isLate ? 8 : 0, dy: 11, textAnchor: isLate ? "start" : "end", fill: "var(--trouble-text)" }),
      Plot.ruleX(now, { stroke: "var(--muted)" }),
      Plot.text(now, { x: (d) => d, y: 0.5, text: () => "now", dx: isLate ? -6 : 6, textAnchor: isLate ? "end" : "start", fill: "var(--muted)" }),
    ],
  });
}

/** The bits spent after each answer, oldest first; a surprise has a dot. */
export function bitsChart(answers, wide) {
  const before = answers.length ? answers[0].spent - answers[0].surprise : 0;
  const spent = [{ i: 0, spent: before }, ...answers.map((one, i) => ({ i: i + 1, spent: one.spent, surprised: one.expected === false }))];
  spent.push({ i: spent.length, spent: spent.at(-1).spent });
  const top = spent.at(-1).spent || 1;
  return plot(wide, 220, {
    marginLeft: 48,
    marginRight: 16,
    x: { domain: [0, Math.max(spent.length - 1, 1)], label: null, tickFormat: (i) => (Number.isInteger(i) ? count(i) : ""), ticks: Math.max(2, Math.floor(wide / 90)) },
    y: { domain: [0, top * 1.08], label: null, tickFormat: short, ticks: 5, grid: true },
    marks: [
      steps(spent, "i", "spent"),
      Plot.dot(spent.filter((one) => one.surprised), { x: "i", y: "spent", r: 4, fill: "var(--trouble)", title: () => "a surprise" }),
      Plot.ruleY([0], { stroke: "var(--line)" }),
    ],
  });
}

/**
 * One question over the number of records: a ribbon of intervals, its values, and its gate as a dashed
 * line, in its own unit. `history` is that of the service; `chosen` is the selected entry.
 */
export function historyChart(history, chosen, wide, tall) {
  const { factor, unit, display, range } = history;
  const points = history.points.map((point, i) => ({ ...point, low: factor * point.low, high: factor * point.high, value: factor * point.value, look: point.verdict ?? "answer", text: pointText(history, i) }));
  const limit = history.at_least ?? history.at_most;
  const gates = limit === null ? [] : [factor * limit];
  const domain = roomAround(points.flatMap(({ low, high }) => [low, high]), gates, range.map((end) => factor * end));
  const rounds = points.map((point) => point.round);
  const [first, last] = [Math.min(...rounds), Math.max(...rounds)];
  const span = last - first || last;
  const marked = points.length <= 60 ? points : points.slice(-1);
  const isBelow = points.at(-1).value > gates[0]; // the words, so that they are not under the line
  return plot(wide, tall, {
    marginLeft: 52,
    marginRight: 14,
    marginTop: unit ? 26 : 12,
    x: { domain: [Math.max(0, first - 0.06 * span), last + 0.06 * span], label: null, tickFormat: short, ticks: Math.max(2, Math.floor(wide / 90)) },
    y: { domain, label: unit, labelAnchor: "top", labelArrow: "none", ticks: 4, grid: true },
    marks: [
      points.length > 1
        ? Plot.areaY(points, { x: "round", y1: "low", y2: "high", fill: "var(--holds)", fillOpacity: 0.18 })
        : Plot.ruleX(points, { x: "round", y1: "low", y2: "high", stroke: "var(--holds)", strokeWidth: 7, strokeOpacity: 0.35 }),
      Plot.lineY(points, { x: "round", y: "value", stroke: "var(--holds)", strokeWidth: 2 }),
      Plot.ruleY(gates, { stroke: "var(--text)", strokeDasharray: "5 4" }),
      Plot.text(gates, { y: (d) => d, text: () => display.gate, frameAnchor: "right", textAnchor: "end", dy: isBelow ? 11 : -8, fill: "var(--muted)", stroke: "var(--ground)", strokeWidth: 4 }),
      Plot.dot(points.filter((point) => point.entry === chosen), { x: "round", y: "value", r: 9, stroke: "var(--holds)", strokeWidth: 1.5 }),
      Plot.dot(marked, { x: "round", y: "value", symbol: (d) => LOOKS[d.look].symbol, r: (d) => (d === points.at(-1) ? 4.5 : 3), fill: (d) => (LOOKS[d.look].symbol === "times" ? "none" : LOOKS[d.look].colour), stroke: (d) => LOOKS[d.look].colour }),
      Plot.tip(points, Plot.pointerX({ x: "round", y: "value", title: "text", maxRadius: 60, fill: "var(--raised)", stroke: "var(--line)", lineWidth: 18 })),
    ],
    symbol: { type: "identity" },
  });
}

/** An answer of a history in words. */
function pointText({ display, points }, i) {
  const { round, entry, time, verdict } = points[i];
  return [`${display.values[i]} in ${display.intervals[i]}`, verdict, `${count(round)} records`, moment(time), `entry ${count(entry)}`].filter(Boolean).join("\n");
}

/** The numbers that are drawn, with some room, for the words at a gate too, within what is possible. */
function roomAround(ends, gates, [least, most]) {
  const [low, high] = [Math.min(...ends, ...gates), Math.max(...ends, ...gates)];
  const room = (gates.length ? 0.17 : 0.1) * (high - low) || 0.05 * (most - least);
  return [Math.max(low - room, least - 0.2 * room), Math.min(high + room, most + 0.2 * room)];
}

/** The best of all submissions so far, with its interval; those that were not better are ticks. */
export function progressChart(submissions, wide) {
  const best = submissions.filter((one) => one.interval).map((one) => ({ ...one, low: one.interval[0], high: one.interval[1] }));
  const last = submissions.length + 0.5;
  const spans = best.map((one, i) => ({ ...one, end: best[i + 1]?.number ?? last }));
  const domain = roomAround(best.flatMap(({ low, high }) => [low, high]), [], [-Infinity, Infinity]);
  return plot(wide, 260, {
    marginLeft: 52,
    marginRight: 14,
    marginBottom: 36,
    x: { domain: [0.5, last], label: "submission", labelArrow: "none", tickSize: 0, tickFormat: (i) => (Number.isInteger(i) ? count(i) : ""), ticks: Math.max(2, Math.floor(wide / 90)) },
    y: { domain, label: null, ticks: 5, grid: true },
    marks: [
      Plot.rect(spans, { x1: "number", x2: "end", y1: "low", y2: "high", fill: "var(--holds)", fillOpacity: 0.18 }),
      Plot.link(spans, { x1: "number", x2: "end", y1: "value", y2: "value", stroke: "var(--holds)", strokeWidth: 2 }),
      Plot.dot(best, { x: "number", y: "value", r: 4, fill: "var(--holds)" }),
      Plot.ruleX(submissions.filter((one) => !one.interval), { x: "number", y1: domain[0], y2: domain[0] + 0.05 * (domain[1] - domain[0]), stroke: "var(--muted)", strokeWidth: 1.5 }),
      Plot.tip(best, Plot.pointer({ x: "number", y: "value", title: (one) => `${one.name}\n${one.display.value} in ${one.display.interval}\n${one.display.outcome}`, fill: "var(--raised)", stroke: "var(--line)", lineWidth: 18 })),
    ],
  });
}

/** The cells of a table, one row each, on the table's own scale. */
export function cellsChart(cells, range, wide) {
  const rows = cells.map((cell, i) => ({ ...cell, i, low: cell.interval?.[0], high: cell.interval?.[1] }));
  const known = rows.filter((row) => row.interval);
  const longest = Math.max(...cells.map((cell) => cell.label.length));
  const left = Math.min(7 * longest + 16, wide * 0.42);
  const fits = Math.floor((left - 16) / 7);
  const label = (text) => (text.length > fits ? `${text.slice(0, Math.max(fits - 1, 1))}…` : text);
  return plot(wide, 50 + 20 * cells.length, {
    marginLeft: left,
    marginRight: 16,
    x: { domain: range, label: null, grid: true, ticks: Math.max(2, Math.floor(wide / 110)) },
    y: { domain: rows.map((row) => row.i), tickFormat: (i) => label(cells[i].label), label: null, tickSize: 0 },
    marks: [
      Plot.ruleY(rows.filter((row) => !row.interval), { y: "i", x1: range[0], x2: range[1], stroke: "var(--muted)", strokeDasharray: "2 4" }),
      Plot.ruleY(known, { y: "i", x1: "low", x2: "high", stroke: "var(--holds)", strokeWidth: 7, strokeOpacity: 0.35 }),
      Plot.dot(known, { y: "i", x: "value", r: 3.5, fill: "var(--holds)" }),
    ],
  });
}

/** The certificates for one plan, as bars from zero so that lengths compare. */
export function comparisonChart(entries, wide) {
  const key = { queries: "queries", width: "width", records: "n" }[entries[0].solved_for];
  const useful = entries.filter((entry) => entry.reason === null);
  const most = Math.max(...useful.map((entry) => entry[key]), 0);
  const shown = (entry) => (key === "width" ? entry.display.width : count(entry[key]));
  const left = wide < 480 ? 108 : 128;
  return plot(wide, 46 + 38 * useful.length, {
    marginLeft: left,
    marginRight: 84,
    x: { domain: [0, most || 1], label: null, grid: true, ticks: Math.max(2, Math.floor(wide / 160)), tickFormat: key === "width" ? undefined : short },
    y: { domain: useful.map((entry) => entry.certificate), label: null, tickSize: 0, tickFormat: certificateLabel },
    marks: [
      Plot.barX(useful, { y: "certificate", x: key, fill: (entry) => certificateColour(entry.certificate), insetTop: 4, insetBottom: 4 }),
      Plot.text(useful, { y: "certificate", x: key, text: shown, dx: 6, textAnchor: "start", fill: "var(--text)" }),
      Plot.ruleX([0], { stroke: "var(--muted)" }),
    ],
  });
}

/** Under each attack, how often all intervals held, with its bounds: the guard above its control. */
export function coverageChart(rows, { guard, promised }, wide) {
  const attacks = [...new Set(rows.map(({ attack }) => attack))];
  const placed = rows.map((row) => ({ ...row, isGuard: row.defender === guard, share: row.covered / row.repeats }));
  const side = (isGuard) => {
    const own = placed.filter((row) => row.isGuard === isGuard);
    const look = { stroke: isGuard ? "var(--holds)" : "var(--trouble)", dy: isGuard ? -7 : 7 };
    return [
      Plot.ruleY(own, { ...look, y: "attack", x1: "coverage_low", x2: "coverage_high", strokeWidth: 6, strokeOpacity: 0.35 }),
      Plot.dot(own, { ...look, y: "attack", x: "share", r: 4, fill: isGuard ? "var(--holds)" : "none", symbol: isGuard ? "circle" : "times", strokeWidth: 2 }),
    ];
  };
  return plot(wide, 60 + 44 * attacks.length, {
    marginLeft: wide < 480 ? 108 : 132,
    marginRight: 28,
    x: { domain: [0, 1], label: null, grid: true, tickFormat: ".0%", ticks: Math.max(2, Math.floor(wide / 110)) },
    y: { domain: attacks, label: null, tickSize: 0 },
    marks: [Plot.ruleX([promised], { stroke: "var(--muted)", strokeDasharray: "5 4" }), side(true), side(false)],
  });
}

/** A line that rises in steps, over an area of the same colour. */
function steps(points, x, y) {
  const shape = { x, curve: "step-after" };
  return [
    // With y alone, Plot would stack points of the same x: appends in one second, say.
    Plot.areaY(points, { ...shape, y1: 0, y2: y, fill: "var(--holds)", fillOpacity: 0.14 }),
    Plot.lineY(points, { ...shape, y, stroke: "var(--holds)", strokeWidth: 2 }),
  ];
}
