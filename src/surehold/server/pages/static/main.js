// The shell: signs the user in, shows the view that the address names, and follows the service's events.

import * as answer from "./answer.js";
import { get, signOut } from "./api.js";
import * as ask from "./ask.js";
import * as developers from "./developers.js";
import { ROOT, fill, h } from "./dom.js";
import { follow } from "./events.js";
import * as explore from "./explore.js";
import { moment } from "./formatting.js";
import * as lab from "./lab.js";
import * as missing from "./missing.js";
import * as overview from "./overview.js";
import { refusalBox, showLoading } from "./parts.js";
import { showSignIn } from "./signin.js";
import { isSurprise } from "./surprise.js";
import * as tokens from "./tokens.js";
import * as transcript from "./transcript.js";

const VIEWS = { "/": overview, "/ask": ask, "/transcript": transcript, "/answer": answer, "/explore": explore, "/lab": lab, "/tokens": tokens, "/developers": developers };
const QUIET = 400; // ms between two updates, however many events arrive
const SLOW = 300; // ms after which a view that is not there yet says so

const root = document.getElementById("main");
const connection = document.getElementById("connection");
const state = { me: null, status: null, view: null, path: null, stop: null, turn: 0, isOut: false, isDown: false, isStale: false };

async function start() {
  state.stop?.();
  state.view?.leave?.();
  Object.assign(state, { me: null, status: null, view: null, path: null, stop: null, isOut: false });
  if (!root.querySelector(".skeleton")) showLoading(root);
  try {
    [state.me, state.status] = await Promise.all([get("/v1/me"), get("/v1/status")]);
  } catch (refusal) {
    if (refusal.status === 401) return; // the sign-in form is already shown
    if (refusal.status === 404) return onDenied(refusal); // signed in, but not for this dataset
    fill(root, h("h1", { tabindex: "-1" }, "Surehold"), refusalBox(refusal, start));
    connect(refusal.isLost); // start over once the service is back
    return;
  }
  drawWho();
  connect(false);
  await route();
}

/** Follow the service's events; with `restart`, the first one starts the page over. */
function connect(restart) {
  if (state.me?.role === "appender") return; // who appends sees no answers, nor that they come
  state.stop = follow(
    (status) => (restart && !state.status ? start() : onStatus(status)),
    (now) => {
      // Announce it once, not at every attempt: a screen reader reads out each change.
      if (state.isDown && now === "connecting") return;
      state.isDown = now === "waiting";
      state.isStale ||= state.isDown;
      connection.dataset.state = now;
      connection.textContent = { connecting: "connecting", live: "live", waiting: "offline, reconnecting", denied: "signed out" }[now];
      if (now === "denied") onDenied({ message: "not authenticated: the token is no longer valid" });
    },
  );
}

let timer = null;
let newest = null;
let running = false;

/** Update the view, but not more often than it can draw. */
function onStatus(status) {
  // After an outage a view may show an error, so it is redrawn even if nothing has changed.
  if (!state.isStale && state.status?.head === status.head && newest === null) return;
  state.isStale = false;
  newest = status;
  state.status = status;
  if (timer !== null || running) return;
  timer = setTimeout(async () => {
    timer = null;
    const latest = newest;
    newest = null;
    running = true;
    try {
      await state.view?.update?.(latest);
    } finally {
      running = false;
      if (newest !== null) onStatus(newest);
    }
  }, QUIET);
}

async function route() {
  if (state.isOut) return null; // the sign-in form stays, whatever is clicked
  const url = new URL(location.href);
  const hidden = hiddenViews();
  for (const link of document.querySelectorAll("header nav a")) link.hidden = hidden.some((path) => link.getAttribute("href") === ROOT + path);
  const named = viewOf(url) ?? url.pathname;
  const isOpen = named === "/explore" && !isSurprise(state.status); // anyone may follow a link to a plan
  const path = hidden.includes(named) && !isOpen ? "/" : named;
  const shown = VIEWS[path] ?? missing;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === ROOT + path) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${shown.title} · ${state.status.name} · Surehold`;
  if (state.view?.navigate && state.path === path) return state.view.navigate(url);
  const turn = ++state.turn;
  const slow = setTimeout(() => turn === state.turn && showLoading(root), SLOW);
  state.view?.leave?.();
  state.view = null;
  state.path = path;
  const page = h("div", { class: "view" });
  const view = new shown.View(page, { url, me: state.me, status: state.status, go, twin });
  try {
    await view.start();
  } catch (refusal) {
    if (refusal.status === 401) return null; // signed out in another tab; the form is already shown
    throw refusal;
  } finally {
    clearTimeout(slow);
  }
  if (turn !== state.turn) return view.leave?.(); // the user has moved on
  state.view = view;
  fill(root, page);
  return null;
}

/** Views that the caller has no use for: plans are explored under the noise guard, by the custodian. */
function hiddenViews() {
  const isCustodian = state.me.role === "custodian";
  const plans = !isSurprise(state.status) && (isCustodian || state.me.token === null);
  const isAppender = state.me.role === "appender";
  return [!plans && "/explore", ...(isCustodian ? [] : ["/lab", "/tokens"]), ...(isAppender ? ["/ask", "/transcript", "/answer"] : [])].filter(Boolean);
}

/** The view that an address below `root` names; null if it is none of this page's. */
function viewOf(url, root = ROOT) {
  const path = url.pathname.startsWith(root) ? url.pathname.slice(root.length) || "/" : null;
  return path in VIEWS ? path : null;
}

/** Go to another address of this page. */
async function go(href, { replace = false } = {}) {
  const moved = viewOf(new URL(href, location.href), "") !== viewOf(new URL(location.href));
  history[replace ? "replaceState" : "pushState"](null, "", ROOT + href);
  await route();
  if (moved) {
    scrollTo(0, 0);
    root.querySelector("h1")?.focus({ preventScroll: true });
  }
}

/** Link to this view's JSON in the head, for programs; people have the view for developers. */
function twin(path) {
  document.getElementById("twin").href = ROOT + path;
}

function drawWho() {
  const { analyst, role, expires, token } = state.me;
  const until = expires ? `, until ${moment(expires)}` : "";
  const leave = token && h("button", { type: "button", class: "quiet", onclick: () => signOut().then(start) }, "Sign out");
  fill(document.getElementById("who"), `Signed in as ${analyst} (${role}${until}). `, leave);
}

/** The service did not authenticate the caller: ask for a token. */
function onDenied(refusal) {
  if (state.isOut) return;
  state.isOut = true;
  state.stop?.();
  state.view?.leave?.();
  Object.assign(state, { view: null, stop: null, turn: state.turn + 1 });
  connection.dataset.state = "denied";
  connection.textContent = "signed out";
  fill(document.getElementById("who"));
  document.title = "Sign in · Surehold";
  showSignIn(root, refusal, start);
}

addEventListener("surehold-denied", (event) => onDenied(event.detail));
// Browsers allow few connections to one host, so a hidden tab closes its own.
document.addEventListener("visibilitychange", () => {
  if (!state.status) return;
  state.stop?.();
  state.stop = null;
  if (!document.hidden) connect(false);
});
addEventListener("popstate", () => state.status && route());
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !viewOf(url) || url.hash || !state.status) return;
  event.preventDefault();
  go(viewOf(url) + url.search);
});

start();
