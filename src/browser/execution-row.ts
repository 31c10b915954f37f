import { el } from "./element.ts";
import { between, duration, time } from "./format.ts";
import { pagePath } from "./page.ts";
import type { ExecutionSummary } from "./resources.ts";
import { statusBadge } from "./status.ts";

/** An execution in a list: status, what it was, when, how long, and what it said. */
export function executionRow(execution: ExecutionSummary): HTMLTableRowElement {
  const { id, status, webhook, flow, status_message, created_at } = execution;
  const took = between(execution.started_at, execution.ended_at);
  const source = webhook === null ? `flow ${flow}` : webhook;
  return el(
    "tr",
    { "data-id": id },
    el("td", {}, statusBadge(status)),
    el(
      "th",
      { scope: "row" },
      el("a", { href: pagePath("executions", id) }, source),
      status_message ? el("p", { class: "soft line" }, status_message) : null,
    ),
    el("td", { class: "wide" }, flow),
    el("td", {}, time(created_at)),
    el("td", { class: "wide figure" }, duration(took)),
  );
}

const EXECUTION_COLUMNS = ["Status", "Called", "Flow", "When", "Took"];

export function executionTable(items: readonly ExecutionSummary[]): HTMLElement {
  const heads = EXECUTION_COLUMNS.map((name) =>
    el("th", { scope: "col", class: name === "Flow" || name === "Took" ? "wide" : "" }, name),
  );
  const table = el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...heads)),
    el("tbody", {}, ...items.map(executionRow)),
  );
  return el(
    "div",
    { class: "scroll", role: "region", "aria-label": "Executions", tabindex: 0 },
    table,
  );
}
