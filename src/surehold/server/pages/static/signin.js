// The form to sign in, shown when the service requires a token or refuses the one it got.

import { signIn } from "./api.js";
import { ROOT, fill, h } from "./dom.js";
import { refusalBox } from "./parts.js";

const { provider, label } = document.body.dataset;

/** Ask for a token, or for an account; `refusal` says why the last one was not accepted, or is null. */
export function showSignIn(root, refusal, onDone) {
  const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-help" });
  const submit = async (event) => {
    event.preventDefault();
    const token = input.value.trim();
    // A header holds only visible ASCII; anything else is not a token anyway.
    if (!/^[\x21-\x7e]+$/.test(token)) {
      input.setAttribute("aria-invalid", "true");
      return;
    }
    try {
      await signIn(token);
    } catch (refused) {
      return showSignIn(root, refused, onDone);
    }
    onDone();
  };
  const isFirst = refusal?.details?.reason?.endsWith("needs a token"); // nothing was tried yet
  fill(
    root,
    h(
      "div",
      { class: "signin" },
      h("h1", { tabindex: "-1" }, "Sign in"),
      refusal && !isFirst && h("div", { role: "alert" }, refusalBox(refusal)),
      provider && h("p", {}, withAccount()),
      h("p", {}, provider ? "Or sign in with a token, which the custodian creates with " : "You need a token, which the custodian creates with ", h("code", {}, "surehold token create"), "."),
      h(
        "form",
        { onsubmit: submit },
        h("div", { class: "field" }, h("label", { for: "token" }, "Token"), input, h("p", { id: "token-help", class: "muted" }, "This browser stays signed in until you sign out, or the token ends.")),
        h("button", { type: "submit", class: provider ? null : "main" }, "Sign in"),
      ),
    ),
  );
  input.focus();
}

/** The way to the provider, and back to this page. */
function withAccount() {
  const link = h("a", { class: "main" }, `Sign in with ${label}`);
  link.href = `${provider}?then=${encodeURIComponent(location.pathname + location.search)}`; // of the server, not of a dataset
  return link;
}

/** Why a provider's sign-in was refused, if this page came instead; its address, with the code, is replaced. */
export function refusalHere() {
  const { refused } = document.body.dataset;
  if (!refused) return null;
  delete document.body.dataset.refused;
  history.replaceState(null, "", `${ROOT}/`);
  return { message: refused, status: 401 };
}
