// For people who write programs: the JSON behind every view, and how to reach it from elsewhere.

import { ROOT, fill, h } from "./dom.js";
import { jsonLink } from "./parts.js";
import { isSurprise } from "./surprise.js";

const TWINS = {
  "/v1/status": "size, answers, and what is spent",
  "/v1/schema": "columns and their types",
  "/v1/me": "who you are, and your limit",
  "/v1/transcript?newest=true": "answers, newest first, page by page",
  "/v1/histories": "saved questions over time",
  "/v1/dashboard": "saved questions, with units and gates",
  "/v1/growth": "how the data grew",
  "/v1/models": "uploaded models",
  "/v1/tables": "uploaded predictions",
};
const OF_A_PLAN = { "/v1/plan": "the plan", "/v1/outlook": "what the rest of the budget buys", "/v1/rounds": "what was spent at each round" };

export const title = "Developers";

export class View {
  constructor(root, context) {
    const address = location.origin + ROOT;
    const twins = { ...TWINS, ...(isSurprise(context.status) ? {} : OF_A_PLAN) };
    const code = (label, text) => [h("h3", {}, label), h("pre", { class: "query", tabindex: "0", role: "region", "aria-label": label }, text)];
    fill(
      root,
      h("h1", { tabindex: "-1" }, "Developers"),
      h("p", {}, "Everything on these pages comes as JSON that programs can read, with a token like yours."),
      h("h2", { class: "apart" }, "JSON"),
      h("ul", { class: "twins" }, Object.entries(twins).map(([path, about]) => h("li", {}, jsonLink(path, path), " ", h("span", { class: "muted" }, about)))),
      h("p", {}, h("a", { href: "/openapi.json" }, "API reference (OpenAPI)"), " · ", h("a", { href: "/metrics" }, "Metrics for Prometheus")),
      h("h2", { class: "apart" }, "From elsewhere"),
      code("Command line", `surehold ask ${address} "QUESTION" --token-file token.txt`),
      code("Python", `import surehold as sh\n\nsession = sh.connect("${address}", token="...")\nsession.ask("QUESTION")`),
      code("HTTP", `curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n  -d '{"query": "QUESTION"}' ${address}/v1/quote`),
      code("Agents (MCP)", JSON.stringify({ mcpServers: { surehold: { command: "surehold", args: ["mcp", address], env: { SUREHOLD_TOKEN: "..." } } } })),
    );
  }

  start() {}
}
