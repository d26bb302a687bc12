// Parts that several views share: notices, refusals, links to JSON, the budget meter.

import { get } from "./api.js";
import { h, fill } from "./dom.js";
import { count, several } from "./formatting.js";

const MOST_LISTED = 8;

/** A highlighted message; `kind` is plain or trouble, and its title says which in words. */
export function notice(kind, title, ...children) {
  return h("div", { class: `notice ${kind}` }, h("strong", {}, title), " ", children);
}

/** A refusal in the service's own words. */
export function refusalBox(refusal, again = null) {
  // Some messages name their kind first ("invalid query: ..."); the status gives the others a title.
  const [, kind, rest] = /^([a-z]+ [a-z]+): (.*)$/s.exec(refusal.message) ?? [];
  const title = { 0: "Offline:", 409: "Not ready:" }[refusal.status] ?? "Refused:";
  const wait = refusal.retryAfter == null ? null : ` Try again in ${refusal.retryAfter} s.`;
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

/** A link to the JSON of what is shown. */
export function jsonLink(path, text = "JSON") {
  return h("a", { href: path, class: "json", onclick: (event) => openJson(event, path) }, text);
}

/** Show JSON in a dialog; with a modifier key the link opens as links do. */
export async function openJson(event, path) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
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

/** The budget as a bar, with the spent and remaining shares as its label. */
export function meter({ display, spent, total }) {
  const bar = h("span", { class: "meter-spent", hidden: spent === 0 });
  bar.style.width = total > 0 ? `${Math.min((100 * spent) / total, 100)}%` : "0";
  return h("div", { class: "meter", role: "img", "aria-label": `Budget: ${display.spent} spent, ${display.remaining} left` }, bar);
}

/** What each analyst has spent, and what is reserved for whom. */
export function spenders({ by_analyst: analysts }) {
  const listed = analysts.slice(0, MOST_LISTED);
  const rest = analysts.length - listed.length;
  const row = (one) => {
    const kept = one.display.reserved ? `, ${one.display.reserved} reserved` : "";
    return h("div", {}, h("dt", { class: "long" }, one.analyst), h("dd", {}, h("b", {}, one.display.spent), " ", h("span", { class: "muted" }, `in ${several(one.answers, "answer")}${kept}`)));
  };
  return [listed.length > 0 && h("dl", { class: "buys", "data-name": "analysts" }, listed.map(row)), rest > 0 && h("p", { class: "muted" }, `and ${several(rest, "other analyst")}`)];
}

/** The guarantee in one sentence. */
export function promise({ display, guard }) {
  if (guard === "surprise") return `With probability ${display.confidence}, every interval of the whole analysis contains its true value, however the questions are chosen and by how many analysts. Answers cost bits: the less expected, the more.`;
  return `With probability ${display.confidence}, every answer of the whole analysis is correct: each fraction is within ${display.width} of its true value, each mean within the same share of its range, and each rate or other ratio within the interval shown with it.`;
}

/** The way to the next question, for those who may ask. */
export const askLink = ({ role }) => role !== "viewer" && h("p", {}, h("a", { class: "main", href: "/ask" }, "Ask a question"));

/** Why nothing can be asked now, or null; `me` is the caller with what their limit has left. */
export function statusNotice(status, me = null) {
  if (status.successor) return notice("plain", "Closed.", `${sentence(status.advice)} Answers can be read, and not asked.`);
  if (status.n === 0) {
    const first = status.first_round === undefined ? "some" : count(status.first_round);
    return notice("plain", "No records yet.", `You can ask once there are ${first}. Add them with `, h("code", {}, "surehold append"), ".");
  }
  if (status.last_round < status.n) return notice("plain", "Plan complete:", `it ends at ${count(status.last_round)} records; while budget is left, you can ask at round ${count(status.last_round)}.`);
  if (!status.ready) return notice("plain", "Not ready.", `${sentence(status.advice)}`);
  if (status.answers_left === 0) {
    const later = status.round < status.last_round ? " More records may allow more answers; see below." : " No further answers fit within the plan.";
    return notice("trouble", "Budget exhausted", `at round ${count(status.round)}.${later} Earlier answers remain valid.`);
  }
  if (me?.limit && (!/[1-9]/.test(me.limit.display.remaining) || me.limit.answered >= me.limit.answers)) {
    return notice("trouble", "Your limit is reached.", "You can read, quote, and ask again what was answered. Ask the custodian for more.");
  }
  return null;
}

/** What stands in for content that is on its way; index.html begins with the same. */
export function skeleton() {
  return h("div", { class: "skeleton" }, h("p", { class: "muted" }, "Loading …"), h("i"), h("i"), h("i"));
}

/** Show that content is on its way. */
export function showLoading(element) {
  return fill(element, skeleton());
}

function sentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "";
}
