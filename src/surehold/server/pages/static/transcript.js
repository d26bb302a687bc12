// All answers as a paged list, and one of them in full, with its question over time.

import { get, pathOf } from "./api.js";
import { details } from "./details.js";
import { debounce, fill, h } from "./dom.js";
import { count } from "./formatting.js";
import { historyFigure } from "./histories.js";
import { refusalBox } from "./parts.js";
import { rangesOf } from "./ranges.js";
import { answerRow } from "./rows.js";

const PAGE = 50;
const FILTERS = ["contains", "analyst", "round"];
const NUMBERS = ["answer", "estimate", "number"]; // kinds of results that have a history

export const title = "Transcript";

export class View {
  constructor(root, context) {
    this.context = context;
    this.aside = h("section", { class: "detail", "aria-labelledby": "answer-title", hidden: true });
    this.list = h("div", { "aria-live": "off" });
    this.form = this.filters();
    fill(
      root,
      h("h1", { tabindex: "-1" }, "Transcript"),
      this.form,
      h("div", { class: "transcript" }, this.aside, this.list),
    );
    this.list.addEventListener("keydown", (event) => this.arrow(event));
  }

  start() {
    return this.navigate(this.context.url);
  }

  filters() {
    // Not by its bare name: a field named "contains" would hide the form's own method of that name.
    this.fields = Object.fromEntries(FILTERS.map((name) => [name, h("input", { name: `filter-${name}`, autocomplete: "off" })]));
    this.fields.contains.type = "search";
    this.fields.round.inputMode = "numeric";
    const field = (name, label) => h("label", { class: "field" }, h("span", {}, label), this.fields[name]);
    const later = debounce(300, () => this.filter());
    return h(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter the transcript", oninput: later, onsubmit: (event) => { event.preventDefault(); later.cancel(); this.filter(); } },
      field("contains", "Query contains"),
      field("analyst", "Analyst"),
      field("round", "Round"),
    );
  }

  /** The address holds the whole state: filters, page and the chosen answer. */
  async navigate(url) {
    const before = this.said;
    this.said = Object.fromEntries(["entry", "before", "after", ...FILTERS].map((name) => [name, url.searchParams.get(name)]));
    for (const name of FILTERS) {
      const input = this.fields[name];
      if (document.activeElement !== input) input.value = this.said[name] ?? "";
    }
    const same = before && ["before", "after", ...FILTERS].every((name) => before[name] === this.said[name]);
    if (!same) await this.load();
    else this.draw();
    if (before?.entry !== this.said.entry || !before) await this.choose(Boolean(before));
  }

  /** New answers appear on the newest page only; an older page stays as it is. */
  async update() {
    if (!this.said.before && !this.said.after) await this.load();
  }

  async load() {
    const { before, after } = this.said;
    const kept = Object.fromEntries(FILTERS.map((name) => [name, this.said[name]]));
    const place = after ? { after } : { before, newest: "true" };
    const path = pathOf("/v1/transcript", { ...kept, ...place, limit: PAGE });
    this.context.twin(path);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const page = await get(path);
      const ranges = await rangesOf(page.answers);
      if (turn !== this.turn) return; // a later request came first
      this.page = { answers: after ? page.answers.reverse() : page.answers, next: page.next, ranges };
      this.draw();
    } catch (refusal) {
      if (turn !== this.turn) return;
      this.page = null;
      fill(this.list, refusalBox(refusal, () => this.load()));
    }
  }

  draw() {
    if (!this.page) return;
    const { answers, ranges } = this.page;
    const chosen = Number(this.said.entry);
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.entry : null;
    fill(
      this.list,
      answers.length === 0
        ? this.empty()
        : [
            h("ol", { class: "answers", "aria-label": "Answers, newest first" }, answers.map((answer) =>
              answerRow(answer, { range: ranges.get(answer.entry), href: this.href({ entry: answer.entry }), chosen: answer.entry === chosen }))),
            this.pager(),
          ],
    );
    if (focused) this.list.querySelector(`a[data-entry="${focused}"]`)?.focus({ preventScroll: true });
  }

  empty() {
    const filtered = FILTERS.some((name) => this.said[name]);
    if (filtered) return h("p", { class: "empty" }, "No matching answers. ", h("a", { href: "/transcript" }, "Show all"));
    return h("p", { class: "empty" }, "No answers yet. ", h("a", { href: "/ask" }, "Get a quote"), " for free.");
  }

  pager() {
    const { answers, next } = this.page;
    const { before, after } = this.said;
    const older = after || next !== null ? this.href({ before: answers.at(-1).entry, after: null, entry: null }) : null;
    const newer = before || (after && next !== null) ? this.href({ after: answers[0].entry, before: null, entry: null }) : null;
    return h(
      "nav",
      { class: "pager", "aria-label": "Pages" },
      before || after ? h("a", { href: this.href({ before: null, after: null, entry: null }) }, "Newest") : null,
      newer && h("a", { href: newer, rel: "prev" }, "Newer"),
      h("span", { class: "muted" }, `entries ${count(answers.at(-1).entry)} to ${count(answers[0].entry)}`),
      older && h("a", { href: older, rel: "next" }, "Older"),
    );
  }

  async choose(focus) {
    const { entry } = this.said;
    this.aside.hidden = !entry;
    if (!entry) return fill(this.aside);
    try {
      const result = await get(`/v1/transcript/${encodeURIComponent(entry)}`);
      const [ranges, history] = await Promise.all([rangesOf([result]), this.historyOf(result)]);
      if (entry !== this.said.entry) return null;
      fill(this.aside, h("a", { class: "close", href: this.href({ entry: null }), "aria-label": "Close details" }, "✕"), details(result, ranges.get(result.entry), history));
    } catch (refusal) {
      fill(this.aside, h("h2", { id: "answer-title", tabindex: "-1" }, `Answer ${entry}`), refusal.status === 404 ? h("p", { class: "empty" }, "There is no such answer. ", h("a", { href: "/transcript" }, "Full transcript")) : refusalBox(refusal, () => this.choose(false)));
    }
    if (focus) this.aside.querySelector("h2").focus();
    return null;
  }

  /** The question of a number over time; nothing if there is only this answer. */
  async historyOf(result) {
    if (!NUMBERS.includes(result.kind)) return null;
    const history = await get(pathOf("/v1/history", { question: result.query }));
    if (history.points.length < 2) return null;
    return historyFigure(history, { title: "This question over time", chosen: result.entry, go: (entry) => this.context.go(this.href({ entry })) });
  }

  filter() {
    const given = Object.fromEntries(FILTERS.map((name) => [name, this.fields[name].value.trim() || null]));
    this.context.go(this.href({ ...given, before: null, after: null, entry: null }), { replace: true });
  }

  /** The up and down keys move between answers. */
  arrow(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.matches("a.asked")) return;
    const links = [...this.list.querySelectorAll("a.asked")];
    links[links.indexOf(event.target) + step]?.focus();
    event.preventDefault();
  }

  href(changes) {
    return pathOf("/transcript", { ...this.said, ...changes });
  }
}
