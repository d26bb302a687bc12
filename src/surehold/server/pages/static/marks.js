// Results on a scale from their smallest to their largest possible value, for charts and strips.

/** Shapes besides colours, so that nothing depends on colour alone. */
export const LOOKS = {
  answer: { colour: "var(--holds)", symbol: "circle" },
  estimate: { colour: "var(--holds)", symbol: "diamond" },
  cell: { colour: "var(--holds)", symbol: "circle" },
  pass: { colour: "var(--holds)", symbol: "triangle", badge: "▲" },
  fail: { colour: "var(--trouble)", symbol: "times", badge: "✕" },
  undecided: { colour: "var(--muted)", symbol: "square", badge: "■" },
  "not pass": { colour: "var(--muted)", symbol: "square", badge: "■" },
  undetermined: { colour: "var(--muted)", symbol: null },
};

/** The intervals of a result on a scale from 0 to 1: one, one a cell, or none. */
export function marksOf(result, range = result.range) {
  const { kind } = result;
  if (["choice", "fit", "decision", "ladder", "selection"].includes(kind)) return [];
  if (kind === "table" || kind === "shares") {
    return result.cells.map((cell) => mark(cell.value, cell.interval, range, "cell"));
  }
  if (kind === "number") return [mark(result.value, [result.low, result.high], range, "answer")];
  const look = kind === "verdict" ? result.verdict : kind;
  return [mark(result.value, result.interval, range ?? [0, 1], look)];
}

function mark(value, interval, [low, high], look) {
  const span = high - low || 1;
  const share = (at) => Math.min(Math.max((at - low) / span, 0), 1);
  if (!interval || value === null) return { low: 0, high: 1, value: null, look: "undetermined" };
  return { low: share(interval[0]), high: share(interval[1]), value: share(value), look };
}

/** A small picture of a result; hidden from screen readers, as the text beside it says the same. */
export function strip(result, range) {
  const svg = element("svg", { class: "strip", viewBox: "0 0 100 14", "aria-hidden": "true", preserveAspectRatio: "none" });
  const marks = marksOf(result, range);
  if (marks.length === 0) svg.classList.add("none");
  svg.append(element("line", { x1: 0, x2: 100, y1: 7, y2: 7, class: "strip-range" }));
  const faint = Math.max(0.12, 0.5 / Math.max(marks.length, 1));
  for (const { low, high, value, look } of marks) {
    const wide = Math.max(100 * (high - low), 0.6);
    const bar = { x: 100 * low, width: wide, y: 4, height: 6, fill: LOOKS[look].colour };
    svg.append(element("rect", { ...bar, "fill-opacity": look === "undetermined" ? 0.2 : faint }));
    if (value !== null && marks.length <= 12) {
      svg.append(element("rect", { x: 100 * value - 0.5, width: 1, y: 1.5, height: 11, fill: LOOKS[look].colour }));
    }
  }
  return svg;
}

function element(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
