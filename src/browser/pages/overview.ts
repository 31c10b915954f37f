import { read, type List } from "../api.ts";
import { callChart } from "../call-chart.ts";
import { el, need, type Child } from "../element.ts";
import { executionTable } from "../execution-row.ts";
import { number, plural } from "../format.ts";
import { gather } from "../gathered.ts";
import { follow } from "../live.ts";
import { complain } from "../notice.ts";
import { may, pagePath } from "../page.ts";
import type { ExecutionSummary, Flow, Workspace } from "../resources.ts";
import { start } from "../start.ts";
import { FAILURES } from "../../shared/contract/status.ts";
import { badge } from "../status.ts";

const FAILED = FAILURES.join(",");

/** How often the figures are read again while calls come, in milliseconds. */
const REFRESH_MS = 3000;

start(async () => {
  await Promise.all([showWorkspace(), showFailures(), showBroken(), showStart()]);
  if (!may("execution.read")) return;
  const calls = callChart(need("#chart", HTMLElement), { withLatency: true });
  const refresh = gather<ExecutionSummary>(
    () => "any",
    () => {
      calls.refresh();
      Promise.all([showWorkspace(), showFailures(), showBroken(), showStart()]).catch(complain);
    },
    REFRESH_MS,
  );
  await calls.drawn;
  follow(["execution", "events"], { execution: (data) => refresh(data as ExecutionSummary) });
});

async function showWorkspace(): Promise<void> {
  if (!may("workspace.read")) return;
  const { version, connections, executions, runners } = await read<Workspace>(["workspace"]);
  const { used, allowance, month } = connections;
  const processes = runners?.processes ?? [];
  const threads = processes.reduce((sum, process) => sum + process.threads, 0);
  const megabytes = processes.reduce((sum, process) => sum + process.rss_bytes, 0) / 1_048_576;
  need("#tiles", HTMLElement).replaceChildren(
    tile("Running now", number(executions.running)),
    tile("Waiting", number(executions.waiting)),
    tile(
      "Threads",
      number(threads),
      `${plural(processes.length, "runner")}, ${megabytes.toFixed(0)} MB`,
    ),
    tile("Runner restarts", number(runners?.restarts ?? 0)),
    tile(
      "Connections",
      number(used),
      `${allowance === null ? "unlimited" : `of ${number(allowance)}`} in ${month}`,
    ),
  );
  need("#version", HTMLElement).textContent = `Flowhook ${version}`;
}

function tile(name: string, value: string, more = ""): HTMLElement {
  const figure: Child[] = [value];
  if (more !== "") figure.push(el("small", {}, more));
  return el("div", { class: "tile" }, el("dt", {}, name), el("dd", {}, ...figure));
}

async function showFailures(): Promise<void> {
  const place = need("#failures", HTMLElement);
  if (!may("execution.read")) return place.replaceChildren("Your roles do not show executions.");
  const { items } = await read<List<ExecutionSummary>>(["execution"], {
    status: FAILED,
    limit: "8",
  });
  if (items.length === 0) return place.replaceChildren(el("p", { class: "soft" }, "None."));
  const all = `${pagePath("executions")}?status=${encodeURIComponent(FAILED)}`;
  place.replaceChildren(executionTable(items), el("p", {}, el("a", { href: all }, "All failures")));
}

async function showBroken(): Promise<void> {
  if (!may("flow.read")) return;
  const { items } = await read<List<Flow>>(["flow"], { state: "broken" });
  const place = need("#broken", HTMLElement);
  if (items.length === 0) return place.replaceChildren();
  const lines = items.map(({ name, error }) =>
    el(
      "li",
      {},
      el("a", { href: pagePath("flows", name) }, name),
      el("span", { class: "soft line" }, error?.message ?? ""),
    ),
  );
  const title = el("h2", {}, "Broken flows", badge(String(items.length), "bad"));
  place.replaceChildren(title, el("ul", { class: "plain" }, ...lines));
}

/** An empty service says what to do first. */
async function showStart(): Promise<void> {
  if (!may("execution.read")) return;
  const { items } = await read<List<ExecutionSummary>>(["execution"], { limit: "1" });
  need("#start", HTMLElement).hidden = items.length > 0;
}
