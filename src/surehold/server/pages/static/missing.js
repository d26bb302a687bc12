// For an address that leads nowhere.

import { fill, h } from "./dom.js";

export const title = "Not found";

export class View {
  constructor(root) {
    fill(root, h("h1", { tabindex: "-1" }, "There is no such page"), h("p", { class: "missing" }, "The address may be mistyped, or from another version."), h("p", {}, h("a", { href: "/" }, "Home"), " · ", h("a", { href: "/ask" }, "Ask"), " · ", h("a", { href: "/transcript" }, "Transcript")));
  }

  start() {}
}
