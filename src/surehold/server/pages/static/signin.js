// A box for the token, when the service asks for one.

import { signIn } from "./api.js";
import { fill, h } from "./dom.js";

export function showSignIn(root, refusal, onDone) {
  const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-help" });
  const submit = (event) => {
    event.preventDefault();
    const token = input.value.trim();
    // A header takes no more than visible ASCII; anything else is no token anyway.
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
      h("p", {}, "This dataset is asked with a token. Its custodian makes one: ", h("code", {}, "surehold token create")),
      refusal.wasTried && h("p", { class: "notice trouble", role: "alert" }, h("strong", {}, "Access denied."), ` ${refusal.message}`),
      h(
        "form",
        { onsubmit: submit },
        h("div", { class: "field" }, h("label", { for: "token" }, "Token"), input, h("p", { id: "token-help", class: "muted" }, "It is kept in this tab until you close it or sign out.")),
        h("button", { type: "submit", class: "main" }, "Sign in"),
      ),
    ),
  );
  input.focus();
}
