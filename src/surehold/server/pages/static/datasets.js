// The datasets of a server that the caller has access to.

import { get, hasToken, signIn } from "./api.js";
import { ROOT, fill, h, scroller, table } from "./dom.js";
import { count } from "./formatting.js";
import { refusalBox, showLoading } from "./parts.js";
import { showSignIn } from "./signin.js";

const root = document.getElementById("main");

async function start() {
  showLoading(root);
  try {
    const { datasets } = await get("/v1/datasets");
    fill(root, h("div", { class: "view" }, h("h1", { tabindex: "-1" }, "Datasets"), listOf(datasets), leave()));
  } catch (refusal) {
    if (refusal.status !== 401) fill(root, h("h1", { tabindex: "-1" }, "Datasets"), refusalBox(refusal, start));
  }
}

function listOf(datasets) {
  if (!datasets.length) return h("p", { class: "empty" }, "There are no datasets that you have access to.");
  const rows = datasets.map((one) => [
    h("a", { href: `${one.address.slice(ROOT.length)}/` }, one.name),
    one.role,
    one.guard ?? "",
    one.n === null ? "" : count(one.n),
    one.answers === null ? "" : count(one.answers),
    one.reason ? `${one.state}: ${one.reason}` : one.state,
  ]);
  return scroller("Datasets", table("Datasets of this server", ["Name", "Your role", "Guard", "Records#", "Answers#", "State"], rows));
}

function leave() {
  return hasToken() && h("p", {}, h("button", { type: "button", class: "quiet", onclick: () => { signIn(null); start(); } }, "Sign out"));
}

addEventListener("surehold-denied", (event) => {
  const wasTried = hasToken();
  signIn(null);
  showSignIn(root, wasTried ? event.detail : null, start);
});

start();
