// All answers as a paged list that can be filtered, sorted and exported, and one of them beside it.

import { download, get, pathOf } from "./api.js";
import { details } from "./details.js";
import { choice, debounce, fill, h } from "./dom.js";
import { count } from "./formatting.js";
import { historyOf } from "./histories.js";
import { refusalBox } from "./parts.js";
import { rangesOf } from "./ranges.js";
import { answerRow } from "./rows.js";

const PAGE = 50;
const FILTERS = ["contains", "analyst", "kind", "from", "to", "round"];
const STATE = ["entry", "before", "after", "order", ...FILTERS];
const KINDS = ["fraction", "mean", "rate", "difference", "gate", "histogram", "means", "totals", "auc", "f1", "select", "accuracy", "loss", "improvement", "fit"];
const DAY = 86_400;

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
    const input = (name, attributes = {}) => h("input", { name: `filter-${name}`, autocomplete: "off", ...attributes });
    this.fields = {
      contains: input("contains", { type: "search" }),
      analyst: input("analyst"),
      kind: choice({ "": "any", ...Object.fromEntries(KINDS.map((kind) => [kind, kind])) }, { name: "filter-kind" }),
      from: input("from", { type: "date" }),
      to: input("to", { type: "date" }),
      round: input("round", { inputmode: "numeric" }),
      order: choice({ "": "newest first", oldest: "oldest first" }, { name: "filter-order" }),
    };
    const field = (name, label) => h("label", { class: "field" }, h("span", {}, label), this.fields[name]);
    const later = debounce(300, () => this.filter());
    const save = (kind, text) => h("button", { type: "button", class: "quiet", onclick: () => this.export(kind) }, text);
    return h(
      "form",
      { class: "filters", role: "search", "aria-label": "Filter the transcript", oninput: later, onsubmit: (event) => { event.preventDefault(); later.cancel(); this.filter(); } },
      h(
        "details",
        { open: matchMedia("(min-width: 46rem)").matches || FILTERS.some((name) => this.context.url.searchParams.has(name)) },
        h("summary", {}, "Filter and sort"),
        h("div", { class: "fields" }, field("contains", "Name or query contains"), field("analyst", "Analyst"), field("kind", "Kind"), field("round", "Round"), field("from", "From"), field("to", "To"), field("order", "Sort")),
      ),
      h("div", { class: "exports" }, h("span", { class: "muted" }, "Export "), save("csv", "CSV"), " ", save("json", "JSON")),
    );
  }

  /** What the service is asked for: the filters, with days as times. */
  wanted() {
    const { contains, analyst, kind, round, from, to } = this.said;
    const time = (day, more) => (day ? Date.parse(`${day}T00:00`) / 1000 + more : null);
    return { contains, analyst, kind, round, since: time(from, 0), until: time(to, DAY) };
  }

  /** Save all that the filters leave, not only this page. */
  async export(kind) {
    const newest = this.said.order === "oldest" ? null : "true";
    try {
      if (kind === "csv") return await download(pathOf("/v1/transcript.csv", { ...this.wanted(), newest }), "transcript.csv");
      const answers = [];
      let place = {};
      do {
        const page = await get(pathOf("/v1/transcript", { ...this.wanted(), newest, limit: 1000, ...place }));
        answers.push(...page.answers);
        place = page.next === null ? null : newest ? { before: page.next } : { after: page.next };
      } while (place !== null);
      return await download(new Blob([JSON.stringify({ answers }, null, 2)], { type: "application/json" }), "transcript.json");
    } catch (refusal) {
      return this.list.prepend(refusalBox(refusal));
    }
  }

  /** The address holds the whole state: filters, page and the chosen answer. */
  async navigate(url) {
    const before = this.said;
    this.said = Object.fromEntries(STATE.map((name) => [name, url.searchParams.get(name)]));
    for (const name of Object.keys(this.fields)) {
      const input = this.fields[name];
      if (document.activeElement !== input) input.value = this.said[name] ?? "";
    }
    const same = before && STATE.slice(1).every((name) => before[name] === this.said[name]);
    if (!same) await this.load();
    else this.draw();
    if (before?.entry !== this.said.entry || !before) await this.choose(Boolean(before));
  }

  /** New answers appear on the newest page only; an older page stays as it is. */
  async update() {
    if (!this.said.before && !this.said.after && this.said.order !== "oldest") await this.load();
  }

  async load() {
    const { before, after, order } = this.said;
    const isOldest = order === "oldest";
    const forwards = isOldest ? !before : Boolean(after); // as the service reads
    const place = forwards ? { after } : { before, newest: "true" };
    const path = pathOf("/v1/transcript", { ...this.wanted(), ...place, limit: PAGE });
    this.context.twin(path);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const page = await get(path);
      const ranges = await rangesOf(page.answers);
      if (turn !== this.turn) return; // a later request came first
      this.page = { answers: forwards === isOldest ? page.answers : page.answers.reverse(), next: page.next, ranges };
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
            h("ol", { class: "answers", "aria-label": this.said.order === "oldest" ? "Answers, oldest first" : "Answers, newest first" }, answers.map((answer) =>
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

  /** Where the other pages are: earlier and later entries, from the ends of this one. */
  pager() {
    const { answers, next } = this.page;
    const { before, after, order } = this.said;
    const isOldest = order === "oldest";
    const [first, last] = [answers[0].entry, answers.at(-1).entry];
    const [low, high] = isOldest ? [first, last] : [last, first];
    const forwards = isOldest ? !before : Boolean(after);
    const hasOlder = forwards ? Boolean(after) : next !== null;
    const hasNewer = forwards ? next !== null : Boolean(before);
    const older = hasOlder ? this.href({ before: low, after: null, entry: null }) : null;
    const newer = hasNewer ? this.href({ after: high, before: null, entry: null }) : null;
    return h(
      "nav",
      { class: "pager", "aria-label": "Pages" },
      before || after ? h("a", { href: this.href({ before: null, after: null, entry: null }) }, isOldest ? "Oldest" : "Newest") : null,
      newer && h("a", { href: newer, rel: isOldest ? "next" : "prev" }, "Newer"),
      h("span", { class: "muted" }, `entries ${count(low)} to ${count(high)}`),
      older && h("a", { href: older, rel: isOldest ? "prev" : "next" }, "Older"),
    );
  }

  async choose(focus) {
    const { entry } = this.said;
    this.aside.hidden = !entry;
    if (!entry) return fill(this.aside);
    try {
      const result = await get(`/v1/transcript/${encodeURIComponent(entry)}`);
      const [ranges, history] = await Promise.all([rangesOf([result]), historyOf(result, (other) => this.context.go(this.href({ entry: other })))]);
      if (entry !== this.said.entry) return null;
      fill(this.aside, h("a", { class: "close", href: this.href({ entry: null }), "aria-label": "Close details" }, "✕"), details(result, ranges.get(result.entry), history), h("p", {}, h("a", { href: `/answer?entry=${result.entry}` }, "Everything about this answer")));
    } catch (refusal) {
      fill(this.aside, h("h2", { id: "answer-title", tabindex: "-1" }, `Answer ${entry}`), refusal.status === 404 ? h("p", { class: "empty" }, "There is no such answer. ", h("a", { href: "/transcript" }, "Full transcript")) : refusalBox(refusal, () => this.choose(false)));
    }
    if (focus) this.aside.querySelector("h2").focus();
    return null;
  }

  filter() {
    const given = Object.fromEntries(Object.entries(this.fields).map(([name, input]) => [name, input.value.trim() || null]));
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
