// What the surprise guard shows in place of a budget: bits spent, claims, and what a question may cost.

import { bitsChart, figure } from "./charts.js";
import { h, scroller, table } from "./dom.js";
import { count, queryLine, several } from "./formatting.js";
import { jsonLink, spenders } from "./parts.js";

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
    h("h2", { id: "left" }, "Next claim"),
    status.width === null
      ? h("p", { class: "muted" }, "Nothing can be claimed before there are records.")
      : h("p", { class: "big" }, h("b", { "data-name": "width" }, status.display.width)),
    status.width !== null && h("p", { class: "muted" }, "at most, for a fraction that is asked now. Every bit spent makes later claims wider; earlier ones stay as they are."),
    h("p", { class: "muted" }, h("b", { "data-name": "claims" }, count(status.claims)), ` registered of ${count(status.claims_expected)} expected; there is no limit.`),
    me.limit && h("p", { class: "muted" }, h("b", { "data-name": "limit-left" }, me.limit.display.remaining), ` of your own limit of ${me.limit.display.total} is left.`),
  );
}

/** The bits spent from answer to answer; `answers` are newest first. */
export function bitsFigure(answers) {
  const ordered = [...answers].reverse();
  const rows = ordered.length
    ? scroller("Bits spent as a table", table("Bits spent by answer", ["entry#", "query", "cost#", "spent so far#"], ordered.map((one) => [count(one.entry), queryLine(one, 40), one.display.surprise, one.display.spent])))
    : h("p", {}, "Nothing spent yet.");
  return figure({
    title: "Bits spent",
    name: "bits",
    note: [`by the last ${several(ordered.length, "answer")} · `, jsonLink("/v1/transcript?newest=true")],
    label: `Bits spent by the last ${several(ordered.length, "answer")}: ${ordered.at(-1)?.display.spent ?? "none"} so far.`,
    draw: (wide) => bitsChart(ordered, wide),
    rows,
  });
}

/** The fields of a form for what is expected, by name. */
export function expectationFields(parameters) {
  const field = (name, label, hint) => {
    const input = h("input", { id: name, autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-describedby": `${name}-help` });
    input.value = parameters.get(name) ?? "";
    return { name, input, element: h("div", { class: "field" }, h("label", { for: name }, label), input, h("p", { id: `${name}-help`, class: "muted" }, hint)) };
  };
  return [
    field("expect", "Expected", "A number, or a verdict: pass, fail. It costs little if it comes as expected."),
    field("within", "Within", "How far off it may be."),
    field("doubt", "Doubt", "The probability that it comes out otherwise; learned if empty."),
  ];
}

/** What a quote says, in pairs. */
export function quoteTerms(quote) {
  const { display, recorded } = quote;
  const sure = quote.least === quote.most;
  return [
    ["Width", display.width ?? "depends on the records, or nothing is claimed"],
    ["Cost", recorded ? h("span", { "data-name": "cost" }, "free, already answered") : null],
    [sure ? "Cost" : "If as expected", recorded ? null : h("span", { "data-name": "cost" }, display.least)],
    ["At most", recorded || sure ? null : h("span", { "data-name": "most" }, display.most)],
    ["Spent so far", display.spent],
    ["Left", display.remaining],
    ["Records", count(quote.round)],
  ];
}

/** What an outcome cost when it was given, and whether it was expected. */
export const surpriseOf = ({ display, expected }) => ({ true: "as expected: ", false: "a surprise: " }[expected] ?? "cost ") + display.surprise;

/** What the button to ask says of the cost. */
export const quotedCost = ({ least, most, display }) => (least === most ? display.most : `${display.least} if as expected, at most ${display.most}`);
