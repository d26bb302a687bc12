// Texts. Widths, intervals and shares come from the service, rounded to the safe side, in `display`;
// here are only counts, times and one-line forms of a question.

const LONGEST = 90;

/** A count with thousands separated. */
export function count(value) {
  return value.toLocaleString("en");
}

/** A count of something, in words that agree. */
export function several(number, noun) {
  const plural = noun.endsWith("ry") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

/** A time in the reader's own format, to the minute. */
export function moment(iso) {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/**
 * The name of a question or, without a name, the query, short enough for a line and without the outer
 * `fraction()`. The canonical one: a part of another query carries that query's text.
 */
export function queryLine(result, longest = LONGEST) {
  if (result.title) return result.title;
  let text = result.display?.query ?? result.query; // names in place of hashes
  if (/^fraction\(.*\)$/s.test(text)) text = text.slice(9, -1);
  return shorten(text.replace(/'(\w+:\w{8})\w{56}'/g, "$1"), longest);
}

export function shorten(text, longest = LONGEST) {
  const letters = Array.from(text);
  return letters.length <= longest ? text : `${letters.slice(0, longest - 1).join("")}…`;
}
