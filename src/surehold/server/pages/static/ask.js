// Write or build a question, see what it costs, ask it, and see the answer in place of the quote.

import { get, pathOf, post } from "./api.js";
import { Builder } from "./builder.js";
import { complete } from "./completion.js";
import { details } from "./details.js";
import { ROOT, debounce, fill, h, remember, remembered, terms } from "./dom.js";
import { count, several } from "./formatting.js";
import { notice, refusalBox, statusNotice } from "./parts.js";
import { rangesOf } from "./ranges.js";
import { Shelf } from "./shelf.js";
import { Expectation, isSurprise, quotedCost, quoteTerms, widthText } from "./surprise.js";

const PAUSE = 250;
const MODE = "surehold-ask"; // where the browser remembers whether questions are written or built

export const title = "Ask";

export class View {
  constructor(root, context) {
    this.context = context;
    this.quote = null;
    this.pending = null; // a submission whose response was lost: its body and its key
    this.known = { questions: [], tables: [], models: [] };
    this.later = debounce(PAUSE, () => this.fetchQuote());
    const { url, me, status } = context;
    this.text = h("textarea", { id: "query", rows: "3", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "query-help" });
    this.text.value = url.searchParams.get("q") ?? "";
    this.words = complete(this.text, () => ({ columns: status.columns, questions: this.known.questions.map(({ name }) => name) }));
    this.round = h("input", { id: "round", inputmode: "numeric", autocomplete: "off", placeholder: "now", "aria-describedby": "round-help" });
    this.round.value = url.searchParams.get("round") ?? "";
    this.expected = isSurprise(status) ? new Expectation(url.searchParams) : null;
    this.quoteBox = h("div", { id: "quote", class: "quote", role: "status" });
    this.place = h("div", {});
    this.button = me.role === "viewer" ? null : h("button", { type: "submit", class: "main", disabled: true }, "Ask");
    this.answer = h("section", { class: "detail", "aria-label": "Answer", "aria-live": "polite" });
    this.standing = h("div", {});
    this.shelf = new Shelf(context, { write: (text, whole) => this.write(text, whole), build: (kind) => this.choose("build", kind), reload: () => this.fetchKnown() });
    this.writing = h(
      "div",
      { class: "field editor" },
      h("label", { for: "query" }, "Query"),
      this.text,
      this.words,
      h("p", { id: "query-help", class: "muted" }, "A condition on the columns, a function of them, or the name of a saved question. Ctrl + Enter asks."),
    );
    this.building = h("div", { hidden: true });
    fill(
      root,
      h("h1", { tabindex: "-1" }, "Ask"),
      this.standing,
      h(
        "div",
        { class: "ask" },
        h(
          "form",
          { class: "asking", onsubmit: (event) => this.submit(event) },
          this.modes(),
          this.writing,
          this.building,
          this.place,
          this.expected?.element,
          h(
            "details",
            { open: this.round.value !== "" },
            h("summary", {}, "Ask at an earlier round"),
            h("div", { class: "field narrow" }, h("label", { for: "round" }, "Round"), this.round, h("p", { id: "round-help", class: "muted" }, "Leave empty for the current round. Earlier rounds have fewer records, so an answer costs more or is wider.")),
          ),
          this.quoteBox,
          this.answer,
          this.button ?? notice("plain", "You are a viewer.", "Viewers can read and quote. Asking costs and needs an analyst token, which the custodian creates with ", h("code", {}, "surehold token create --role analyst"), "."),
        ),
        this.shelf.element,
      ),
    );
    for (const input of [this.text, this.round]) input.addEventListener("input", () => this.changed());
    this.expected?.element.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.text.form.requestSubmit();
    });
  }

  async start() {
    this.context.twin("/v1/schema");
    fill(this.standing, statusNotice(this.context.status));
    this.shelf.draw(this.known);
    await Promise.all([this.fetchKnown(), this.text.value ? this.fetchQuote() : this.drawQuote()]);
    if (!this.context.url.searchParams.has("q") && remembered(MODE) !== "write") this.choose("build");
  }

  /** The data has grown or someone has asked, so the quote may have changed. */
  async update(status) {
    fill(this.standing, statusNotice(status));
    if (this.text.value.trim() && !this.busy) await this.fetchQuote();
  }

  leave() {
    this.later.cancel();
    this.controller?.abort();
  }

  /** What can be asked about besides columns: saved questions, predictions and models. */
  async fetchKnown() {
    try {
      const [{ questions }, { tables }, { models }] = await Promise.all([get("/v1/dashboard"), get("/v1/tables"), get("/v1/models")]);
      this.known = { questions, tables, models };
      this.shelf.draw(this.known);
    } catch (refusal) {
      if (refusal.status === 401) throw refusal;
    } // without them, columns and examples are still there
  }

  /** Two ways to say the same; the builder writes the query. */
  modes() {
    const mode = (name, label) => h("button", { type: "button", class: "mode", "aria-pressed": String(name === "write"), "data-mode": name, onclick: () => { remember(MODE, name); this.choose(name); } }, label);
    return h("div", { class: "modes", role: "group", "aria-label": "How to ask" }, mode("build", "Build it"), mode("write", "Write it"));
  }

  choose(mode, kind = null) {
    for (const button of this.text.form.querySelectorAll(".mode")) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    const builds = mode === "build";
    if (builds) {
      const { status } = this.context;
      const builder = new Builder({ columns: status.columns, id: status.id, isSurprise: isSurprise(status), ...this.known }, (written, refusal) => this.built(written, refusal));
      this.preview = h("p", { class: "preview" });
      fill(this.building, builder.element, this.preview);
      if (kind) builder.choose(kind);
      builder.changed();
    }
    this.building.hidden = !builds;
    this.shelf.element.dataset.mode = mode; // columns and examples are for writing
    this.writing.hidden = builds;
    if (!builds) this.text.focus();
  }

  built(written, refusal = null) {
    fill(this.preview, written ? ["This asks ", h("code", {}, written)] : h("span", { class: "muted" }, "Fill in the form; the question appears here."));
    if (written === this.text.value && !refusal) return;
    this.text.value = written;
    this.changed();
    if (refusal) fill(this.quoteBox, refusalBox(refusal));
  }

  changed() {
    history.replaceState(null, "", ROOT + pathOf("/ask", { q: this.text.value, round: this.round.value.trim(), ...this.expected?.given }));
    this.quote = null;
    this.pending = null;
    this.expected?.draw(null);
    this.show(null); // an old answer never stays under a new question
    this.drawButton();
    if (this.text.value.trim()) this.later();
    else {
      this.leave();
      this.drawQuote();
    }
  }

  /** Show an answer in place of the quote or, with null, the quote. */
  show(answer) {
    fill(this.answer, answer);
    this.quoteBox.hidden = answer !== null;
  }

  body() {
    const round = this.round.value.trim().replaceAll(",", "");
    return { query: this.text.value, ...this.expected?.given, ...(round === "" ? {} : { round: /^\d+$/.test(round) ? Number(round) : round }) };
  }

  async fetchQuote() {
    this.controller?.abort();
    const { signal } = (this.controller = new AbortController());
    try {
      const quote = await post("/v1/quote", this.body(), { signal });
      if (signal.aborted) return;
      this.quote = quote;
      fill(this.place);
      this.drawQuote();
    } catch (refusal) {
      if (refusal.name === "AbortError") return;
      this.quote = null;
      fill(this.quoteBox, refusalBox(refusal, refusal.isLost ? () => this.fetchQuote() : null));
      fill(this.place, refusal.type === "InvalidQuery" && this.errorPosition(refusal.details));
      this.drawButton();
    }
  }

  drawQuote() {
    const { quote } = this;
    this.expected?.draw(quote);
    if (!quote) {
      fill(this.place);
      fill(this.quoteBox, h("p", { class: "muted" }, "The cost and the width appear here before you ask. Quotes are free and never touch the records."));
    } else {
      fill(
        this.quoteBox,
        terms(isSurprise(this.context.status) ? quoteTerms(quote) : noiseTerms(quote), { class: "facts quoted" }),
        !quote.allowed && notice("trouble", "This would be refused:", h("span", { class: "long" }, quote.reason)),
      );
    }
    this.drawButton();
  }

  /** The button states the cost; without a quote it is disabled. */
  drawButton() {
    if (!this.button) return;
    const { quote } = this;
    this.button.disabled = this.busy || (!this.pending && !quote?.allowed);
    if (this.busy) this.button.textContent = "Asking …";
    else if (this.pending) this.button.textContent = "Try again (charged at most once)";
    else if (!quote) this.button.textContent = "Ask";
    else if (!quote.allowed) this.button.textContent = "Ask (would be refused)";
    else if (quote.recorded) this.button.textContent = "Show the recorded answer (free)";
    else this.button.textContent = `Ask for ${isSurprise(this.context.status) ? quotedCost(quote) : several(quote.price, "answer")}`;
  }

  async submit(event) {
    event.preventDefault();
    if (this.busy || !this.button || this.button.disabled) return;
    // Ask at the quoted round, so that the cost is what the button states.
    this.pending ??= { body: { ...this.body(), round: this.quote.round }, key: freshKey() };
    const asked = this.pending;
    this.busy = true;
    this.drawButton();
    try {
      const result = await post("/v1/ask", asked.body, { key: asked.key });
      const ranges = await rangesOf([result]);
      if (this.pending !== asked) return; // the question was changed meanwhile; the answer is in the transcript
      this.pending = null;
      this.show([result.recorded && notice("plain", "Recorded.", "This was answered before, so it cost nothing now."), details(result, ranges.get(result.entry)), h("p", {}, h("a", { href: `/answer?entry=${result.entry}` }, "Everything about this answer"))]);
      this.answer.querySelector("h2").focus();
    } catch (refusal) {
      if (this.pending !== asked) return;
      if (!refusal.isLost) this.pending = null; // refused for good: the next submission is a new one
      this.show([refusalBox(refusal), refusal.isLost && h("p", { class: "muted" }, "The question may or may not have been answered. Trying again is safe: you are charged at most once.")]);
    } finally {
      this.busy = false;
      this.drawButton();
    }
    if (!this.pending) await this.fetchQuote();
  }

  /** The position of the error in an invalid query, with the text around it. */
  errorPosition({ text, position }) {
    if (typeof position !== "number" || typeof text !== "string") return null;
    const letters = Array.from(text); // the library counts code points, not UTF-16 units
    const from = Math.max(0, position - 60);
    const bad = letters.slice(position, position + 1).join("");
    const go = () => {
      const start = letters.slice(0, position).join("").length;
      this.text.focus();
      this.text.setSelectionRange(start, start + Math.max(bad.length, 1));
    };
    return h(
      "p",
      { class: "pointed" },
      h("code", {}, from > 0 && "…", letters.slice(from, position).join(""), h("mark", {}, bad.trim() ? bad : "␣"), letters.slice(position + 1, position + 61).join("")),
      " ",
      h("button", { type: "button", class: "quiet", onclick: go }, `Go to character ${count(position + 1)}`),
    );
  }

  /** Put a text in at the caret, or in place of the whole question. */
  write(text, whole) {
    this.choose("write");
    this.text.setRangeText(text, whole ? 0 : this.text.selectionStart, whole ? this.text.value.length : this.text.selectionEnd, "end");
    this.changed();
  }
}

/** What a quote says under the noise guard, in pairs. */
function noiseTerms(quote) {
  const { allowed, recorded, price, counts_for: counts, answers_left: left, answers_left_after: after, display } = quote;
  const cost = recorded ? "free, already answered" : `the price of ${several(price, "fraction")}${allowed ? `, ${display.charge} of the budget left` : ""}`;
  const rest = recorded || !allowed ? several(left, "answer") : `${count(left)} → ${several(after, "answer")}`;
  return [
    ["Width", widthText(quote, "depends on the answers")],
    ["Cost", h("span", { "data-name": "cost" }, cost)],
    ["Reports", !recorded && counts > price ? several(counts, "number") : null],
    ["Left", `${rest} at n = ${count(quote.round)}`],
  ];
}

/** A new key for each submission; it is not a secret, so Math.random will do without randomUUID. */
function freshKey() {
  const { crypto } = globalThis;
  if (crypto?.randomUUID) return `page-${crypto.randomUUID()}`;
  return `page-${Date.now().toString(36)}-${[0, 0, 0].map(() => Math.random().toString(36).slice(2)).join("")}`;
}
