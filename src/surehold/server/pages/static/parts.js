// Pieces that several views show: notices, refusals, links to JSON, the meter of the budget.

import { get, hasToken } from "./api.js";
import { h, fill } from "./dom.js";
import { count, percent, shareLeft, shareSpent, width } from "./formatting.js";

/** A sentence that stands out; `kind` is plain, good or trouble, and a word says which. */
export function notice(kind, title, ...children) {
  return h("div", { class: `notice ${kind}` }, h("strong", {}, title), " ", children);
}

/** What the service refused, in its own words. */
export function refusalBox(refusal, again = null) {
  // Some messages begin with what they are; the others are told by their status.
  const [, kind, rest] = /^(invalid query|not authenticated|permission denied|request refused): (.*)$/s.exec(refusal.message) ?? [];
  const title = { 0: "No connection:", 409: "Not ready:" }[refusal.status] ?? "Refused:";
  const wait = refusal.retryAfter === null ? null : ` Try again in ${Math.ceil(refusal.retryAfter)} s.`;
  return h(
    "div",
    { class: "notice trouble" },
    h("strong", {}, kind ? `${kind[0].toUpperCase()}${kind.slice(1)}:` : title),
    " ",
    h("span", { class: "long" }, rest ?? refusal.message),
    wait,
    again && h("p", {}, h("button", { type: "button", onclick: again }, "Try again")),
  );
}

/** A link to the JSON of what is shown; with a token it has to be fetched, as a link sends none. */
export function jsonLink(path, text = "JSON") {
  return h("a", { href: path, class: "json", onclick: (event) => openJson(event, path) }, text);
}

/** Show JSON in a dialog where a plain link would be refused. */
export async function openJson(event, path) {
  if (!hasToken() || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const dialog = document.getElementById("json");
  const text = dialog.querySelector("pre");
  dialog.querySelector("h2").textContent = path;
  text.textContent = "…";
  dialog.showModal();
  try {
    text.textContent = JSON.stringify(await get(path), null, 2);
  } catch (refusal) {
    text.textContent = refusal.message;
  }
}

/** The budget as a bar: what is spent, what is left, in words beside it. */
export function meter(budget, label = "Budget") {
  const spent = budget.total > 0 ? Math.min(budget.spent / budget.total, 1) : 0;
  const words = `${shareSpent(budget.spent, budget.total)} spent, ${shareLeft(budget.remaining, budget.total)} left`;
  const bar = h("div", { class: "meter", role: "img", "aria-label": `${label}: ${words}` });
  const done = h("span", { class: "meter-spent" });
  done.style.width = `${100 * spent}%`;
  done.hidden = spent === 0;
  bar.append(done);
  return bar;
}

/** What is promised, in one sentence. */
export function promise(status) {
  return `With probability ${percent(status.beta)} all answers of the whole analysis hold together: every fraction within ± ${width(status.width)}, means in proportion to their range; rates and other quotients have the interval that they show.`;
}

/** Why nothing can be asked now, if so; else null. */
export function standing(status) {
  if (status.n === 0) {
    const first = count(status.first_round);
    return notice("plain", "No records yet.", `The first question can be asked at ${first} records. `, h("code", {}, "surehold append"), " brings them.");
  }
  if (!status.ready) return notice("plain", "Not ready.", `${sentence(status.advice)}`);
  if (status.answers_left === 0) {
    const later = status.round < status.last_round ? " More may fit when there are more records: what they buy is below." : " No more answers fit before the plan ends.";
    return notice("trouble", "Budget exhausted", `at this round, ${count(status.round)}.${later} What was answered stays, and holds.`);
  }
  return null;
}

/** Replace what an element shows by a line that something is on its way. */
export function waiting(element, what = "Loading …") {
  return fill(element, h("p", { class: "muted" }, what));
}

function sentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "";
}
