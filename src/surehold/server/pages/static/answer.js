// One answer on a page of its own, with everything that explains it.

import { get } from "./api.js";
import { details } from "./details.js";
import { fill, h } from "./dom.js";
import { queryLine } from "./formatting.js";
import { historyOf } from "./histories.js";
import { promise, refusalBox } from "./parts.js";
import { rangesOf } from "./ranges.js";
import { answerRow } from "./rows.js";

export const title = "Answer";

export class View {
  constructor(root, context) {
    this.context = context;
    this.body = h("div", {});
    this.heading = h("h1", { tabindex: "-1" }, "Answer");
    fill(root, h("p", {}, h("a", { href: "/transcript" }, "← Transcript")), this.heading, this.body);
  }

  start() {
    return this.navigate(this.context.url);
  }

  async navigate(url) {
    const entry = url.searchParams.get("entry") ?? "";
    const path = `/v1/transcript/${encodeURIComponent(entry)}`;
    this.context.twin(path);
    try {
      const result = await get(path);
      const [history, parts] = await Promise.all([
        historyOf(result, (other) => this.context.go(`/answer?entry=${other}`)),
        Promise.all((result.parts ?? []).map((part) => get(`/v1/transcript/${part}`))),
      ]);
      const ranges = await rangesOf([result, ...parts]);
      fill(this.heading, queryLine(result));
      fill(
        this.body,
        h("p", { class: "promise" }, promise(this.context.status)),
        h("section", { class: "detail", "aria-label": "Details" }, details(result, ranges.get(result.entry), history)),
        parts.length > 0 && h("section", { "aria-labelledby": "parts" }, h("h2", { id: "parts" }, "Derived from"), h("ol", { class: "answers" }, parts.map((part) => answerRow(part, { range: ranges.get(part.entry), href: `/answer?entry=${part.entry}` })))),
      );
    } catch (refusal) {
      fill(this.body, refusal.status === 404 || refusal.status === 422 ? h("p", { class: "empty" }, "There is no such answer. ", h("a", { href: "/transcript" }, "Full transcript")) : refusalBox(refusal, () => this.navigate(url)));
    }
  }
}
