// What a result could be at all. A verdict does not say; the number that it is about does.

import { get } from "./api.js";
import { kindOf } from "./rendering.js";

const known = new Map();

/** The range of each result, by its entry; a number that is not among them is fetched. */
export async function rangesOf(results) {
  for (const result of results) if (result.range) known.set(result.entry, result.range);
  const verdicts = results.filter((result) => kindOf(result) === "verdict" && !known.has(result.entry));
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
