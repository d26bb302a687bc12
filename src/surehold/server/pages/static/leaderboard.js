// The leaderboard: ranks with their intervals, progress, and how to submit.

import { get } from "./api.js";
import { figure, progressChart } from "./charts.js";
import { ROOT, fill, h, scroller, table } from "./dom.js";
import { count, moment, several } from "./formatting.js";
import { strip } from "./marks.js";
import { refusalBox, showLoading } from "./parts.js";
import { refusalHere, showSignIn } from "./signin.js";

const root = document.getElementById("main");

async function start() {
  showLoading(root);
  try {
    show(await get("/v1/leaderboard"));
  } catch (refusal) {
    if (refusal.status !== 401) fill(root, h("h1", { tabindex: "-1" }, "Leaderboard"), refusalBox(refusal, start));
  }
}

function show(board) {
  document.title = `${board.title} · Surehold`;
  const best = board.submissions.filter((one) => one.interval).reverse();
  const others = board.submissions.filter((one) => !one.interval).reverse();
  fill(
    root,
    h(
      "div",
      { class: "view board" },
      h("h1", { tabindex: "-1" }, board.title),
      h("p", { class: "promise" }, promise(board)),
      best.length ? [ranking(board, best), progress(board)] : h("p", { class: "empty" }, "There are no submissions yet."),
      others.length > 0 && notBetter(others),
      howTo(board),
    ),
  );
}

function promise({ metric, target, round, lower_is_better: isLoss, step, display }) {
  const way = isLoss ? "lower" : "higher";
  return [
    `The ${metric.replace("_", " ")} of ${target} over ${several(round, "record")}; ${way} is better. `,
    `A submission is a new best if it is better by ${step} or more on these records. `,
    `All intervals and ranks hold together with probability ${display.confidence}.`,
  ];
}

function ranking(board, best) {
  const ends = best.flatMap((one) => one.interval);
  const range = [Math.min(...ends), Math.max(...ends)];
  const rows = best.map((one) => [
    h("b", {}, one.display.rank),
    [h("b", {}, one.name), h("div", { class: "muted" }, over(one))],
    [
      strip({ kind: "number", value: one.value, low: one.interval[0], high: one.interval[1] }, range),
      h("b", {}, one.display.value),
      h("span", { class: "ends" }, ` in ${one.display.interval}`),
    ],
  ]);
  return h(
    "section",
    {},
    h("h2", {}, "Ranks"),
    scroller("Ranks", table("Submissions that were the best when they came", ["Rank", "Name", board.metric.replace("_", " ")], rows)),
    h("p", { class: "muted" }, "Ranks that overlap, such as 1 to 2, are ties. “Certainly” means in the population too; without it, being better on these records may be luck."),
  );
}

function over({ against, gain, certified }) {
  if (against === null) return "the first submission";
  return `${certified ? "certainly better" : "better"} than ${against}, by ${gain} or more on these records`;
}

function progress(board) {
  const rows = board.submissions.map((one) => [one.number, one.name, one.display.value ?? "", one.display.outcome, moment(one.time)]);
  return figure({
    title: "Progress",
    level: "h2",
    name: "progress",
    note: "The best so far, with its interval. A tick below is a submission that was not better.",
    label: `The best of ${several(board.submissions.length, "submission")}`,
    draw: (wide) => progressChart(board.submissions, wide),
    rows: () => scroller("Submissions", table("All submissions", ["Number#", "Name", "Score#", "Outcome", "Time"], rows)),
    tall: 260,
  });
}

function notBetter(others) {
  const rows = others.map((one) => [count(one.number), one.name, `than ${one.against} by ${one.step}`, moment(one.time)]);
  return h(
    "details",
    { open: others.length <= 10 },
    h("summary", {}, `Not better (${count(others.length)})`),
    h("p", { class: "muted" }, "Nothing else is known of these, so they have no rank."),
    scroller("Not better", table("Submissions that were not better than the best", ["Number#", "Name", "Not better", "Time"], rows)),
  );
}

function howTo({ id, daily, round }) {
  const command = `surehold leaderboard submit ${location.origin}${ROOT} run.csv --name "my model"`;
  return h(
    "section",
    {},
    h("h2", {}, "How to submit"),
    h("p", {}, "Send a table with the column ", h("code", {}, id), ` and one with your predictions: a row for each of the ${several(round, "record")}. A prediction that is missing counts as wrong.`),
    h("pre", { tabindex: "0", "aria-label": "The command" }, command),
    h("p", {}, `You need a token, and can submit ${several(daily, "time")} a day (UTC). The same predictions again are free. This board never shows them.`),
  );
}

addEventListener("surehold-denied", (event) => showSignIn(root, event.detail, start));

const refused = refusalHere();
if (refused) showSignIn(root, refused, start);
else start();
