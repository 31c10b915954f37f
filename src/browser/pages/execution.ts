import { whyUnsent } from "../../shared/unsent.ts";
import { read, type List } from "../api.ts";
import { copyButton } from "../copy.ts";
import { el, need, type Child } from "../element.ts";
import { actsOf } from "../execution-acts.ts";
import { between, duration, exactTime } from "../format.ts";
import { jsonView } from "../json-view.ts";
import { follow } from "../live.ts";
import { openLogView, type LogView } from "../log-view.ts";
import { complain } from "../notice.ts";
import { PARAMS, pagePath } from "../page.ts";
import type { Execution, ExecutionSummary, LogLine } from "../resources.ts";
import { start } from "../start.ts";
import { isEnded } from "../../shared/contract/status.ts";
import { badge, statusBadge } from "../status.ts";

const ID = PARAMS["id"] ?? "";

start(async () => {
  const log = openLogView();
  need("#log", HTMLElement).append(log.element);
  const execution = await read<Execution>(["execution", ID]);
  show(execution);
  if (isEnded(execution.status)) await showWholeLog(log);
  else followIt(log);
});

/** Lines and states as they come; at the end everything is read once more. */
function followIt(log: LogView): void {
  let last = 0;
  const live = follow(["execution", ID, "events"], {
    // After an interruption lines may come twice.
    log: (data, id) => {
      if (Number(id) <= last) return;
      last = Number(id);
      log.add(data as LogLine);
    },
    status: (data) => {
      const { status } = data as ExecutionSummary;
      if (isEnded(status)) live.close();
      refresh(isEnded(status) ? log : null).catch(complain);
    },
  });
}

async function refresh(log: LogView | null): Promise<void> {
  show(await read<Execution>(["execution", ID]));
  if (log !== null) await showWholeLog(log);
}

async function showWholeLog(log: LogView): Promise<void> {
  const lines: LogLine[] = [];
  let cursor: string | null = null;
  do {
    const query: Record<string, string | undefined> = { limit: "500", cursor: cursor ?? undefined };
    const page: List<LogLine> = await read<List<LogLine>>(["execution", ID, "log"], query);
    lines.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  log.replace(lines);
}

function show(execution: Execution): void {
  const { status, status_message, webhook, flow, is_productive, is_async } = execution;
  const title = webhook ?? flow;
  need("h1", HTMLElement).textContent = title;
  document.title = `${title} · Flowhook`;
  const badges = [statusBadge(status)];
  if (!is_productive) badges.push(badge("Development", "busy"));
  if (is_async) badges.push(badge("Asynchronous", "idle"));
  need("#badges", HTMLElement).replaceChildren(...badges);
  need("#acts", HTMLElement).replaceChildren(...actsOf(execution));
  need("#message", HTMLElement).textContent = status_message ?? "";
  need("#steps", HTMLElement).replaceChildren(stepsOf(execution), factsOf(execution));
  const { input_value, output_value } = execution;
  need("#input", HTMLElement).replaceChildren(jsonView(input_value, "the input", "Input"));
  const output = need("#output", HTMLElement);
  output.hidden = !isEnded(status);
  output.replaceChildren(jsonView(output_value, "the output", "Output"));
  need("#response", HTMLElement).replaceChildren(...responseOf(execution));
}

function stepsOf({ created_at, started_at, ended_at }: Execution): HTMLElement {
  const rows = [
    ["Recorded", created_at, null],
    ["Started", started_at, between(created_at, started_at)],
    ["Ended", ended_at, between(started_at ?? created_at, ended_at)],
  ] as const;
  return el(
    "table",
    { class: "steps" },
    el(
      "tbody",
      {},
      ...rows.map(([name, at, after]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          el("td", {}, at === null ? "not yet" : exactTime(at)),
          el("td", { class: "figure soft" }, after === null ? "" : `after ${duration(after)}`),
        ),
      ),
    ),
  );
}

function factsOf(execution: Execution): HTMLElement {
  const { id, webhook, flow, flow_version, role, parent_id, replay_of } = execution;
  const link = (path: string, text: string) => el("a", { href: path }, text);
  const facts: (readonly [string, Child])[] = [
    [
      "ID",
      el(
        "span",
        { class: "secret" },
        el("code", {}, id),
        copyButton("Copy", () => id),
      ),
    ],
    ["Webhook", webhook === null ? "none" : link(pagePath("webhooks", webhook), webhook)],
    ["Flow", link(pagePath("flows", flow), flow)],
    ["Version", el("code", {}, flow_version ?? "none")],
    ["Role", role ?? "none"],
  ];
  if (parent_id !== null)
    facts.push(["Started by", link(pagePath("executions", parent_id), parent_id)]);
  if (replay_of !== null)
    facts.push(["Replay of", link(pagePath("executions", replay_of), replay_of)]);
  const lines = facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("dl", { class: "pairs" }, ...lines);
}

/** What the flow made for the caller, and whether the caller got it. */
function responseOf(execution: Execution): HTMLElement[] {
  const { response } = execution;
  if (response === null) return [];
  const unsent = whyUnsent(execution);
  if (unsent === null) return [jsonView(response, "the response", "Response")];
  const view = jsonView(response, "the unsent response", "Unsent response");
  return [el("p", { class: "trouble" }, unsent), view];
}
