// Explore plans: sliders, and what every certificate gives for their values.

import { get, pathOf } from "./api.js";
import { certificateColour, certificateLabel, comparisonChart, figure } from "./charts.js";
import { ROOT, debounce, fill, h, scroller, table } from "./dom.js";
import { count } from "./formatting.js";
import { refusalBox } from "./parts.js";

const PAUSE = 120;
const STEPS = 400; // of a slider, on a logarithmic scale

// The sliders: label, range and the value in words.
const FIELDS = {
  n0: { label: "Records at the first query, n0", low: 100, high: 1e8, whole: true, words: (x) => `${count(x)} records` },
  n: { label: "Records at the last query, n", low: 100, high: 1e8, whole: true, words: (x) => `${count(x)} records` },
  alpha: { label: "Largest width of an answer, alpha", low: 0.005, high: 0.5, words: (x) => `± ${x}` },
  queries: { label: "Number of queries", low: 1, high: 1e7, whole: true, words: (x) => `${count(x)} queries` },
  beta: { label: "Probability that any answer is wrong, beta", low: 1e-6, high: 0.5, words: (x) => `at most ${x}` },
  batches: { label: "Number of batches", low: 1, high: 1000, whole: true, words: (x) => `${count(x)} batch${x === 1 ? "" : "es"}` },
};

export const title = "Plan";

export class View {
  constructor(root, context) {
    this.context = context;
    this.later = debounce(PAUSE, () => this.load());
    this.result = h("div", { class: "comparison" });
    this.spoken = h("p", { class: "spoken", role: "status" });
    this.controls = {};
    this.root = root;
  }

  async start() {
    const given = Object.fromEntries(this.context.url.searchParams);
    let plan = {};
    try {
      plan = await get("/v1/plan");
    } catch {
      // The address or the defaults will do.
    }
    const said = (name) => (Number(given[name]) > 0 ? Number(given[name]) : null);
    const linked = Object.keys(FIELDS).some((name) => said(name) !== null);
    this.values = {
      n0: said("n0") ?? plan.n0 ?? 20_000,
      n: said("n") ?? plan.n ?? 200_000,
      alpha: said("alpha") ?? plan.alpha ?? valueAt(FIELDS.alpha, stepOf(FIELDS.alpha, plan.width ?? 0.1)),
      queries: said("queries") ?? plan.queries ?? 1000,
      beta: said("beta") ?? plan.beta ?? 0.05,
      batches: said("batches") ?? (linked ? null : plan.batches),
    };
    this.by = said("queries") !== null && said("alpha") === null ? "queries" : "alpha";
    this.scheduled = this.values.batches !== null && this.values.batches !== undefined;
    this.values.batches ??= 10;
    this.draw();
    await this.load();
  }

  /** The plan never changes; only a request that failed is repeated. */
  async update() {
    if (this.hasFailed) await this.load();
  }

  leave() {
    this.later.cancel();
    this.controller?.abort();
  }

  draw() {
    fill(
      this.root,
      h("h1", { tabindex: "-1" }, "Plan"),
      h("p", { class: "promise" }, "See how many adaptive queries growing data can answer, and how precisely, under every known certificate (a theorem turned into a number). This is free; it starts from this dataset's plan."),
      h(
        "div",
        { class: "explore" },
        h(
          "form",
          { class: "sliders", "aria-label": "Plan", onsubmit: (event) => event.preventDefault() },
          this.slider("n0"),
          this.slider("n"),
          h("fieldset", {}, h("legend", {}, "Choose one; the other is computed"), this.radio("by", "alpha", "largest width"), this.radio("by", "queries", "number of queries"), this.slider("alpha"), this.slider("queries")),
          this.slider("beta"),
          h("fieldset", {}, h("legend", {}, "When queries are asked"), this.radio("scheduled", false, "at any time"), this.radio("scheduled", true, "in batches fixed in advance"), this.slider("batches")),
        ),
        h("section", { "aria-labelledby": "compared" }, this.spoken, this.result),
      ),
    );
    this.toggle();
  }

  slider(name) {
    const field = FIELDS[name];
    const range = h("input", { type: "range", id: `slider-${name}`, name, min: 0, max: STEPS, step: 1 });
    const exact = h("input", { type: "text", inputmode: field.whole ? "numeric" : "decimal", class: "exact", "aria-label": `${field.label}, exactly`, autocomplete: "off" });
    const words = h("output", { for: `slider-${name}` });
    const show = (value, from) => {
      // Do not snap a slider that is being moved to the rounded value: arrow keys would never get
      // away from it.
      if (from !== range) range.value = stepOf(field, value);
      if (from !== exact) exact.value = String(value);
      range.setAttribute("aria-valuetext", field.words(value));
      words.textContent = field.words(value);
    };
    const set = (value, from) => {
      this.values[name] = value;
      show(value, from);
      this.hold(name);
      this.changed();
    };
    range.addEventListener("input", () => set(valueAt(field, Number(range.value)), range));
    exact.addEventListener("input", () => {
      const value = Number(exact.value.replaceAll(/[,_\s]/g, ""));
      const fine = value > 0 && Number.isFinite(value) && (!field.whole || Number.isInteger(value)) && (field.whole || value < 1);
      exact.setAttribute("aria-invalid", String(!fine));
      if (fine) set(value, exact);
    });
    show(this.values[name]);
    const box = h("div", { class: "slider" }, h("label", { for: `slider-${name}` }, field.label), h("div", { class: "both" }, range, exact), words);
    this.controls[name] = { show, box };
    return box;
  }

  /** Keep n0 at most n by moving the other one along. */
  hold(name) {
    const { values, controls } = this;
    if (values.n0 <= values.n) return;
    const other = name === "n0" ? "n" : "n0";
    values[other] = values[name];
    controls[other].show(values[other]);
  }

  /** One of the values that a property of this view can have. */
  radio(property, value, words) {
    const input = h("input", { type: "radio", name: property, value: String(value), onchange: () => { this[property] = value; this.toggle(); this.changed(); } });
    input.checked = this[property] === value;
    return h("label", { class: "radio" }, input, " ", words);
  }

  toggle() {
    this.controls.alpha.box.hidden = this.by !== "alpha";
    this.controls.queries.box.hidden = this.by !== "queries";
    this.controls.batches.box.hidden = !this.scheduled;
  }

  parameters() {
    const { n0, n, beta, batches } = this.values;
    return { n0, n, [this.by]: this.values[this.by], beta, batches: this.scheduled ? batches : null };
  }

  changed() {
    history.replaceState(null, "", ROOT + pathOf("/explore", this.parameters()));
    this.later();
  }

  async load() {
    const path = pathOf("/v1/compare", this.parameters());
    this.context.twin(path);
    this.controller?.abort();
    const { signal } = (this.controller = new AbortController());
    try {
      const { entries } = await get(path, signal);
      if (signal.aborted) return;
      this.hasFailed = false;
      this.drawResult(entries, path);
    } catch (refusal) {
      if (refusal.name === "AbortError") return;
      this.hasFailed = refusal.isLost;
      this.spoken.textContent = "";
      fill(this.result, refusalBox(refusal, refusal.isLost ? () => this.load() : null));
    }
  }

  /** How many queries fit depends on when they are asked, unless the rounds are fixed in advance. */
  paces(entry) {
    const { paces } = entry;
    if (paces === null || entry.n0 === entry.n) return `${count(entry.queries)} queries`;
    return `${count(paces.at_n0)} queries all at n0, ${count(paces.evenly)} spread evenly, or at most ${count(paces.at_n)} all at n`;
  }

  drawResult(entries, path) {
    const useful = entries.filter((entry) => entry.reason === null);
    const others = entries.filter((entry) => entry.reason !== null);
    const isWidth = entries[0].solved_for === "width";
    const shown = (entry) => (entry.reason !== null ? "—" : isWidth ? entry.display.width : count(entry.queries));
    const best = useful.find((entry) => entry.is_prompt) ?? useful[0];
    this.spoken.textContent = !best
      ? "No certificate can give this."
      : `${isWidth ? `${count(this.values.queries)} queries` : this.paces(best)}: every answer is within ${isWidth ? shown(best) : `± ${this.values.alpha}`}, except with probability ${this.values.beta} (${best.certificate}).`;
    const rows = entries.map((entry) => [
      h("span", {}, h("i", { class: "swatch", style: `background: ${certificateColour(entry.certificate)}` }), certificateLabel(entry.certificate)),
      shown(entry),
      `${entry.summary}${entry.is_prompt ? "" : "; answers may be delayed"}`,
      entry.theorem,
    ]);
    const heading = isWidth ? "Width of the answers (narrower is better)" : "Number of queries (more is better)";
    // Keep the table open while a slider moves.
    const open = this.result.querySelector("details")?.open;
    fill(
      this.result,
      useful.length > 0
        ? figure({
            title: heading,
            level: "h2",
            note: ["every certificate for the same plan"],
            label: `${heading}. ${useful.map((entry) => `${entry.certificate} ${shown(entry)}`).join(", ")}.`,
            draw: (wide) => comparisonChart(entries, wide),
            rows: () => scroller("Comparison as a table", table("Every certificate", ["certificate", isWidth ? "width#" : "queries#", "description", "theorem"], rows)),
            tall: 46 + 38 * useful.length,
          })
        : null,
      others.length > 0 && h("div", { class: "silent" }, h("h3", {}, "Not applicable here"), h("ul", {}, others.map((entry) => h("li", {}, h("b", {}, entry.certificate), `: ${entry.reason}`)))),
    );
    this.result.querySelector("figcaption h2")?.setAttribute("id", "compared");
    if (open) this.result.querySelector("details").open = true;
  }
}

/** The value at a step of a slider, rounded to two or three digits. */
function valueAt(field, step) {
  const value = field.low * (field.high / field.low) ** (step / STEPS);
  const rounded = Number(value.toPrecision(field.whole && value < 100 ? 3 : 2));
  return field.whole ? Math.max(Math.round(rounded), 1) : rounded;
}

/** The step of a slider that is nearest to a value. */
function stepOf(field, value) {
  return Math.round((STEPS * Math.log(value / field.low)) / Math.log(field.high / field.low));
}
