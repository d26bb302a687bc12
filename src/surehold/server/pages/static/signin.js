// The form for the token, shown when the service requires one.

import { signIn } from "./api.js";
import { fill, h } from "./dom.js";
import { refusalBox } from "./parts.js";

/** Ask for a token; `refusal` says why the last one was not accepted, or is null. */
export function showSignIn(root, refusal, onDone) {
  const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-help" });
  const submit = (event) => {
    event.preventDefault();
    const token = input.value.trim();
    // A header holds only visible ASCII; anything else is not a token anyway.
    if (!/^[\x21-\x7e]+$/.test(token)) {
      input.setAttribute("aria-invalid", "true");
      return;
    }
    signIn(token);
    onDone();
  };
  fill(
    root,
    h(
      "div",
      { class: "signin" },
      h("h1", { tabindex: "-1" }, "Sign in"),
      h("p", {}, "You need a token to use this dataset. Its custodian creates one with ", h("code", {}, "surehold token create"), "."),
      refusal && h("div", { role: "alert" }, refusalBox(refusal)),
      h(
        "form",
        { onsubmit: submit },
        h("div", { class: "field" }, h("label", { for: "token" }, "Token"), input, h("p", { id: "token-help", class: "muted" }, "Kept in this tab until you close it or sign out.")),
        h("button", { type: "submit", class: "main" }, "Sign in"),
      ),
    ),
  );
  input.focus();
}
