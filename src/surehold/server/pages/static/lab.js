// The lab: the custodian lets attackers loose on this dataset's guard, on made-up records.

import { get, remove, post } from "./api.js";
import { coverageChart, figure } from "./charts.js";
import { fill, h, scroller, table } from "./dom.js";
import { count, several } from "./formatting.js";
import { notice, refusalBox } from "./parts.js";
import { isSurprise } from "./surprise.js";

const POLL = 700; // ms between two looks at a running contest
const USUAL = ["sign", "leaderboard", "hill-climbing", "flooding"];
const NAMES = { plain: "textbook intervals, without a guard", wide: "exact answers of the same width, without a guard", surehold: "this dataset's plan", surprise: "the surprise guard" };
const FIELDS = { n0: "Records at the first query", n: "Records at the last query", queries: "Queries of an attack, at most", repeats: "Repeats of each attack" };

export const title = "Lab";

export class View {
  constructor(root, context) {
    this.context = context;
    this.form = h("form", { class: "contest", onsubmit: (event) => this.play(event) });
    this.progress = h("div", { role: "status" });
    this.result = h("div", {});
    fill(
      root,
      h("h1", { tabindex: "-1" }, "Lab"),
      h("p", { class: "promise" }, "Attack this dataset's guard with analysts who hunt for luck, and count how often all of its intervals hold. The records are made up, so this is free and reveals nothing."),
      h("div", { class: "explore" }, this.form, h("section", { "aria-label": "Result" }, this.progress, this.result)),
    );
  }

  async start() {
    this.context.twin("/v1/lab");
    try {
      const { contest, attackers, sizes } = await get("/v1/lab");
      this.drawForm(attackers, sizes);
      this.show(contest);
    } catch (refusal) {
      fill(this.result, refusalBox(refusal, refusal.isLost ? () => this.start() : null));
    }
  }

  /** After an outage the form may be missing. */
  update() {
    return this.form.hasChildNodes() || !this.hasFailed ? null : this.start();
  }

  leave() {
    clearTimeout(this.timer);
    this.hasLeft = true;
  }

  drawForm(attackers, sizes) {
    const given = isSurprise(this.context.status) ? ["n0", "n", "queries", "repeats"] : ["queries", "repeats"];
    this.sizes = Object.fromEntries(given.map((name) => [name, h("input", { id: `lab-${name}`, inputmode: "numeric", autocomplete: "off", value: String(sizes[name]) })]));
    this.boxes = attackers.map(({ name }) => h("input", { type: "checkbox", value: name, checked: USUAL.includes(name) }));
    this.button = h("button", { type: "submit", class: "main" }, "Attack");
    const all = (checked) => () => this.boxes.forEach((box) => { box.checked = checked; });
    fill(
      this.form,
      h(
        "fieldset",
        {},
        h("legend", {}, "Attackers"),
        h("p", {}, h("button", { type: "button", class: "quiet", onclick: all(true) }, "All"), " ", h("button", { type: "button", class: "quiet", onclick: all(false) }, "None")),
        h("div", { class: "scroller attackers", role: "group", tabindex: "0", "aria-label": "Attackers" }, attackers.map(({ name, about }, i) => h("label", {}, this.boxes[i], h("span", {}, h("b", {}, name), " ", h("small", { class: "muted" }, about))))),
      ),
      h("div", { class: "pair" }, given.map((name) => h("div", { class: "field" }, h("label", { for: `lab-${name}` }, FIELDS[name]), this.sizes[name]))),
      this.button,
    );
  }

  async play(event) {
    event.preventDefault();
    const attacks = this.boxes.filter(({ checked }) => checked).map(({ value }) => value);
    if (attacks.length === 0) return fill(this.progress, notice("trouble", "No attackers.", "Choose at least one."));
    const number = (text) => (/^\d+$/.test(text) ? Number(text) : text);
    const sizes = Object.fromEntries(Object.entries(this.sizes).map(([name, input]) => [name, number(input.value.trim().replaceAll(",", ""))]));
    return this.send(() => post("/v1/lab", { attacks, ...sizes }));
  }

  async send(request) {
    try {
      this.show(await request());
    } catch (refusal) {
      fill(this.progress, refusalBox(refusal));
    }
  }

  /** Show how far a contest is, and look again while it runs. */
  show({ state, done, total, report, reason }) {
    const running = state === "running";
    this.button.disabled = running;
    const bar = h("progress", { max: String(total || 1), "aria-label": "Progress of the contest" });
    if (total) bar.value = done;
    const cancel = h("button", { type: "button", class: "quiet", onclick: () => this.send(() => remove("/v1/lab").catch(latest)) }, "Cancel"); // it may be over by now
    fill(
      this.progress,
      running && h("p", { class: "running" }, bar, h("span", { class: "muted" }, total ? `${count(done)} of ${several(total, "analysis")}` : "starting …"), cancel),
      state === "cancelled" && notice("plain", "Cancelled.", "Nothing of it is kept."),
      state === "failed" && notice("trouble", "No result:", h("span", { class: "long" }, reason)),
      state === "idle" && h("p", { class: "empty" }, "Choose attackers on the form, then attack. The result appears here."),
    );
    fill(this.result, state === "done" && resultOf(report));
    clearTimeout(this.timer);
    if (running && !this.hasLeft) this.timer = setTimeout(() => this.send(latest), POLL);
  }
}

const latest = async () => (await get("/v1/lab")).contest;

/** Whether the promise held, and each attack against the guard and against the control. */
function resultOf(report) {
  const { rows, guard } = report;
  const isBroken = rows.some((row) => row.defender === guard && row.breaks);
  const shown = rows.filter(({ reason }) => reason === null);
  const lines = rows.map(({ attack, defender, display: [, right, coverage, answers, width], reason }) =>
    reason === null ? [attack, NAMES[defender], right, coverage, answers, width] : [attack, NAMES[defender], reason, "", "", ""]);
  return [
    notice(isBroken ? "trouble" : "plain", isBroken ? "Broken." : "Held.", h("span", { class: "long" }, report.verdict)),
    h("p", { class: "long" }, report.control),
    figure({
      title: "Analyses in which every interval held",
      level: "h2",
      note: ["● ", NAMES[guard], ", ✕ ", NAMES[rows.find(({ defender }) => defender !== guard)?.defender], "; the bars are exact 95 % bounds, the dashed line is what is promised"],
      label: `${report.verdict} ${report.control}`,
      draw: (wide) => coverageChart(shown, report, wide),
      rows: () => scroller("Result as a table", table(report.heading, ["attack", "answers come from", "all right#", "coverage#", "answers#", "width#"], lines)),
      tall: 60 + 44 * new Set(shown.map(({ attack }) => attack)).size,
    }),
  ];
}
