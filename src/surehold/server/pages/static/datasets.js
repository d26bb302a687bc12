// The datasets of a server that the caller has access to, and the tokens that cover several.

import { get, signOut } from "./api.js";
import { ROOT, fill, h, scroller, table } from "./dom.js";
import { count } from "./formatting.js";
import { refusalBox, showLoading } from "./parts.js";
import { refusalHere, showSignIn } from "./signin.js";
import * as tokens from "./tokens.js";

const root = document.getElementById("main");
const refused = refusalHere();

async function start() {
  showLoading(root);
  const isTokens = location.pathname === `${ROOT}/tokens`;
  try {
    const [{ datasets }, { token }] = await Promise.all([get("/v1/datasets"), get("/v1/session")]);
    const isKeeper = token?.role === "custodian" && Boolean(token.datasets?.includes("*"));
    drawLinks(isTokens, isKeeper);
    const page = h("div", { class: "view" });
    if (isTokens) await new tokens.View(page, { me: { token: token?.id }, datasets: datasets.map((one) => one.name) }).start();
    else fill(page, h("h1", { tabindex: "-1" }, "Datasets"), h("div", { class: "datasets" }, listOf(datasets)));
    fill(root, page, token && leave(token));
  } catch (refusal) {
    if (refusal.status !== 401) fill(root, h("h1", { tabindex: "-1" }, isTokens ? tokens.title : "Datasets"), refusalBox(refusal, start));
  }
}

function drawLinks(isTokens, isKeeper) {
  document.title = `${isTokens ? tokens.title : "Datasets"} · Surehold`;
  for (const link of document.querySelectorAll("header nav a")) {
    const isForTokens = link.getAttribute("href").endsWith("/tokens");
    link.hidden = isForTokens && !isKeeper;
    if (isForTokens === isTokens) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
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

function leave({ analyst, role }) {
  const button = h("button", { type: "button", class: "quiet", onclick: () => signOut().then(start) }, "Sign out");
  return h("p", { class: "muted apart" }, `Signed in as ${analyst} (${role}). `, button);
}

addEventListener("surehold-denied", (event) => showSignIn(root, event.detail, start));

if (refused) showSignIn(root, refused, start);
else start();
