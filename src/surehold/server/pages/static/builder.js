// A form for people who would rather not write the language: what, of whom, compared with what.

import { post } from "./api.js";
import { choice, fill, h } from "./dom.js";
import { columnOf, isNumber, literalOf, nameOf } from "./language.js";

const OPERATORS = { "=": "is", "<>": "is not", ">": "is more than", ">=": "is at least", "<": "is less than", "<=": "is at most" };
/** What predictions of a type, or a model, can be scored by; of a number it is how likely the target is. */
const METRICS = { bool: ["accuracy", "precision", "recall", "f1"], float: ["auc", "brier"], model: ["accuracy", "auc", "brier"] };
const PRICE = "16"; // of a selection under the noise guard, in answers

let numbered = 0;

/** A labelled field around an input or a select. */
function field(label, input) {
  input.id ||= `built-${++numbered}`;
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input);
}

const text = (attributes = {}) => h("input", { autocomplete: "off", ...attributes });

const named = (names) => Object.fromEntries(names.map((name) => [name, name]));

/** Boxes to tick, by name. */
class Boxes {
  constructor(legend, names, checked = false) {
    this.inputs = names.map((value) => h("input", { type: "checkbox", value, checked }));
    this.element = h("fieldset", {}, h("legend", {}, legend), h("div", { class: "chips" }, this.inputs.map((input) => h("label", { class: "chip" }, input, " ", input.value))));
  }

  get chosen() {
    return this.inputs.filter(({ checked }) => checked).map(({ value }) => value);
  }
}

/** Conditions on columns that all have to hold. */
class Conditions {
  constructor(columns, legend) {
    this.columns = columns;
    this.rows = [];
    this.list = h("div", { class: "conditions" });
    this.element = h("fieldset", {}, h("legend", {}, legend), this.list, h("button", { type: "button", class: "quiet", onclick: () => this.add() }, "and …"));
    this.add();
  }

  add() {
    const column = choice(Object.fromEntries(Object.keys(this.columns).map((name) => [name, name])), { "aria-label": "Column" });
    const row = { column, element: h("div", { class: "condition" }) };
    column.addEventListener("change", () => this.draw(row));
    this.rows.push(row);
    this.list.append(row.element);
    this.draw(row);
  }

  draw(row) {
    const described = columnOf(this.columns[row.column.value]);
    const isFlag = described.kind === "bool";
    const equal = described.kind === "str" ? { "=": OPERATORS["="], "<>": OPERATORS["<>"] } : OPERATORS;
    row.operator = choice(isFlag ? { "=": "is" } : equal, { "aria-label": "Comparison" });
    const values = isFlag ? ["true", "false"] : described.values;
    row.value = values.length > 0
      ? choice(Object.fromEntries(values.map((value) => [value, value])), { "aria-label": "Value" })
      : text({ "aria-label": "Value", type: described.kind === "date" ? "date" : "text", inputmode: isNumber(described) ? "decimal" : null, placeholder: isNumber(described) ? "number" : described.kind });
    const remove = this.rows.length > 1 && h("button", { type: "button", class: "quiet", "aria-label": "Remove this condition", onclick: () => this.remove(row) }, "✕");
    fill(row.element, row.column, row.operator, row.value, remove);
    this.list.dispatchEvent(new Event("change", { bubbles: true }));
  }

  remove(row) {
    this.rows.splice(this.rows.indexOf(row), 1);
    row.element.remove();
    this.list.dispatchEvent(new Event("change", { bubbles: true }));
  }

  /** As a query has it; empty until every value is there. */
  get written() {
    if (this.rows.some(({ value }) => value.value.trim() === "")) return "";
    return this.rows.map(({ column, operator, value }) => {
      const described = columnOf(this.columns[column.value]);
      const name = nameOf(column.value);
      if (described.kind === "bool") return value.value === "true" ? name : `not ${name}`;
      return `${name} ${operator.value} ${literalOf(value.value, described)}`;
    }).join(" and ");
  }
}

/** The form: what, of whom, compared with what. `write` gets the text of the question whenever it changes; an empty one if it is not complete. */
export class Builder {
  constructor({ columns, tables, models, isSurprise, id }, write) {
    Object.assign(this, { columns, isSurprise, write });
    const plain = Object.fromEntries(Object.entries(columns).filter(([, described]) => !columnOf(described).isId));
    const numbers = Object.keys(plain).filter((name) => isNumber(columnOf(plain[name])));
    this.tables = tables;
    this.plain = plain;
    this.subjects = [
      ...tables.flatMap((table) => Object.entries(table.columns).filter(([name]) => name !== id).map(([column, kind], _, all) => ({ table, column, kind, label: all.length > 1 ? `${table.name}, ${column}` : table.name }))),
      ...models.map(({ model, name, classes }) => ({ model, classes, kind: "model", label: `model ${name ?? model.slice(0, 13)}` })),
    ];
    const rated = this.subjects.filter(({ kind }) => kind !== "float");
    const predictions = rated.filter(({ table }) => table);
    this.kind = choice({
      share: "the share of records where …",
      ...(numbers.length > 0 && { mean: "the average of a number" }),
      counts: "how records are spread over the values of a column",
      ...(numbers.length > 0 && { means: "the average of a number in each group" }),
      ...(this.subjects.length > 0 && { score: "how good predictions or a model are" }),
      ...(rated.length > 1 && { improvement: "how much better new predictions are than old ones" }),
      ...(predictions.length > 1 && { bestOf: "which predictions are best" }),
      best: "which of several conditions is met most often",
    });
    this.what = new Conditions(plain, "where");
    this.number = choice(named(numbers));
    [this.low, this.high] = [text({ inputmode: "decimal", value: "0" }), text({ inputmode: "decimal", value: "100" })];
    this.by = choice(named(Object.keys(plain)));
    [this.first, this.last, this.step] = ["0", "100", "10"].map((value) => text({ inputmode: "decimal", value }));
    this.values = text({ placeholder: "first, second, third" });
    this.target = choice(named(Object.keys(plain)));
    const listed = (from) => Object.fromEntries(from.map((one) => [this.subjects.indexOf(one), one.label]));
    this.subject = choice(listed(this.subjects));
    this.newer = choice(listed(rated));
    this.older = choice(listed([...rated].reverse()));
    this.metric = choice({});
    this.features = new Boxes("from the columns", numbers, true);
    this.among = choice({ all: "all records", some: "only records where …" });
    this.candidates = [1, 2].map((number) => new Conditions(plain, `Candidate ${number}`));
    this.contenders = new Boxes("among", predictions.map(({ label }) => label), true);
    this.price = text({ inputmode: "numeric", value: PRICE });
    this.whom = new Conditions(plain, "where");
    this.against = choice({});
    this.limit = text({ inputmode: "decimal" });
    this.other = new Conditions(plain, "where");
    this.element = h("div", { class: "built" });
    this.draw();
    for (const event of ["change", "input"]) this.element.addEventListener(event, () => this.changed());
    for (const input of [this.kind, this.among, this.against, this.by, this.subject]) input.addEventListener("change", () => this.draw());
  }

  /** Start with a kind of question. */
  choose(kind) {
    if ([...this.kind.options].some(({ value }) => value === kind)) this.kind.value = kind;
    this.draw();
  }

  /** Only the fields that the question has. */
  draw() {
    const kind = this.kind.value;
    const [isPlain, isScore] = [kind === "share" || kind === "mean", kind === "score"];
    const options = { nothing: "nothing", at_least: "a limit: is it at least …", at_most: "a limit: is it at most …", ...(isPlain && { group: "another group" }) };
    replaceOptions(this.against, options);
    replaceOptions(this.metric, named(METRICS[this.subjects[this.subject.value]?.kind] ?? ["accuracy"]));
    const against = this.against.value;
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    fill(
      this.element,
      h("section", { class: "whole" }, field("I want to know", this.kind)),
      h("section", {}, h("h2", {}, "What"), this.fields(kind)),
      isPlain && h("section", {}, h("h2", {}, "Of whom"), field("Among", this.among), this.among.value === "some" && this.whom.element),
      (isPlain || isScore || kind === "improvement") && h("section", {}, h("h2", {}, "Compared with"),
        field("Compare with", this.against),
        (against === "at_least" || against === "at_most") && [field("Limit", this.limit), h("p", { class: "muted" }, "The answer is pass, fail or undecided.")],
        against === "group" && (this.among.value === "some" ? this.other.element : h("p", { class: "muted" }, "Choose a first group under “Of whom”.")),
      ),
    );
    focused?.focus(); // what is moved loses the focus
  }

  /** The fields for what is asked. */
  fields(kind) {
    const hint = (words) => h("p", { class: "muted" }, words);
    const number = [field("Number", this.number), h("div", { class: "pair" }, field("From", this.low), field("To", this.high)), hint("Values outside count as the nearest end. A narrow range gives a narrow interval.")];
    const target = field("True value", this.target);
    const candidate = () => { this.candidates.push(new Conditions(this.plain, `Candidate ${this.candidates.length + 1}`)); this.draw(); };
    const price = !this.isSurprise && [field("Price, in answers", this.price), hint("Paid once for all candidates. The higher it is, the nearer the choice is to the best.")];
    return {
      share: () => this.what.element,
      mean: () => number,
      counts: () => this.axisFields(),
      means: () => [number, this.axisFields()],
      score: () => [field("Predictions or model", this.subject), this.subjects[this.subject.value].model && this.features.element, field("Metric", this.metric), target],
      improvement: () => [field("New predictions", this.newer), field("Old predictions", this.older), [this.newer, this.older].some(({ value }) => this.subjects[value].model) && this.features.element, target],
      bestOf: () => [this.contenders.element, target, price],
      best: () => [this.candidates.map(({ element }) => element), h("button", { type: "button", class: "quiet", onclick: candidate }, "Another candidate"), price],
    }[kind]();
  }

  /** The groups of a table: those of a column, bins of a number, or values that are listed. */
  axisFields() {
    const { kind, values } = columnOf(this.plain[this.by.value]);
    const by = field("Grouped by", this.by);
    if (kind === "int" || kind === "float") return [by, h("div", { class: "triple" }, field("From", this.first), field("To", this.last), field("Steps of", this.step))];
    if (kind === "str" && values.length === 0) return [by, field("Values, separated by commas", this.values), h("p", { class: "muted" }, "All other values are counted together.")];
    return by;
  }

  get axis() {
    const described = columnOf(this.plain[this.by.value]);
    const name = nameOf(this.by.value);
    if (isNumber(described)) return `bins(${name}, ${said(this.first)} to ${said(this.last)} by ${said(this.step)})`;
    if (described.kind === "date") return `weekday(${name})`;
    if (described.kind === "timestamp") return `hour(${name})`;
    if (described.kind === "bool" || described.values.length > 0) return name;
    const values = this.values.value.split(",").map((value) => value.trim()).filter(Boolean);
    return values.length > 0 ? `${name} in (${values.map((value) => literalOf(value, described)).join(", ")})` : "";
  }

  async changed() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const written = await this.written().catch((refusal) => refusal);
    if (turn === this.turn) this.write(typeof written === "string" ? written : "", typeof written === "string" ? null : written);
  }

  async written() {
    const against = this.against.value;
    const asked = await this.asked(this.kind.value);
    if (!asked || !this.element.contains(this.against) || against === "nothing") return asked;
    if (against === "group") return this.among.value === "some" && this.other.written ? `difference(${asked}, ${this.simple(this.other)})` : "";
    return said(this.limit) ? `gate(${asked}, ${against}, ${said(this.limit)})` : "";
  }

  /** What is asked, before it is compared with a limit or a group. */
  async asked(kind) {
    if (kind === "counts") return this.axis && `histogram(${this.axis})`;
    if (kind === "means") return this.axis && `means(${nameOf(this.number.value)}, ${said(this.low)}, ${said(this.high)}, ${this.axis})`;
    if (kind === "score") return this.score(this.subjects[this.subject.value], this.metric.value);
    if (kind === "improvement") {
      const rights = await Promise.all([this.newer, this.older].map(({ value }) => this.right(this.subjects[value])));
      return rights.every(Boolean) ? `difference(${rights.join(", ")})` : "";
    }
    if (kind === "bestOf") return this.best(await Promise.all(this.subjects.filter(({ label }) => this.contenders.chosen.includes(label)).map((one) => this.right(one))));
    if (kind === "best") return this.best(this.candidates.map(({ written }) => written).filter(Boolean));
    return this.simple(this.whom);
  }

  /** A share or an average, among all records or some. */
  simple(whom) {
    const group = this.among.value === "some" ? whom.written : null;
    if (group === "") return "";
    const [low, high] = [said(this.low), said(this.high)];
    if (this.kind.value === "mean") {
      const number = nameOf(this.number.value);
      return group === null ? `mean(${number}, ${low}, ${high})` : `rate(${number}, ${group}, ${low}, ${high})`;
    }
    const what = this.what.written;
    return group === null || what === "" ? what : `rate(${what}, ${group})`;
  }

  best(candidates) {
    return candidates.length < 2 ? "" : `select(highest, ${this.isSurprise ? PRICE : said(this.price)}, ${candidates.join(", ")})`;
  }

  /** Whether predictions are right, or a model is. */
  right(subject) {
    if (subject.model) return this.score(subject, "accuracy");
    return `${nameOf(subject.table.name)}.${nameOf(subject.column)} = ${nameOf(this.target.value)}`;
  }

  /** A metric; the service writes it down as a question. */
  async score({ table, column, model, classes }, metric) {
    const common = { metric, target: nameOf(this.target.value) };
    const features = this.features.chosen.map(nameOf);
    if (model && features.length === 0) return "";
    // A model whose classes are numbers says 1 where a column that is true or false says true.
    const isFlag = columnOf(this.plain[this.target.value]).kind === "bool" && String(classes) === "0,1";
    const query = model ? { ...common, model, features, ...(isFlag && { classes: [false, true] }) } : { ...common, table: table.table, prediction: column };
    const quote = await post("/v1/quote", { query });
    const names = Object.fromEntries(this.tables.map((one) => [one.table, one.name]));
    return quote.query.replace(/"(table:[0-9a-f]{64}):\w+"/g, (whole, hash) => (hash in names ? nameOf(names[hash]) : whole));
  }
}

const said = (input) => input.value.trim();

/** Give a list other options; what was chosen stays if it is among them. */
function replaceOptions(select, options) {
  const before = select.value;
  fill(select, Object.entries(options).map(([value, text]) => h("option", { value }, text)));
  if (before in options) select.value = before;
}
