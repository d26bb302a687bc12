// Beside a question: what can be asked about, and what is uploaded for it.

import { pathOf, upload } from "./api.js";
import { fill, h } from "./dom.js";
import { examplesOf, nameOf } from "./language.js";
import { notice, refusalBox } from "./parts.js";

const FILES = {
  csv: "text/csv", tsv: "text/tab-separated-values", ndjson: "application/x-ndjson", json: "application/json",
  parquet: "application/vnd.apache.parquet", arrow: "application/vnd.apache.arrow.file", onnx: "application/octet-stream",
};

/** Saved questions, columns, predictions, models and examples; each can be put into the question. */
export class Shelf {
  /** `actions`: `write` puts a text in, `build` opens the form, `reload` fetches what is uploaded. */
  constructor(context, actions) {
    Object.assign(this, actions, { context });
    this.element = h("aside", { class: "help", "aria-label": "What can be asked about" });
  }

  draw(known) {
    const { status, me } = this.context;
    const { columns } = status;
    const write = (text, whole = false) => () => this.write(text, whole);
    const chip = (onclick, ...children) => h("button", { type: "button", class: "chip", onclick }, children);
    const section = (heading, chips, attributes = {}, more = null) => (chips.length > 0 || more) && h("section", attributes, h("h2", {}, heading), h("div", { class: "chips" }, chips), more);
    const forWriting = { class: "for-writing" };
    const { questions, tables, models } = known;
    const predictions = tables.flatMap((table) => Object.entries(table.columns).filter(([name]) => name !== status.id).map(([name, kind]) => chip(write(`${nameOf(table.name)}.${nameOf(name)}`), `${table.name}.${name}`, " ", h("small", {}, kind))));
    fill(
      this.element,
      section("Saved questions", questions.map(({ name }) => chip(write(name, true), name))),
      section("Columns", Object.entries(columns).map(([name, kind]) => chip(write(nameOf(name)), name, " ", h("small", {}, kind))), forWriting),
      section("Predictions and models", [...predictions, ...models.map(({ model, name }) => chip(() => this.build("score"), name ?? model.slice(0, 13), " ", h("small", {}, "model")))], {}, me.role !== "viewer" && this.uploader()),
      section("Examples", examplesOf(columns, tables, status.id).map(({ about, text }) => h("div", { class: "example" }, h("small", { class: "muted" }, about), chip(write(text, true), h("code", {}, text)))), forWriting),
    );
  }

  /** Where predictions, if records have ids, and models are uploaded from a file. */
  uploader() {
    const { id } = this.context.status;
    const kinds = Object.keys(FILES).filter((kind) => id || kind === "onnx");
    const input = h("input", { type: "file", id: "upload", accept: kinds.map((kind) => `.${kind}`).join(","), onchange: () => this.upload(input.files[0]) });
    this.uploaded = h("div", { role: "status" });
    return h("div", { class: "field upload" }, h("label", { for: "upload" }, id ? "Upload predictions or a model" : "Upload a model"), input, h("p", { class: "muted" }, id ? `A table with the column ${id} and the predictions (CSV, Parquet, …), or an ONNX model.` : "An ONNX file. Predictions need records with ids."), this.uploaded);
  }

  async upload(file) {
    const kind = file?.name.split(".").at(-1).toLowerCase();
    if (!file) return;
    if (!(kind in FILES)) return fill(this.uploaded, notice("trouble", "Unknown format.", `The file should end in ${Object.keys(FILES).map((one) => `.${one}`).join(", ")}.`));
    fill(this.uploaded, h("p", { class: "muted" }, "Uploading …"));
    try {
      const path = kind === "onnx" ? "/v1/models" : "/v1/tables";
      const { name } = await upload(pathOf(path, { default: file.name.slice(0, -kind.length - 1) }), file, FILES[kind]);
      await this.reload(); // draws the shelf again
      fill(this.uploaded, notice("plain", "Uploaded", `as ${name}.`));
      this.build("score");
    } catch (refusal) {
      fill(this.uploaded, refusalBox(refusal));
    }
  }
}

