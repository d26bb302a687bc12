// Quote while the user types, show the cost before the button, ask, and show the answer or refusal.

import { get, pathOf, post } from "./api.js";
import { details } from "./details.js";
import { debounce, fill, h, terms } from "./dom.js";
import { count, several } from "./formatting.js";
import { jsonLink, notice, promise, refusalBox, statusNotice } from "./parts.js";
import { rangesOf } from "./ranges.js";
import { expectationFields, isSurprise, quotedCost, quoteTerms } from "./surprise.js";

const PAUSE = 250;
const WORDS = new Set("and as between case cast else end false in is like not null or then true when".split(" "));

export const title = "Ask";

export class View {
  constructor(root, context) {
    this.context = context;
    this.quote = null;
    this.pending = null; // a submission whose response was lost: its body and its key
    this.later = debounce(PAUSE, () => this.fetchQuote());
    const { url, me } = context;
    this.text = h("textarea", { id: "query", rows: "3", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "query-help" });
    this.text.value = url.searchParams.get("q") ?? "";
    this.round = h("input", { id: "round", inputmode: "numeric", autocomplete: "off", placeholder: "now", "aria-describedby": "round-help" });
    this.round.value = url.searchParams.get("round") ?? "";
    this.expected = isSurprise(context.status) ? expectationFields(url.searchParams) : [];
    this.quoteBox = h("div", { id: "quote", class: "quote", role: "status" });
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
        h("div", { class: "field" }, h("label", { for: "query" }, "Query"), this.text, h("p", { id: "query-help", class: "muted" }, "A condition on the columns, or a function of them. Quotes are free and never touch the records.")),
        this.place,
        this.expected.length > 0 && h("div", { class: "expectation" }, this.expected.map(({ element }) => element)),
        h(
          "details",
          { open: this.round.value !== "" },
          h("summary", {}, "Ask at an earlier round"),
          h("div", { class: "field narrow" }, h("label", { for: "round" }, "Round"), this.round, h("p", { id: "round-help", class: "muted" }, "Leave empty for the current round. Earlier rounds have fewer records, so an answer costs more or is wider.")),
        ),
        this.quoteBox,
        this.button ?? notice("plain", "You are a viewer.", "Viewers can read and quote. Asking costs and needs an analyst token, which the custodian creates with ", h("code", {}, "surehold token create --role analyst"), "."),
      ),
      this.answer,
      this.help,
    );
    for (const input of [this.text, this.round, ...this.expected.map((one) => one.input)]) input.addEventListener("input", () => this.changed());
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.text.form.requestSubmit();
    });
  }

  async start() {
    this.context.twin("/v1/schema");
    fill(this.standing, statusNotice(this.context.status));
    this.drawHelp(this.context.status.columns);
    if (this.text.value) await this.fetchQuote();
    else this.drawQuote();
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

  changed() {
    history.replaceState(null, "", pathOf("/ask", { q: this.text.value, round: this.round.value.trim(), ...this.expectation() }));
    this.quote = null;
    this.pending = null;
    this.drawButton();
    if (this.text.value.trim()) this.later();
    else {
      this.leave();
      this.drawQuote();
    }
  }

  /** What is expected, as it is written: text keeps numbers exactly. */
  expectation() {
    const given = this.expected.map(({ name, input }) => [name, input.value.trim()]);
    return Object.fromEntries(given.filter(([, value]) => value !== ""));
  }

  body() {
    const round = this.round.value.trim().replaceAll(",", "");
    return { query: this.text.value, ...this.expectation(), ...(round === "" ? {} : { round: /^\d+$/.test(round) ? Number(round) : round }) };
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
    if (!quote) {
      fill(this.place);
      fill(this.quoteBox, h("p", { class: "muted" }, "The cost and the width appear here before you ask."));
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
    const { body, key } = this.pending;
    this.busy = true;
    this.drawButton();
    try {
      const result = await post("/v1/ask", body, { key });
      const ranges = await rangesOf([result]);
      this.pending = null;
      fill(this.answer, result.recorded && notice("plain", "Recorded.", "This was answered before, so it cost nothing now."), details(result, ranges.get(result.entry)), h("p", {}, h("a", { href: `/transcript?entry=${result.entry}` }, "Show in the transcript")));
      this.answer.querySelector("h2").focus();
    } catch (refusal) {
      if (!refusal.isLost) this.pending = null; // refused for good: the next submission is a new one
      fill(this.answer, refusalBox(refusal), refusal.isLost && h("p", { class: "muted" }, "The question may or may not have been answered. Trying again is safe: you are charged at most once."));
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

  drawHelp(columns) {
    const write = (text, from, to) => {
      this.text.setRangeText(text, from, to, "end");
      this.text.focus();
      this.changed();
    };
    const insert = (text) => () => write(text, this.text.selectionStart, this.text.selectionEnd);
    const use = (text) => () => write(text, 0, this.text.value.length);
    fill(
      this.help,
      h("h2", {}, "Columns"),
      h("p", { class: "chips" }, Object.entries(columns).map(([name, kind]) => h("button", { type: "button", class: "chip", onclick: insert(isBare(name) ? name : `"${name.replaceAll('"', '""')}"`) }, name, " ", h("small", {}, kind)))),
      h("h2", {}, "Examples"),
      h("p", { class: "chips" }, examples(columns).map((text) => h("button", { type: "button", class: "chip", onclick: use(text) }, h("code", {}, text)))),
      h("p", { class: "muted" }, "API: ", jsonLink("/v1/schema", "columns"), ", ", h("code", {}, "POST /v1/quote"), ", ", h("code", {}, "POST /v1/ask"), "."),
    );
  }
}

/** What a quote says under the noise guard, in pairs. */
function noiseTerms(quote) {
  const { allowed, recorded, price, counts_for: counts, answers_left: left, answers_left_after: after, display } = quote;
  const cost = recorded ? "free, already answered" : `the price of ${several(price, "fraction")}${allowed ? `, ${display.charge} of the budget left` : ""}`;
  const rest = recorded || !allowed ? several(left, "answer") : `${count(left)} → ${several(after, "answer")}`;
  return [
    ["Width", display.width ?? "depends on the answers"],
    ["Cost", h("span", { "data-name": "cost" }, cost)],
    ["Reports", !recorded && counts > price ? several(counts, "number") : null],
    ["Left", `${rest} at n = ${count(quote.round)}`],
  ];
}

/** Whether a column name needs no quotes; the reserved words are those of queries/lexer.py. */
function isBare(name) {
  return /^[A-Za-z_]\w*$/.test(name) && !WORDS.has(name.toLowerCase());
}

/** Example queries about this dataset's columns. */
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

/** A new key for each submission; it is not a secret, so Math.random will do without randomUUID. */
function freshKey() {
  const { crypto } = globalThis;
  if (crypto?.randomUUID) return `page-${crypto.randomUUID()}`;
  return `page-${Date.now().toString(36)}-${[0, 0, 0].map(() => Math.random().toString(36).slice(2)).join("")}`;
}
