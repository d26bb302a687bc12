// Quote while typing, show the cost before the button, ask, and show what was told or refused.

import { get, pathOf, post } from "./api.js";
import { details } from "./details.js";
import { debounced, fill, h } from "./dom.js";
import { count, several, shareSpent, width } from "./formatting.js";
import { jsonLink, notice, promise, refusalBox, standing } from "./parts.js";
import { rangesOf } from "./ranges.js";

const PAUSE = 250;
const WORDS = new Set("and as between case cast else end false in is like not null or then true when".split(" "));

export const title = "Ask";

export async function show(root, context) {
  const view = new View(root, context);
  await view.start();
  return view;
}

class View {
  constructor(root, context) {
    this.context = context;
    this.quote = null;
    this.pending = null; // a submission that may not have arrived: its body and its key
    this.later = debounced(PAUSE, () => this.fetchQuote());
    const { url, me } = context;
    this.text = h("textarea", { id: "query", rows: "3", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "query-help" });
    this.text.value = url.searchParams.get("q") ?? "";
    this.round = h("input", { id: "round", inputmode: "numeric", autocomplete: "off", placeholder: "now", "aria-describedby": "round-help" });
    this.round.value = url.searchParams.get("round") ?? "";
    this.told = h("div", { id: "quote", class: "quote", role: "status" });
    this.place = h("div", {});
    this.button = me.role === "viewer" ? null : h("button", { type: "submit", class: "main", disabled: true }, "Ask");
    this.answer = h("section", { class: "detail", "aria-label": "Answer", "aria-live": "polite" });
    this.standing = h("div", {});
    this.help = h("div", { class: "help" });
    fill(
      root,
      h("h1", { tabindex: "-1" }, "Ask"),
      h("p", { class: "promise" }, promise(context.status)),
      this.standing,
      h(
        "form",
        { class: "asking", onsubmit: (event) => this.submit(event) },
        h("div", { class: "field" }, h("label", { for: "query" }, "Query"), this.text, h("p", { id: "query-help", class: "muted" }, "A condition on the columns, or a function of them. A quote is free and touches no record.")),
        this.place,
        h(
          "details",
          { open: this.round.value !== "" },
          h("summary", {}, "At an older round"),
          h("div", { class: "field narrow" }, h("label", { for: "round" }, "Round"), this.round, h("p", { id: "round-help", class: "muted" }, "Empty: now. An older round costs what it cost then, which is more.")),
        ),
        this.told,
        this.button ?? notice("plain", "You are a viewer.", "A viewer may look and quote; asking spends budget, so it takes a token of an analyst. The custodian makes one: ", h("code", {}, "surehold token create --role analyst")),
      ),
      this.answer,
      this.help,
    );
    for (const input of [this.text, this.round]) input.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.text.form.requestSubmit();
    });
  }

  async start() {
    this.context.twin("/v1/schema");
    fill(this.standing, standing(this.context.status));
    this.drawHelp(this.context.status.columns);
    if (this.text.value) await this.fetchQuote();
    else this.drawQuote();
  }

  /** The data has grown or somebody asked: what was quoted may cost something else now. */
  async update(status) {
    fill(this.standing, standing(status));
    if (this.text.value.trim() && !this.busy) await this.fetchQuote();
  }

  leave() {
    this.later.cancel();
    this.controller?.abort();
  }

  changed() {
    history.replaceState(null, "", pathOf("/ask", { q: this.text.value, round: this.round.value.trim() }));
    this.quote = null;
    this.pending = null;
    this.drawButton();
    if (this.text.value.trim()) this.later();
    else {
      this.leave();
      this.drawQuote();
    }
  }

  body() {
    const round = this.round.value.trim().replaceAll(",", "");
    return { query: this.text.value, ...(round === "" ? {} : { round: /^\d+$/.test(round) ? Number(round) : round }) };
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
      fill(this.told, refusalBox(refusal, refusal.isLost ? () => this.fetchQuote() : null));
      fill(this.place, refusal.type === "InvalidQuery" && this.pointed(refusal.details));
      this.drawButton();
    }
  }

  drawQuote() {
    const { quote } = this;
    if (!quote) {
      fill(this.place);
      fill(this.told, h("p", { class: "muted" }, "What it costs and how wide it is will stand here before you ask."));
    } else {
      const wide = quote.width === null ? "follows from the answers" : quote.query.startsWith("select(") ? `within ${width(quote.width)} of the best` : `± ${width(quote.width)}`;
      const budget = this.context.current().budget;
      fill(
        this.told,
        h(
          "dl",
          { class: "facts quoted" },
          h("div", {}, h("dt", {}, "Width"), h("dd", {}, wide)),
          h("div", {}, h("dt", {}, "Cost"), h("dd", { "data-name": "cost" }, quote.recorded ? "free: it was answered before" : `${several(quote.price, "answer")}, ${shareSpent(quote.charge, budget.total)} of the whole budget`)),
          !quote.recorded && quote.counts_for > quote.price && h("div", {}, h("dt", {}, "Counts for"), h("dd", {}, several(quote.counts_for, "answer"))),
          h("div", {}, h("dt", {}, "Left"), h("dd", {}, quote.recorded || !quote.allowed ? `${several(quote.answers_left, "answer")} at n = ${count(quote.round)}` : `${count(quote.answers_left)} → ${several(quote.answers_left_after, "answer")} at n = ${count(quote.round)}`)),
        ),
        !quote.allowed && notice("trouble", "It would be refused:", h("span", { class: "long" }, quote.reason)),
      );
    }
    this.drawButton();
  }

  /** The button says what it costs; without a quote it says nothing and does nothing. */
  drawButton() {
    if (!this.button) return;
    const { quote } = this;
    this.button.disabled = this.busy || (!this.pending && !quote?.allowed);
    if (this.busy) this.button.textContent = "Asking …";
    else if (this.pending) this.button.textContent = "Try again: charged once at most";
    else if (!quote) this.button.textContent = "Ask";
    else if (!quote.allowed) this.button.textContent = "Ask: would be refused";
    else if (quote.recorded) this.button.textContent = "Show the recorded answer: free";
    else this.button.textContent = `Ask for ${several(quote.price, "answer")}`;
  }

  async submit(event) {
    event.preventDefault();
    if (this.busy || !this.button || this.button.disabled) return;
    // Asked at the round that was quoted, so that it costs what the button says.
    this.pending ??= { body: { ...this.body(), round: this.quote.round }, key: freshKey() };
    const { body, key } = this.pending;
    this.busy = true;
    this.drawButton();
    try {
      const result = await post("/v1/ask", body, { key });
      const ranges = await rangesOf([result]);
      this.pending = null;
      fill(this.answer, result.recorded && notice("plain", "Recorded.", "It was answered before, and cost nothing now."), details(result, { range: ranges.get(result.entry) }), h("p", {}, h("a", { href: `/transcript?entry=${result.entry}` }, "In the transcript")));
      this.answer.querySelector("h2").focus();
    } catch (refusal) {
      if (!refusal.isLost) this.pending = null; // refused for good: the next one is another submission
      fill(this.answer, refusalBox(refusal), refusal.isLost && h("p", { class: "muted" }, "It may or may not have been answered. Trying again is safe: the same key gives the recorded answer."));
    } finally {
      this.busy = false;
      this.drawButton();
    }
    if (!this.pending) await this.fetchQuote();
  }

  /** Where an invalid query goes wrong: the characters before it, it, and those after. */
  pointed({ text, position }) {
    if (typeof position !== "number" || typeof text !== "string") return null;
    const letters = Array.from(text); // the library counts characters, not UTF-16's halves
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

  drawHelp(columns) {
    const insert = (text) => () => {
      this.text.setRangeText(text, this.text.selectionStart, this.text.selectionEnd, "end");
      this.text.focus();
      this.changed();
    };
    const use = (text) => () => {
      this.text.value = text;
      this.text.focus();
      this.changed();
    };
    fill(
      this.help,
      h("h2", {}, "Columns"),
      h("p", { class: "chips" }, Object.entries(columns).map(([name, kind]) => h("button", { type: "button", class: "chip", onclick: insert(isBare(name) ? name : `"${name.replaceAll('"', '""')}"`) }, name, " ", h("small", {}, kind)))),
      h("h2", {}, "For example"),
      h("p", { class: "chips" }, examples(columns).map((text) => h("button", { type: "button", class: "chip", onclick: use(text) }, h("code", {}, text)))),
      h("p", { class: "muted" }, "As JSON: ", jsonLink("/v1/schema", "the columns"), "; quotes and answers are ", h("code", {}, "POST /v1/quote"), " and ", h("code", {}, "POST /v1/ask"), "."),
    );
  }
}

/** Whether a column is written without quotes; the words are those of queries/lexer.py. */
function isBare(name) {
  return /^[A-Za-z_]\w*$/.test(name) && !WORDS.has(name.toLowerCase());
}

/** Questions about these very columns. */
function examples(columns) {
  const plain = Object.entries(columns).filter(([name]) => isBare(name));
  const number = plain.find(([, kind]) => kind === "int" || kind === "float")?.[0];
  const flags = plain.filter(([, kind]) => kind === "bool").map(([name]) => name);
  const text = plain.find(([, kind]) => kind === "str")?.[0];
  return [
    number && `${number} > 50`,
    number && `mean(${number}, 0, 100)`,
    number && flags[0] && `histogram(bins(${number}, 0 to 100 by 10), ${flags[0]})`,
    flags[1] && `rate(${flags[1]}, ${flags[0]})`,
    text && `${text} = 'a'`,
    flags[0] && `gate(${flags[0]}, at_most, 0.5)`,
  ].filter(Boolean);
}

/** One key a submission; it is no secret, so where there is no randomUUID chance will do. */
function freshKey() {
  const { crypto } = globalThis;
  if (crypto?.randomUUID) return `page-${crypto.randomUUID()}`;
  return `page-${Date.now().toString(36)}-${[0, 0, 0].map(() => Math.random().toString(36).slice(2)).join("")}`;
}
