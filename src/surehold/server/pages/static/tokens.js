// For custodians: who has access, with tokens that can be created and revoked.

import { get, post, remove } from "./api.js";
import { ROOT, choice, fill, h } from "./dom.js";
import { moment, several } from "./formatting.js";
import { refusalBox } from "./parts.js";

const ROLES = {
  analyst: "analyst: asks",
  viewer: "viewer: only reads",
  submitter: "submitter: only submits to the leaderboard",
  appender: "appender: only appends records",
  custodian: "custodian: all this, and manages tokens",
};
const LIFETIMES = { "90d": "90 days", "12h": "12 hours", "7d": "7 days", "30d": "30 days", "52w": "a year", never: "no end" };
const EVERY = "*";

export const title = "Tokens";

/** The tokens of a dataset or, with `datasets`, those of a server that cover several of them. */
export class View {
  constructor(root, { me, datasets = null }) {
    Object.assign(this, { me, datasets, unit: me.guard === "surprise" ? "bits" : "share" });
    this.list = h("div", {});
    this.news = h("div", { role: "status" });
    fill(
      root,
      h("h1", { tabindex: "-1" }, title),
      h("p", {}, datasets ? "These tokens cover several datasets of this server." : "Everyone who calls this dataset has one of these tokens.", " Only a hash of each is stored."),
      !datasets && /\/d\/[^/]+$/.test(ROOT) && h("p", { class: "muted" }, "Tokens that cover several datasets are listed at the root of the server."),
      h("details", { class: "more" }, h("summary", {}, "Create a token"), this.form()),
      this.news,
      this.list,
    );
  }

  async start() {
    try {
      this.draw((await get("/v1/tokens")).tokens);
    } catch (refusal) {
      fill(this.list, refusalBox(refusal, () => this.start()));
    }
  }

  leave() {
    fill(this.news); // a token is shown once
  }

  form() {
    const analyst = h("input", { required: true, maxlength: "200", autocomplete: "off" });
    const role = choice(ROLES);
    const expires = choice(LIFETIMES);
    const isShare = this.unit === "share";
    const limit = h("input", { type: "number", min: "0", max: isShare ? "100" : "1000000", step: "any", inputmode: "decimal" });
    const boxes = (this.datasets ?? []).map((name) => h("input", { type: "checkbox", value: name }));
    role.addEventListener("change", () => {
      limit.disabled = ["viewer", "appender"].includes(role.value);
    });
    const submit = async (event) => {
      event.preventDefault();
      const body = { analyst: analyst.value.trim(), role: role.value, expires: expires.value };
      if (!limit.disabled && limit.value) body.limit = Number(limit.value) / (isShare ? 100 : 1);
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      if (chosen.length) body.datasets = chosen;
      await this.create(event.target, body);
    };
    return h(
      "form",
      { class: "token-form", onsubmit: submit },
      field("Analyst", analyst, "The name that the ledger records"),
      field("Role", role),
      field("Valid for", expires),
      !this.datasets && field(isShare ? "Limit, % of the budget" : "Limit, bits", limit, "Left empty: all that is left"),
      boxes.length > 0 && h("fieldset", {}, h("legend", {}, "Datasets"), boxes.map((box) => h("label", {}, box, " ", box.value)), h("p", { class: "muted" }, "None chosen: all of them, and later ones")),
      h("div", {}, h("button", { type: "submit", class: "main" }, "Create")),
    );
  }

  async create(form, body) {
    try {
      const { token, ...made } = await post("/v1/tokens", body);
      form.reset();
      form.closest("details").open = false;
      fill(this.news, shownOnce(made, token));
      this.news.querySelector("button").focus();
    } catch (refusal) {
      return fill(this.news, refusalBox(refusal));
    }
    return this.start();
  }

  draw(tokens) {
    const valid = tokens.filter((one) => one.state === "valid").reverse();
    const ended = tokens.filter((one) => one.state !== "valid").reverse();
    const lines = (some) => h("ul", { class: "tokens" }, some.map((one) => this.line(one)));
    fill(
      this.list,
      h("h2", { class: "apart" }, valid.length ? several(valid.length, "valid token") : "No valid tokens"),
      valid.length > 0 && lines(valid),
      ended.length > 0 && h("details", { class: "more" }, h("summary", {}, `${several(ended.length, "token")} expired or revoked`), lines(ended)),
    );
  }

  line(token) {
    const { id, analyst, role, datasets, account, state } = token;
    const ends = token.expires ? moment(token.expires) : null;
    const when = { valid: ends ? `until ${ends}` : "no end", expired: `expired ${ends}`, revoked: `revoked ${moment(token.revoked ?? token.created)}` }[state];
    const where = datasets && (datasets.includes(EVERY) ? "all datasets" : datasets.join(", "));
    const isOwn = id === this.me.token;
    const about = [role, limitOf(token), where, when, account && `signed in with account ${account}`].filter(Boolean).join(" · ");
    const act = h("div", {});
    const line = h("li", {}, h("div", {}, h("b", {}, analyst), isOwn && " (you)", h("small", { class: "muted" }, about)), act);
    const offer = () => fill(act, h("button", { type: "button", class: "quiet", "aria-label": `Revoke the token of ${analyst}`, onclick: confirm }, "Revoke"));
    const confirm = () => {
      fill(act, h("span", {}, isOwn ? "You will be signed out." : "It stops at once."), h("button", { type: "button", class: "quiet danger", onclick: () => this.revoke(token) }, "Revoke it"), h("button", { type: "button", class: "quiet", onclick: () => offer().firstChild.focus() }, "Keep it"));
      act.querySelector("button").focus();
    };
    if (state === "valid") offer();
    return line;
  }

  async revoke({ id, analyst }) {
    try {
      await remove(`/v1/tokens/${id}`);
      fill(this.news, h("p", { class: "notice plain" }, `The token of ${analyst} is revoked.`));
    } catch (refusal) {
      fill(this.news, refusalBox(refusal));
    }
    return this.start();
  }
}

function field(label, input, help = null) {
  input.id = `token-${label.split(/\W/)[0].toLowerCase()}`;
  if (help) input.setAttribute("aria-describedby", `${input.id}-help`);
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input, help && h("p", { class: "muted", id: `${input.id}-help` }, help));
}

function limitOf({ limit, unit }) {
  if (limit === null) return null;
  return `up to ${limit} ${unit === "bits" ? "bits" : "of the budget"}`;
}

function shownOnce({ analyst, role }, text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(shown); // a page without TLS has no clipboard
      button.textContent = "Selected: copy it now";
    }
  };
  const shown = h("code", { class: "long" }, text);
  const button = h("button", { type: "button", onclick: copy }, "Copy");
  return h("div", { class: "notice plain" }, h("strong", {}, `The token of ${analyst} (${role}):`), h("p", {}, shown), h("p", {}, button, " ", h("small", {}, "Send it over a private channel. It is not shown again.")));
}
