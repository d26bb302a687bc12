// One screen: what was asked, what it cost, what is left.

import { get } from "./api.js";
import { budgetChart, figure, growthChart } from "./charts.js";
import { fill, h, scroller, table, terms } from "./dom.js";
import { count, moment, several, shareLeft, shareSpent } from "./formatting.js";
import { jsonLink, meter, promise, refusalBox, standing } from "./parts.js";
import { rangesOf } from "./ranges.js";
import { answerRow } from "./rows.js";

const NEWEST = 8;

export const title = "Overview";

export async function show(root, context) {
  const head = h("div", {});
  const body = h("div", {});
  fill(root, head, body);
  let last = null;

  async function update(status) {
    drawHead(head, status, context);
    context.twin("/v1/status");
    try {
      const [me, outlook, rounds, growth, newest] = await Promise.all([
        context.me.limit ? get("/v1/me") : context.me, // what is left of a limit changes
        get("/v1/outlook"),
        get("/v1/rounds"),
        get("/v1/growth"),
        get(`/v1/transcript?newest=true&limit=${NEWEST}`),
      ]);
      const ranges = await rangesOf(newest.answers);
      const open = [...body.querySelectorAll("details[open] summary")].map((summary) => summary.parentElement.dataset.name);
      drawBody(body, { status, outlook, rounds: rounds.rounds, growth: growth.growth, newest: newest.answers, ranges, me });
      for (const name of open) body.querySelector(`details[data-name="${name}"]`)?.setAttribute("open", "");
      last = status;
    } catch (refusal) {
      if (last === null) fill(body, refusalBox(refusal, () => update(status)));
    }
  }

  await update(context.status);
  return { update };
}

function drawHead(head, status) {
  fill(
    head,
    h("h1", { tabindex: "-1" }, status.name),
    h("p", { class: "promise" }, promise(status)),
    standing(status),
  );
}

function drawBody(body, { status, outlook, rounds, growth, newest, ranges, me }) {
  fill(
    body,
    h("div", { class: "story" }, asked(status, newest), costs(status), left(status, outlook, me)),
    h(
      "section",
      { class: "recent", "aria-labelledby": "recent" },
      h("div", { class: "heading" }, h("h2", { id: "recent" }, "Newest answers"), newest.length > 0 && h("a", { href: "/transcript" }, "All of the transcript")),
      newest.length === 0
        ? h("p", { class: "empty" }, "No answers yet. ", h("a", { href: "/ask" }, "Quote a question"), ": it is free.")
        : h("ol", { class: "answers", "aria-label": "Newest answers" }, newest.map((answer) => answerRow(answer, { range: ranges.get(answer.entry) }))),
    ),
    h("section", { class: "charts", "aria-label": "Growth and budget" }, growthFigure(growth, status), budgetFigure(rounds, status)),
    h(
      "details",
      { class: "more", "data-name": "dataset" },
      h("summary", {}, "The dataset: columns, plan and ledger"),
      terms([
        ["Columns", h("span", { class: "long" }, Object.entries(status.columns).map(([name, kind]) => `${name} ${kind}`).join(", "))],
        ["Planned", `from ${count(status.first_round)} to ${count(status.last_round)} records`],
        ["Certificate", status.certificate],
        ["Ledger", `${several(status.entries, "entry")}, head ${status.head.slice(0, 12)}`],
        ["JSON", [jsonLink("/v1/status", "status"), " · ", jsonLink("/v1/plan", "plan"), " · ", jsonLink("/v1/schema", "schema")]],
      ]),
    ),
  );
}

function asked(status, newest) {
  return h(
    "section",
    { "aria-labelledby": "asked" },
    h("h2", { id: "asked" }, "What was asked"),
    h("p", { class: "big" }, h("b", { "data-name": "answers" }, count(status.answers)), ` answer${status.answers === 1 ? "" : "s"} given`),
    h("p", { class: "muted" }, "of ", h("b", { "data-name": "n" }, count(status.n)), status.n === 1 ? " record" : " records", "; each cell of a table counted"),
    newest.length > 0 && h("p", { class: "muted" }, `the newest ${moment(newest[0].time)}`),
  );
}

function costs(status) {
  return h(
    "section",
    { "aria-labelledby": "cost" },
    h("h2", { id: "cost" }, "What it cost"),
    h("p", { class: "big" }, h("b", { "data-name": "spent" }, shareSpent(status.budget.spent, status.budget.total)), " of the budget"),
    meter(status.budget),
    h("p", { class: "muted" }, h("b", { "data-name": "left" }, shareLeft(status.budget.remaining, status.budget.total)), " of the budget left"),
  );
}

function left(status, outlook, me) {
  const when = (label, told, detail, most = "") =>
    h("div", {}, h("dt", {}, label), h("dd", {}, most, h("b", { "data-name": `buys-${label.replaceAll(" ", "-")}` }, count(told.answers)), " ", h("span", { class: "muted" }, detail)));
  return h(
    "section",
    { "aria-labelledby": "left" },
    h("h2", { id: "left" }, "What is left buys"),
    h(
      "dl",
      { class: "buys" },
      when("now", outlook.now, `answers at ${count(outlook.now.round)} records`),
      when("evenly", outlook.evenly, "if records come one by one", "up to "),
      when("at the end", outlook.at_end, `at ${count(outlook.at_end.round)} records`),
    ),
    me.limit && h("p", { class: "muted" }, "That is for all analysts together. ", h("b", { "data-name": "limit-left" }, shareLeft(me.limit.remaining, me.limit.total)), " of your own limit is left, ", h("b", { "data-name": "limit-of-all" }, shareLeft(me.limit.remaining, status.budget.total)), " of the whole budget."),
    jsonLink("/v1/outlook"),
  );
}

function growthFigure(growth, status) {
  if (growth.length === 0) return h("figure", {}, h("figcaption", {}, h("h3", {}, "Growth of the data")), h("p", { class: "empty" }, "No records yet."));
  const rows = scroller("Growth of the data as a table", table("Records by time", ["time", "records#"], growth.map((point) => [moment(point.time), count(point.n)])));
  const made = figure({
    title: "Growth of the data",
    note: [`${several(status.n, "record")}, planned to ${count(status.last_round)} · `, jsonLink("/v1/growth")],
    label: `Growth of the data: ${several(status.n, "record")} now; asking is planned from ${count(status.first_round)} to ${count(status.last_round)}.`,
    draw: (wide) => growthChart(growth, status, wide),
    rows,
  });
  made.querySelector("details").dataset.name = "growth";
  return made;
}

function budgetFigure(rounds, status) {
  let sum = 0;
  const lines = rounds.map((given) => {
    sum += given.spent;
    return [count(given.round), count(given.answers), shareSpent(given.spent, status.budget.total), shareSpent(sum, status.budget.total)];
  });
  const rows = rounds.length
    ? scroller("Budget spent by round as a table", table("Budget spent by round", ["round#", "answers#", "cost#", "spent so far#"], lines))
    : h("p", {}, "Nothing is spent.");
  const made = figure({
    title: "How the budget went",
    note: [`spent by round, from ${count(status.first_round)} to ${count(status.last_round)} records · `, jsonLink("/v1/rounds")],
    label: `Budget spent by round: ${shareSpent(status.budget.spent, status.budget.total)} of the whole so far.`,
    draw: (wide) => budgetChart(rounds, status, wide),
    rows,
  });
  made.querySelector("details").dataset.name = "rounds";
  return made;
}
