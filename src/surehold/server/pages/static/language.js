// What the query language has: its words and functions, and how names and values are written in it.

/** The reserved words of queries/lexer.py. */
const WORDS = new Set("and as between case cast else end false in is like not null or then true when".split(" "));

/** What can be asked, then what can be said of a record; each with its arguments. */
export const FUNCTIONS = {
  fraction: "condition", mean: "number, low, high", rate: "condition, group", difference: "question, question",
  gate: "question, at_least, limit", histogram: "column, column", totals: "number, low, high, column", means: "number, low, high, column",
  auc: "score, condition", f1: "predicted, actual", select: "highest, price, question, question", variance: "number, low, high", gini: "number, low, high",
  kendall: "number, number", concordance: "number, number", abs: "number", sqrt: "number",
  floor: "number", ceil: "number", round: "number", least: "value, value", greatest: "value, value", coalesce: "value, value", nullif: "value, value",
  lower: "text", upper: "text", length: "text", starts_with: "text, 'start'", ends_with: "text, 'end'", contains: "text, 'part'",
  year: "date", month: "date", day: "date", weekday: "date", hour: "timestamp", date: "timestamp",
};

/** A column's name as a query has it, in quotes if need be. */
export function nameOf(name) {
  return /^[A-Za-z_]\w*$/.test(name) && !WORDS.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** A column of a schema such as "int", "int id" or "str in ('a', 'b')": its type, and its values if they are few. */
export function columnOf(described) {
  const kind = described.match(/^\w+/)[0];
  const listed = described.match(/ in \((.*)\)/s)?.[1] ?? "";
  const texts = [...listed.matchAll(/'((?:[^']|'')*)'/g)].map(([, text]) => text.replaceAll("''", "'"));
  return { kind, isId: / id\b/.test(described), values: kind === "str" ? texts : [] };
}

export const isNumber = ({ kind }) => kind === "int" || kind === "float";

/** A value as a query has it: text and dates in single quotes. */
export function literalOf(text, { kind }) {
  return kind === "int" || kind === "float" || kind === "bool" ? text.trim() : `'${text.replaceAll("'", "''")}'`;
}

/** Example questions about these columns and predictions, from the simplest on, and what they ask. */
export function examplesOf(columns, tables = [], id = null) {
  const all = Object.entries(columns).map(([name, described]) => ({ column: name, name: nameOf(name), ...columnOf(described) })).filter((one) => !one.isId);
  const flag = all.find(({ kind }) => kind === "bool")?.name;
  const number = all.find(isNumber)?.name;
  const group = all.find(({ values }) => values.length > 0);
  const day = all.find(({ kind }) => kind === "date")?.name;
  const groups = group ? group.values.map((value) => `${group.name} = ${literalOf(value, group)}`) : [];
  const share = flag ?? (number && `${number} > 50`);
  // Predictions have the name of what they predict.
  const right = tables.flatMap((table) => all.filter(({ column }) => column !== id && column in table.columns).map(({ name }) => `${nameOf(table.name)}.${name} = ${name}`).slice(0, 1));
  return [
    ["a share of all records", share],
    ["among some records", share && groups[0] && `rate(${share}, ${groups[0]})`],
    ["two groups compared", share && groups[1] && `difference(rate(${share}, ${groups[0]}), rate(${share}, ${groups[1]}))`],
    ["at the weekend", share && day && `rate(${share}, weekday(${day}) >= 6)`],
    ["an average, between two ends", number && `mean(${number}, 0, 100)`],
    ["a table", group && `histogram(${group.name})`],
    ["is it at least this much?", share && `gate(${share}, at_least, 0.5)`],
    ["how often predictions are right", right[0]],
    ["better than the others?", right[1] && `difference(${right.at(-1)}, ${right[0]})`],
  ].filter(([, text]) => text).map(([about, text]) => ({ about, text }));
}
