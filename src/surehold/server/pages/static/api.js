// Every request goes through here, with the token, and every failure has one shape.

import { ROOT } from "./dom.js";

const TOKEN = "surehold-token";
let token = initialToken();

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

export function hasToken() {
  return token !== null;
}

/** Keep a token while this tab is open; null forgets it. */
export function signIn(given) {
  token = given;
  try {
    if (given === null) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, given);
  } catch {
    // Without storage the token lasts until the page is closed.
  }
}

/** Headers that authenticate the caller. */
export function credentials() {
  return token === null ? {} : { Authorization: `Bearer ${token}` };
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
  const used = token;
  const headers = { Accept: "application/json", ...credentials(), ...options.headers };
  const response = await fetch(ROOT + path, { ...options, headers, cache: "no-store" }).catch(
    lost("cannot reach the service; it or the network may be down"),
  );
  if (!response.ok) {
    const refusal = await refusalOf(response);
    // When several requests carry one bad token, only the first reports it.
    if (refusal.status === 401 && used === token) dispatchEvent(new CustomEvent("surehold-denied", { detail: refusal }));
    throw refusal;
  }
  return read(response).catch(lost("the response was cut off; the service or the network may be down"));
}

/** What no response came to, unless the page itself gave up on it. */
function lost(message) {
  return (error) => {
    throw error.name === "AbortError" ? error : new Refusal(0, { type: "ServiceFailed", message });
  };
}

/** The token from the address, where it is then removed, or from this tab's storage. */
function initialToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  try {
    if (given) {
      sessionStorage.setItem(TOKEN, given);
      history.replaceState(null, "", location.pathname + location.search);
    }
    return given ?? sessionStorage.getItem(TOKEN);
  } catch {
    return given;
  }
}
