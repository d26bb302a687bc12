// A form for people who would rather not write the language: what, of whom, compared with what.

import { post } from "./api.js";
import { choice, fill, h } from "./dom.js";
import { columnOf, isNumber, literalOf, nameOf } from "./language.js";

const OPERATORS = { "=": "is", "<>": "is not", ">": "is more than", ">=": "is at least", "<": "is less than", "<=": "is at most" };
const METRICS = { predictions: ["accuracy", "f1", "precision", "recall", "auc", "brier"], model: ["accuracy", "auc", "brier"] };
const PRICE = 16; // of a selection under the noise guard, in answers

let numbered = 0;

/** A labelled field around an input or a select. */
function field(label, input) {
  input.id ||= `built-${++numbered}`;
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input);
}

const text = (attributes = {}) => h("input", { autocomplete: "off", ...attributes });

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

/** The form. `write` gets the text of the question whenever it changes; an empty one if it is not complete. */
export class Builder {
  constructor({ columns, tables, models, isSurprise }, write) {
    Object.assign(this, { columns, tables, models, isSurprise, write });
    const plain = Object.fromEntries(Object.entries(columns).filter(([, described]) => !columnOf(described).isId));
    const numbers = Object.keys(plain).filter((name) => isNumber(columnOf(plain[name])));
    const named = (names) => Object.fromEntries(names.map((name) => [name, name]));
    this.kind = choice({
      share: "the share of records where …",
      ...(numbers.length > 0 && { mean: "the average of a number" }),
      ...(tables.length > 0 && { predictions: "how good predictions are" }),
      ...(tables.length > 1 && { improvement: "how much better new predictions are than old ones" }),
      ...(models.length > 0 && { model: "how good a model is" }),
      best: "which of several conditions is met most often",
    });
    this.what = new Conditions(plain, "where");
    this.number = choice(named(numbers));
    [this.low, this.high] = [text({ inputmode: "decimal", value: "0" }), text({ inputmode: "decimal", value: "100" })];
    this.metrics = Object.fromEntries(Object.entries(METRICS).map(([kind, names]) => [kind, choice(named(names))]));
    this.target = choice(named(Object.keys(plain)));
    this.table = choice(named(tables.map(({ name }) => name)));
    this.old = choice(named(tables.map(({ name }) => name).reverse()));
    this.model = choice(Object.fromEntries(models.map(({ model, name }) => [model, name ?? model.slice(0, 13)])));
    this.features = h("fieldset", {}, h("legend", {}, "from"), h("div", { class: "chips" }, numbers.map((name) => h("label", { class: "chip" }, h("input", { type: "checkbox", value: name }), " ", name))));
    this.candidates = h("textarea", { rows: "4", placeholder: "age > 40\nage > 60", spellcheck: "false" });
    this.among = choice({ all: "all records", some: "only records where …" });
    this.whom = new Conditions(plain, "where");
    this.against = choice({ nothing: "nothing", at_least: "a limit: is it at least …", at_most: "a limit: is it at most …", group: "another group" });
    this.limit = text({ inputmode: "decimal" });
    this.other = new Conditions(plain, "where");
    this.parts = h("div", { class: "built" });
    this.element = h("div", { class: "builder" }, this.parts);
    this.draw();
    for (const event of ["change", "input"]) this.element.addEventListener(event, () => this.changed(event));
    this.kind.addEventListener("change", () => this.draw());
    this.among.addEventListener("change", () => this.draw());
    this.against.addEventListener("change", () => this.draw());
  }

  /** Only the fields that the question has. */
  draw() {
    const { kind, among, against } = { kind: this.kind.value, among: this.among.value, against: this.against.value };
    const isPlain = kind === "share" || kind === "mean";
    const isScore = kind === "predictions" || kind === "model";
    fill(
      this.parts,
      h("section", {}, h("h2", {}, "What"),
        field("I want to know", this.kind),
        kind === "share" && this.what.element,
        kind === "mean" && [field("Number", this.number), h("div", { class: "pair" }, field("From", this.low), field("To", this.high)), h("p", { class: "muted" }, "Values outside count as the nearest end. A narrow range gives a narrow interval.")],
        kind === "predictions" && field("Predictions", this.table),
        kind === "improvement" && [field("New predictions", this.table), field("Old predictions", this.old)],
        kind === "model" && [field("Model", this.model), this.features],
        isScore && field("Metric", this.metrics[kind]),
        (isScore || kind === "improvement") && field("True value", this.target),
        kind === "best" && [field("Conditions, one on each line", this.candidates)],
      ),
      isPlain && h("section", {}, h("h2", {}, "Of whom"), field("Among", this.among), among === "some" && this.whom.element),
      (isPlain || isScore) && h("section", {}, h("h2", {}, "Compared with"),
        field("Compare with", this.against),
        (against === "at_least" || against === "at_most") && field("Limit", this.limit),
        against === "group" && (isPlain && among === "some" ? this.other.element : h("p", { class: "muted" }, "Choose a first group under “Of whom”.")),
      ),
    );
  }

  async changed() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const written = await this.written().catch((refusal) => refusal);
    if (turn === this.turn) this.write(typeof written === "string" ? written : "", typeof written === "string" ? null : written);
  }

  async written() {
    const { kind, against } = { kind: this.kind.value, against: this.against.value };
    if (kind === "best") return this.best();
    if (kind === "improvement") return `difference(${this.right(this.table)}, ${this.right(this.old)})`;
    const asked = kind === "predictions" || kind === "model" ? await this.score() : this.plain(this.whom);
    if (!asked) return "";
    if (against === "group") return this.among.value === "some" && this.other.written ? `difference(${asked}, ${this.plain(this.other)})` : "";
    if (against === "nothing") return asked;
    return this.limit.value.trim() ? `gate(${asked}, ${against}, ${this.limit.value.trim()})` : "";
  }

  /** A share or an average, among all records or some. */
  plain(whom) {
    const group = this.among.value === "some" ? whom.written : null;
    if (group === "") return "";
    const [low, high] = [this.low.value.trim(), this.high.value.trim()];
    if (this.kind.value === "mean") {
      const number = nameOf(this.number.value);
      return group === null ? `mean(${number}, ${low}, ${high})` : `rate(${number}, ${group}, ${low}, ${high})`;
    }
    const what = this.what.written;
    return group === null || what === "" ? what : `rate(${what}, ${group})`;
  }

  best() {
    const lines = this.candidates.value.split("\n").map((line) => line.trim()).filter(Boolean);
    return lines.length < 2 ? "" : `select(highest, ${PRICE}, ${lines.join(", ")})`;
  }

  /** Whether the prediction of a table is right. */
  right(table) {
    const found = this.tables.find(({ name }) => name === table.value);
    const predicted = Object.keys(found.columns).find((name) => name === this.target.value) ?? Object.keys(found.columns)[0];
    return `${nameOf(table.value)}.${nameOf(predicted)} = ${nameOf(this.target.value)}`;
  }

  /** A metric; the service writes it down as a question. */
  async score() {
    const common = { metric: this.metrics[this.kind.value].value, target: nameOf(this.target.value) };
    const features = [...this.features.querySelectorAll("input:checked")].map(({ value }) => nameOf(value));
    if (this.kind.value === "model" && features.length === 0) return "";
    const query = this.kind.value === "model" ? { ...common, model: this.model.value, features } : { ...common, table: this.table.value };
    const quote = await post("/v1/quote", { query });
    const named = Object.fromEntries(this.tables.map(({ table, name }) => [table, name]));
    return quote.query.replace(/"(table:[0-9a-f]{64}):\w+"/g, (whole, table) => (table in named ? nameOf(named[table]) : whole));
  }
}
