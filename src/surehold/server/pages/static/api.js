// Every request goes through here, and every failure has one shape. The browser adds the cookie of the person signed in.

import { ROOT } from "./dom.js";

const OWN = { "X-Surehold-Page": "1" }; // no page of another origin can send it, so that none can use the cookie
let era = 0; // counts who is signed in, so that a late refusal of the one before signs nobody out
let arrival = signInFromAddress();

/** A refused or failed request: type, message and details as the service sent them. */
class Refusal extends Error {
  constructor(status, error, retryAfter = null) {
    super(error.message);
    this.status = status;
    this.type = error.type;
    this.details = error.details ?? {};
    this.retryAfter = retryAfter;
  }

  /** Whether the request may or may not have been carried out; retrying with the same key is safe. */
  get isLost() {
    return this.status === 0 || this.status >= 500;
  }
}

/** Sign this browser in with a token, which the service puts into a cookie that no script can read. */
export async function signIn(token) {
  era += 1;
  arrival = null;
  await request("/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
}

/** Sign this browser out; if that is refused, nobody was signed in. */
export async function signOut() {
  era += 1;
  await request("/v1/session", { method: "DELETE" }).catch(() => null);
}

export function get(path, signal) {
  return send(path, { signal });
}

export function post(path, body, { signal, key } = {}) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers["Idempotency-Key"] = key;
  return send(path, { method: "POST", body: JSON.stringify(body), headers, signal });
}

/** Send a file as it is. */
export function upload(path, file, type) {
  return send(path, { method: "POST", body: file, headers: { "Content-Type": type } });
}

export function remove(path) {
  return send(path, { method: "DELETE" });
}

/** A path with those parameters that have a value. */
export function pathOf(path, parameters) {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const query = new URLSearchParams(given).toString();
  return query ? `${path}?${query}` : path;
}

/** The refusal in a response that is not a success. */
export async function refusalOf(response) {
  const body = await response.json().catch(() => null);
  const wait = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  return new Refusal(
    response.status,
    body?.error ?? { type: "ServiceFailed", message: `the service responded with status ${response.status}` },
    Number.isFinite(wait) ? wait : null,
  );
}

/** Save what a path gives, or a blob, as a file. */
export async function download(what, name) {
  const blob = typeof what === "string" ? await send(what, { headers: { Accept: "*/*" } }, (response) => response.blob()) : what;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function send(path, options, read = (response) => response.json()) {
  const then = era;
  try {
    await arrival;
    const response = await request(path, options);
    return await read(response).catch(lost("the response was cut off; the service or the network may be down"));
  } catch (refusal) {
    if (refusal.status === 401 && then === era) dispatchEvent(new CustomEvent("surehold-denied", { detail: refusal }));
    throw refusal;
  }
}

async function request(path, options) {
  const headers = { Accept: "application/json", ...OWN, ...options.headers };
  const response = await fetch(ROOT + path, { ...options, headers, cache: "no-store" }).catch(
    lost("cannot reach the service; it or the network may be down"),
  );
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** What no response came to, unless the page itself gave up on it. */
function lost(message) {
  return (error) => {
    throw error.name === "AbortError" ? error : new Refusal(0, { type: "ServiceFailed", message });
  };
}

/** Sign in with the token in the address, if there is one, and remove it there. */
async function signInFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  history.replaceState(null, "", location.pathname + location.search);
  await request("/v1/session", { method: "POST", headers: { Authorization: `Bearer ${given}` } });
}
