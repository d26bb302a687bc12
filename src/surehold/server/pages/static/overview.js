// The home of a dataset: what can still be asked, the saved questions over time, and who spent what.

import { get } from "./api.js";
import { budgetChart, figure, growthChart } from "./charts.js";
import { fill, h, scroller, table, terms } from "./dom.js";
import { count, moment, several } from "./formatting.js";
import { historiesSection } from "./histories.js";
import { askLink, meter, notice, promise, refusalBox, skeleton, spenders, statusNotice } from "./parts.js";
import { rangesOf } from "./ranges.js";
import { answerRow } from "./rows.js";
import { bitsFigure, claimsSection, isSurprise, spentSection } from "./surprise.js";

const NEWEST = 8;
const DRAWN = 200; // answers whose bits are drawn

export const title = "Home";

export class View {
  constructor(root, context) {
    this.context = context;
    this.head = h("div", {});
    this.story = h("div", { class: "story" });
    this.rest = h("div", {}, skeleton());
    fill(root, this.head, this.story, this.rest);
  }

  start() {
    return this.update(this.context.status);
  }

  /** What can still be asked comes first; pictures and answers follow when they are there. */
  async update(status) {
    const { head, context } = this;
    context.twin("/v1/status");
    const heading = [h("h1", { tabindex: "-1" }, status.name), h("p", { class: "promise" }, promise(status))];
    if (context.me.role === "appender") {
      fill(head, heading, notice("plain", "You are an appender.", `You can add records, which programs do over HTTP, and not see answers. There are ${several(status.n, "record")}.`));
      return fill(this.rest);
    }
    const noise = !isSurprise(status);
    try {
      const [me, outlook] = await Promise.all([context.me.limit ? get("/v1/me") : context.me, noise && get("/v1/outlook")]);
      fill(head, heading, statusNotice(status, me));
      fill(this.story, noise ? [outlookSection(outlook, me), budgetSection(status)] : [claimsSection(status, me), spentSection(status)], answersSection(status));
    } catch (refusal) {
      if (!this.isDrawn) fill(head, heading, refusalBox(refusal, () => this.update(status)));
      return null;
    }
    this.drawRest(status, noise);
    return null;
  }

  async drawRest(status, noise) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const [rounds, growth, listed, { histories }] = await Promise.all([
        noise && get("/v1/rounds"),
        get("/v1/growth"),
        get(`/v1/transcript?newest=true&limit=${noise ? NEWEST : DRAWN}`),
        get("/v1/histories"),
      ]);
      const newest = listed.answers.slice(0, NEWEST);
      const ranges = await rangesOf(newest);
      if (turn !== this.turn) return; // a later update came first
      const spent = noise ? budgetFigure(rounds.rounds, status) : bitsFigure(listed.answers);
      const open = [...this.rest.querySelectorAll("details[open]")].map((details) => details.dataset.name);
      fill(this.rest, bodyOf({ status, growth: growth.growth, newest, ranges, histories, spent }));
      for (const name of open) this.rest.querySelector(`details[data-name="${name}"]`)?.setAttribute("open", "");
      this.isDrawn = true;
    } catch (refusal) {
      if (!this.isDrawn && turn === this.turn) fill(this.rest, refusalBox(refusal, () => this.drawRest(status, noise)));
    }
  }
}

/** Questions over time, the newest answers, and how data and spending grew. */
function bodyOf({ status, growth, newest, ranges, histories, spent }) {
  return [
    historiesSection(histories),
    h(
      "section",
      { class: "recent", "aria-labelledby": "recent" },
      h("div", { class: "heading" }, h("h2", { id: "recent" }, "Latest answers"), newest.length > 0 && h("span", { class: "muted" }, `the last on ${moment(newest[0].time)}`), newest.length > 0 && h("a", { href: "/transcript" }, "Full transcript")),
      newest.length === 0
        ? h("p", { class: "empty" }, "No answers yet. ", h("a", { href: "/ask" }, "Ask the first question"), "; quotes are free.")
        : h("ol", { class: "answers", "aria-label": "Latest answers" }, newest.map((answer) => answerRow(answer, { range: ranges.get(answer.entry) }))),
    ),
    h("section", { class: "charts", "aria-label": "Growth and spending" }, growthFigure(growth, status), spent),
    h(
      "details",
      { class: "more", "data-name": "dataset" },
      h("summary", {}, `Dataset details: columns, ${isSurprise(status) ? "guard" : "plan"} and ledger`),
      terms([
        ["Columns", h("span", { class: "long" }, Object.entries(status.columns).map(([name, kind]) => `${name} ${kind}`).join(", "))],
        ...(isSurprise(status) ? [["Guard", "surprise"]] : planTerms(status)),
        ["Ledger", `${several(status.entries, "entry")}, head ${status.head.slice(0, 12)}`],
      ]),
    ),
  ];
}

function planTerms(status) {
  return [
    ["Plan", `from ${count(status.first_round)} to ${count(status.last_round)} records`],
    ["Certificate", status.certificate],
  ];
}

function answersSection(status) {
  return h(
    "section",
    { "aria-labelledby": "asked" },
    h("h2", { id: "asked" }, "Answers so far"),
    h("p", { class: "big" }, h("b", { "data-name": "answers" }, count(status.answers)), status.answers === 1 ? " answer" : " answers"),
    h("p", { class: "muted" }, "from ", h("b", { "data-name": "n" }, count(status.n)), status.n === 1 ? " record" : " records", !isSurprise(status) && "; every table cell counts"),
  );
}

function budgetSection(status) {
  return h(
    "section",
    { "aria-labelledby": "cost" },
    h("h2", { id: "cost" }, "Budget spent"),
    h("p", { class: "big" }, h("b", { "data-name": "spent" }, status.budget.display.spent), " of the budget"),
    meter(status.budget),
    h("p", { class: "muted" }, h("b", { "data-name": "left" }, status.budget.display.remaining), " left"),
    (status.by_analyst.length > 1 || status.by_analyst.some((one) => one.reserved > 0)) && spenders(status),
  );
}

function outlookSection(outlook, me) {
  const when = (label, pace, detail, most = "") =>
    h("div", {}, h("dt", {}, label), h("dd", {}, most, h("b", { "data-name": `buys-${label.replaceAll(" ", "-")}` }, count(pace.answers)), " ", h("span", { class: "muted" }, detail)));
  return h(
    "section",
    { "aria-labelledby": "left" },
    h("h2", { id: "left" }, "What you can still ask"),
    h(
      "dl",
      { class: "buys" },
      when("now", outlook.now, `at ${count(outlook.now.round)} records`),
      when("evenly", outlook.evenly, "as records arrive one by one", "up to "),
      when("at the end", outlook.at_end, `at ${count(outlook.at_end.round)} records`),
    ),
    me.limit && h("p", { class: "muted" }, "These are for you. ", h("b", { "data-name": "limit-left" }, me.limit.display.remaining), " of your own limit is left; you have had ", h("b", { "data-name": "limit-answered" }, count(me.limit.answered)), ` of at most ${several(me.limit.answers, "answer")}.`),
    askLink(me),
  );
}

function growthFigure(growth, status) {
  if (growth.length === 0) return h("figure", {}, h("figcaption", {}, h("h3", {}, "Data growth")), h("p", { class: "empty" }, "No records yet."));
  const rows = () => scroller("Data growth as a table", table("Records over time", ["time", "records#"], growth.map((point) => [moment(point.time), count(point.n)])));
  return figure({
    title: "Data growth",
    name: "growth",
    note: [several(status.n, "record"), !isSurprise(status) && `, plan ends at ${count(status.last_round)}`],
    label: `Data growth: ${several(status.n, "record")} now${isSurprise(status) ? "" : `; the plan runs from ${count(status.first_round)} to ${count(status.last_round)}`}.`,
    draw: (wide) => growthChart(growth, status, wide),
    rows,
  });
}

function budgetFigure(rounds, status) {
  const lines = rounds.map(({ round, answers, display }) => [count(round), count(answers), display.share, display.share_so_far]);
  const rows = () => rounds.length
    ? scroller("Budget spent by round as a table", table("Budget spent by round", ["round#", "answers#", "cost#", "spent so far#"], lines))
    : h("p", {}, "Nothing spent yet.");
  return figure({
    title: "Budget spent by round",
    name: "rounds",
    note: [`from ${count(status.first_round)} to ${count(status.last_round)} records`],
    label: `Budget spent by round: ${status.budget.display.spent} of the total so far.`,
    draw: (wide) => budgetChart(rounds, status, wide),
    rows,
  });
}
