import { ButtonLink, PageHead } from "../head.tsx";
import { useLayoutEffect, useState, type Child } from "hono/jsx/dom";
import { FAILURES } from "../../shared/contract/status.ts";
import { read, type List } from "../api.ts";
import { CallChart } from "../call-chart.tsx";
import { EXECUTION_COLUMNS } from "../execution-list.tsx";
import { number, plural } from "../format.ts";
import { gather } from "../gathered.ts";
import { follow } from "../live.ts";
import { complain } from "../notice.tsx";
import { apiPath, may, pagePath } from "../page.ts";
import type { ExecutionSummary, Flow, Workspace } from "../resources.ts";
import { start } from "../start.tsx";
import { Badge } from "../status.tsx";
import { Table } from "../table.tsx";

const FAILED = FAILURES.join(",");

/** How often the figures are read again while calls come, in milliseconds. */
const REFRESH_MS = 3000;

start(async () => <OverviewPage first={await readFigures()} />);

interface Figures {
  /** null each: the visitor may not see it. */
  readonly workspace: Workspace | null;
  readonly failures: readonly ExecutionSummary[] | null;
  readonly broken: readonly Flow[] | null;
  readonly newest: readonly ExecutionSummary[] | null;
}

async function readFigures(): Promise<Figures> {
  const executions = (query: Record<string, string>) =>
    may("execution.read") ? readItems<ExecutionSummary>("execution", query) : null;
  const [workspace, failures, broken, newest] = await Promise.all([
    may("workspace.read") ? read<Workspace>(["workspace"]) : null,
    executions({ status: FAILED, limit: "8" }),
    may("flow.read") ? readItems<Flow>("flow", { state: "broken" }) : null,
    executions({ limit: "1" }),
  ]);
  return { workspace, failures, broken, newest };
}

async function readItems<Item>(type: string, query: Record<string, string>) {
  return (await read<List<Item>>([type], query)).items;
}

function OverviewPage({ first }: { first: Figures }) {
  const [figures, setFigures] = useState(first);
  const [count, setCount] = useState(0);
  useLayoutEffect(
    () =>
      followCalls(() => {
        setCount((before) => before + 1);
        readFigures().then(setFigures).catch(complain);
      }),
    [],
  );
  const { workspace, failures, broken, newest } = figures;
  return (
    <>
      <PageHead title="Overview">
        {may("webhook.write") ? (
          <ButtonLink to={pagePath("new-webhook")}>New webhook</ButtonLink>
        ) : null}
      </PageHead>
      {newest?.length === 0 ? <FirstSteps /> : null}
      {workspace === null ? null : <Tiles workspace={workspace} />}
      {broken === null || broken.length === 0 ? null : <Broken flows={broken} />}
      <section>
        <h2>Calls</h2>
        {may("execution.read") ? <CallChart withLatency count={count} /> : null}
      </section>
      <section>
        <h2>Latest failures</h2>
        <div id="failures">
          <Failures items={failures} />
        </div>
      </section>
      <p class="soft foot">
        {workspace === null ? null : `Flowhook ${workspace.version} · `}
        <a href={pagePath("docs")}>Documentation</a> ·{" "}
        <a href={apiPath("reference")}>Reference of the API</a>
      </p>
    </>
  );
}

/** However many calls come, one change of the page in an interval. */
function followCalls(refresh: () => void): (() => void) | undefined {
  if (!may("execution.read")) return;
  const take = gather<unknown>(() => "any", refresh, REFRESH_MS);
  const live = follow(["execution", "events"], { execution: take });
  return () => live.close();
}

/** An empty service says what to do first. */
function FirstSteps() {
  return (
    <div id="start" class="empty">
      <h2>Nothing was called yet</h2>
      <p>Create a webhook from a flow, enable it, and make its first call right there.</p>
      <p>
        Read <a href={pagePath("docs", "flows")}>how to write a flow</a>, or the{" "}
        <a href={pagePath("docs", "recipes")}>recipes</a>.
      </p>
    </div>
  );
}

function Tiles({ workspace }: { workspace: Workspace }) {
  const { connections, executions, runners } = workspace;
  const { used, allowance, month } = connections;
  const processes = runners?.processes ?? [];
  const threads = processes.reduce((sum, process) => sum + process.threads, 0);
  const megabytes = processes.reduce((sum, process) => sum + process.rss_bytes, 0) / 1_048_576;
  const usage = allowance === null ? "unlimited" : `of ${number(allowance)}`;
  return (
    <dl class="tiles">
      <Tile name="Running now">{number(executions.running)}</Tile>
      <Tile name="Waiting">{number(executions.waiting)}</Tile>
      <Tile
        name="Threads"
        more={`${plural(processes.length, "runner")}, ${megabytes.toFixed(0)} MB`}
      >
        {number(threads)}
      </Tile>
      <Tile name="Runner restarts">{number(runners?.restarts ?? 0)}</Tile>
      <Tile name="Connections" more={`${usage} in ${month}`}>
        {number(used)}
      </Tile>
    </dl>
  );
}

function Tile({ name, more, children }: { name: string; more?: string; children: Child }) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        {children}
        {more === undefined ? null : <small>{more}</small>}
      </dd>
    </div>
  );
}

function Broken({ flows }: { flows: readonly Flow[] }) {
  return (
    <section id="broken">
      <h2>
        Broken flows
        <Badge label={String(flows.length)} state="bad" />
      </h2>
      <ul class="plain">
        {flows.map(({ name, error }) => (
          <li>
            <a href={pagePath("flows", name)}>{name}</a>
            <span class="soft line">{error?.message ?? ""}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Failures({ items }: { items: readonly ExecutionSummary[] | null }) {
  if (items === null) return <p>Your roles do not show executions.</p>;
  if (items.length === 0) return <p class="soft">None.</p>;
  const all = `${pagePath("executions")}?status=${encodeURIComponent(FAILED)}`;
  return (
    <>
      <Table caption="Latest failures" columns={EXECUTION_COLUMNS} items={items} />
      <p>
        <a href={all}>All failures</a>
      </p>
    </>
  );
}
