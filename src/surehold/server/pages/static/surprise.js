// What the surprise guard shows in place of a budget: bits spent, claims, and what a question may cost.

import { bitsChart, figure } from "./charts.js";
import { fill, h, scroller, table } from "./dom.js";
import { count, queryLine, several } from "./formatting.js";
import { askLink, spenders } from "./parts.js";

export const isSurprise = ({ guard }) => guard === "surprise";

/** Whether a result is an outcome of the surprise guard. */
export const isOutcome = (result) => "surprise" in result;

/** The bits spent, and by whom. */
export function spentSection(status) {
  return h(
    "section",
    { "aria-labelledby": "cost" },
    h("h2", { id: "cost" }, "Bits spent"),
    h("p", { class: "big" }, h("b", { "data-name": "spent" }, status.display.spent)),
    status.limit !== null && h("p", { class: "muted" }, `of at most ${status.display.limit} for all analysts together`),
    spenders(status),
  );
}

/** How wide a next claim is, and what the caller may still spend. */
export function claimsSection(status, me) {
  return h(
    "section",
    { "aria-labelledby": "left" },
    h("h2", { id: "left" }, "What you can still ask"),
    status.width === null
      ? h("p", { class: "muted" }, status.successor ? "Nothing any more: this dataset is closed." : "Nothing can be asked before there are records.")
      : h("p", { class: "big" }, h("b", { "data-name": "width" }, status.display.width), " for the next question"),
    status.width !== null && h("p", { class: "muted" }, "Ask as much as you like. This is the widest that a new fraction can be now; every bit spent makes later claims wider, and earlier ones stay as they are."),
    h("p", { class: "muted" }, h("b", { "data-name": "claims" }, count(status.claims)), ` registered of ${count(status.claims_expected)} expected; there is no limit.`),
    me.limit && h("p", { class: "muted" }, h("b", { "data-name": "limit-left" }, me.limit.display.remaining), ` of your own limit of ${me.limit.display.total} is left.`),
    status.width !== null && askLink(me),
  );
}

/** The bits spent from answer to answer; `answers` are newest first. */
export function bitsFigure(answers) {
  const ordered = [...answers].reverse();
  const rows = () => ordered.length
    ? scroller("Bits spent as a table", table("Bits spent by answer", ["entry#", "query", "cost#", "spent so far#"], ordered.map((one) => [count(one.entry), queryLine(one, 40), one.display.surprise, one.display.spent])))
    : h("p", {}, "Nothing spent yet.");
  return figure({
    title: "Bits spent",
    name: "bits",
    note: [`by the last ${several(ordered.length, "answer")}`],
    label: `Bits spent by the last ${several(ordered.length, "answer")}: ${ordered.at(-1)?.display.spent ?? "none"} so far.`,
    draw: (wide) => bitsChart(ordered, wide),
    rows,
  });
}

const DOUBTS = ["", "0.5", "0.2", "0.1", "0.05", "0.02", "0.01", "0.001"];

/** The fields for what is expected: a number or a verdict, how far off it may be, and how sure one is of it. */
export class Expectation {
  constructor(parameters) {
    const input = (name, attributes) => h("input", { id: name, autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-describedby": `${name}-help`, value: parameters.get(name) ?? "", ...attributes });
    const field = (label, one, hint) => h("div", { class: "field" }, h("label", { for: one.id }, label), one, h("p", { id: `${one.id}-help`, class: "muted" }, hint));
    const doubt = parameters.get("doubt") ?? "";
    this.expect = input("expect");
    this.within = input("within");
    // A doubt that is not on the scale comes from an address; it stays until the slider is moved.
    this.doubt = doubt;
    this.slider = h("input", { id: "doubt", type: "range", min: "0", max: String(DOUBTS.length - 1), value: String(Math.max(DOUBTS.indexOf(doubt), 0)), "aria-describedby": "doubt-help" });
    this.slider.addEventListener("input", () => {
      this.doubt = DOUBTS[Number(this.slider.value)];
      this.draw(null);
    });
    this.hint = h("p", { id: "doubt-help", class: "muted" });
    this.element = h(
      "fieldset",
      { class: "expectation" },
      h("legend", {}, "What do you expect? What comes as expected costs little."),
      field("I expect", this.expect, "A number, or a verdict: pass, fail."),
      field("Give or take", this.within, "How far off it may be."),
      h("div", { class: "field" }, h("label", { for: "doubt" }, "How sure are you?"), this.slider, this.hint),
    );
    this.draw(null);
  }

  /** What is expected, as it is written: text keeps numbers exactly. */
  get given() {
    const pairs = [["expect", this.expect.value.trim()], ["within", this.within.value.trim()], ["doubt", this.doubt]];
    return Object.fromEntries(pairs.filter(([, value]) => value !== ""));
  }

  /** What it costs if the expectation is right, and if it is wrong. */
  draw(quote) {
    const doubt = this.doubt === "" ? "As sure as the past suggests" : `${Number(this.doubt) * 100} % doubt`;
    const costs = quote && !quote.recorded && this.expect.value.trim() !== "" && quote.least !== quote.most;
    fill(this.hint, doubt, costs && [": ", h("b", {}, quote.display.least), " if you are right, at most ", h("b", {}, quote.display.most), " if not"]);
    this.slider.setAttribute("aria-valuetext", doubt);
  }
}

/** How wide the answer would be; a verdict has no width. */
export const widthText = ({ display, query }, otherwise) => display.width ?? (query.startsWith("gate(") ? "none: the answer is pass, fail or undecided" : otherwise);

/** What a quote says, in pairs. */
export function quoteTerms(quote) {
  const { display, recorded } = quote;
  const sure = quote.least === quote.most;
  return [
    ["Width", widthText(quote, "depends on the records, or nothing is claimed")],
    ["Cost", recorded ? h("span", { "data-name": "cost" }, "free, already answered") : null],
    [sure ? "Cost" : "If as expected", recorded ? null : h("span", { "data-name": "cost" }, display.least)],
    ["At most", recorded || sure ? null : h("span", { "data-name": "most" }, display.most)],
    ["Spent", recorded ? display.spent : `${display.spent} → at most ${display.after}`],
    ["Left", display.remaining],
    ["Records", count(quote.round)],
  ];
}

/** What an outcome cost when it was given, and whether it was expected. */
export const surpriseOf = ({ display, expected }) => ({ true: "as expected: ", false: "a surprise: " }[expected] ?? "cost ") + display.surprise;

/** What the button to ask says of the cost. */
export const quotedCost = ({ least, most, display }) => (least === most ? display.most : `${display.least} if as expected, at most ${display.most}`);
