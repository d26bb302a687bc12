// The possible range of a result. A verdict has none of its own; the number it judges has.

import { get } from "./api.js";

const known = new Map();

/** The range of each result by entry; what is missing is fetched. */
export async function rangesOf(results) {
  for (const result of results) if (result.range) known.set(result.entry, result.range);
  const verdicts = results.filter((result) => result.kind === "verdict" && !known.has(result.entry));
  await Promise.all(verdicts.map(settle));
  return known;
}

async function settle(verdict) {
  const [part] = verdict.parts;
  if (!known.has(part)) {
    const asked = await get(`/v1/transcript/${part}`);
    known.set(part, asked.range ?? [0, 1]);
  }
  known.set(verdict.entry, known.get(part));
}
