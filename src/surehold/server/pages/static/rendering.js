// How a result is said, as the library says it: kinds, one line, the parts of a line.

import { count, decimals, fixed, general, plain, width } from "./formatting.js";

const LONGEST = 90;

export function kindOf(result) {
  return result.kind;
}

/** What a result says, in parts: the value, its width and its interval, each as text or null. */
export function said(result) {
  switch (kindOf(result)) {
    case "answer": {
      const places = decimals(result.width, result.range[1] - result.range[0]);
      return {
        value: plain(result.value, places),
        width: `± ${fixed(result.width, places, true)}`,
        interval: interval(result.interval, places),
      };
    }
    case "estimate": {
      if (result.interval === null) return { value: "undetermined", width: null, interval: null };
      const span = result.range[1] - result.range[0];
      const places = decimals(Math.max(half(result.interval), 1e-9 * span), span);
      return { value: plain(result.value, places), width: null, interval: interval(result.interval, places) };
    }
    case "verdict": {
      const wanted = `${result.verdict}: ${result.side.replace("_", " ")} ${general(result.limit, 6)} wanted`;
      if (result.interval === null) return { value: `${wanted}, undetermined`, width: null, interval: null };
      const places = decimals(Math.max(half(result.interval), 1e-9), 1);
      return {
        value: `${wanted}, ${plain(result.value, places)}`,
        width: null,
        interval: interval(result.interval, places),
      };
    }
    case "table":
      return {
        value: `${count(result.cells.length)} cells`,
        width: result.width === null ? null : `± ${width(result.width)} each`,
        interval: null,
      };
    case "choice": {
      const off = result.best === "lowest" ? "above the lowest" : "below the highest";
      return {
        value: shortened(result.name, 60),
        width: `at most ${width(result.width)} ${off} of ${count(result.candidates)}`,
        interval: null,
      };
    }
    default:
      return { value: `${result.model} regression`, width: null, interval: null };
  }
}

/** The same in one line. */
export function line(result) {
  const { value, width: wide, interval: ends } = said(result);
  return [value, wide, ends].filter(Boolean).join(" ");
}

/**
 * A query short enough for a line, without what goes without saying. The canonical one: what is
 * asked for the sake of another query bears that one's text.
 */
export function asked(result, longest = LONGEST) {
  let text = result.query;
  if (/^fraction\(.*\)$/s.test(text)) text = text.slice(9, -1);
  return shortened(text.replace(/'(\w+:\w{8})\w{56}'/g, "$1"), longest);
}

export function shortened(text, longest = LONGEST) {
  const letters = Array.from(text);
  return letters.length <= longest ? text : `${letters.slice(0, longest - 1).join("")}…`;
}

/** An interval, rounded outwards. */
export function interval([low, high], places) {
  return `[${fixed(low, places, false)}, ${fixed(high, places, true)}]`;
}

/** As many decimals for all cells as show two digits of the widest half-width. */
export function cellPlaces(cells) {
  const widest = Math.max(0, ...cells.filter((cell) => cell.interval).map((cell) => half(cell.interval)));
  return widest > 0 ? Math.max(0, 1 - Math.floor(Math.log10(widest))) : 3;
}

/** What it cost, in answers and of the whole budget. */
export function cost(result) {
  if (result.price === 0) return "nothing beyond the answers it follows from";
  return `${result.price === 1 ? "1 answer" : `${count(result.price)} answers`} at its round`;
}

function half([low, high]) {
  return 0.5 * (high - low);
}
