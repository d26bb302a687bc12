// The door: every request goes through here, with the token, and every failure has one shape.

const TOKEN = "surehold-token";
let token = taken();

/** What the service refused, or what came in between: type, message and details as it sent them. */
export class Refusal extends Error {
  constructor(status, error, retryAfter = null) {
    super(error.message);
    this.status = status;
    this.type = error.type;
    this.details = error.details ?? {};
    this.retryAfter = retryAfter;
  }

  /** Whether nobody knows if it was done, so that trying again with the same key is right. */
  get isLost() {
    return this.status === 0 || this.status >= 500;
  }
}

export function hasToken() {
  return token !== null;
}

/** Keep a token for as long as this tab is open; null forgets it. */
export function signIn(given) {
  token = given;
  try {
    if (given === null) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, given);
  } catch {
    // Without storage it lasts until the page is left.
  }
}

/** Headers that say who asks. */
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

/** A path with the parameters that are said. */
export function pathOf(path, parameters) {
  const said = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const query = new URLSearchParams(said).toString();
  return query ? `${path}?${query}` : path;
}

/** What a response that is no success says. */
export async function refusalOf(response) {
  let error;
  try {
    ({ error } = await response.json());
  } catch {
    error = null;
  }
  const wait = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  return new Refusal(
    response.status,
    error ?? { type: "ServiceFailed", message: `the service answered ${response.status}` },
    Number.isFinite(wait) ? wait : null,
  );
}

async function send(path, options) {
  let response;
  const used = token;
  try {
    response = await fetch(path, {
      ...options,
      headers: { Accept: "application/json", ...credentials(), ...options.headers },
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const message = "the service cannot be reached; it may be down, or the network is";
    throw new Refusal(0, { type: "ServiceFailed", message });
  }
  if (!response.ok) {
    const refusal = await refusalOf(response);
    // Of several requests with one bad token the first says so; later ones are old news.
    if (refusal.status === 401 && used === token) dispatchEvent(new CustomEvent("surehold-denied", { detail: refusal }));
    throw refusal;
  }
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const message = "the service's answer broke off; it may be down, or the network is";
    throw new Refusal(0, { type: "ServiceFailed", message });
  }
}

/** The token from the address, which is cleared of it, or from this tab's storage. */
function taken() {
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
