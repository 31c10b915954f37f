import { useState } from "hono/jsx/dom";
import { FAILURES } from "../../shared/contract/status.ts";
import { read, type List } from "../api.ts";
import { useCallChanges } from "../call-changes.ts";
import { RangeChart, RangeChoice } from "../call-chart.tsx";
import { EXECUTION_COLUMNS } from "../execution-list.tsx";
import { FirstSteps, readBegun, type Begun } from "../first-steps.tsx";
import { number } from "../format.ts";
import { ButtonLink, PageHead } from "../head.tsx";
import { useLoaded } from "../loaded.ts";
import { apiPath, may, pagePath } from "../page.ts";
import { RANGES, type Range } from "../range.ts";
import { Failing, RangeTiles, readRange, Slowest, type RangeFigures } from "../range-figures.tsx";
import type { ExecutionSummary, Flow, Workspace } from "../resources.ts";
import { start } from "../start.tsx";
import { Badge } from "../status.tsx";
import { Table } from "../table.tsx";
import { Tile, Tiles } from "../tiles.tsx";
import { Said } from "../said.tsx";

const FAILED = FAILURES.join(",");

start(async () => {
  const first = await readFigures();
  // Not before that: the clock of the service, whose hour it is, comes with its answers.
  return <OverviewPage first={first} ofRange={await readFirstRange()} />;
});

/** Of the range that is chosen at first: what comes after the page is drawn pushes it apart. */
function readFirstRange(): Promise<RangeFigures | null> {
  if (!may("execution.read")) return Promise.resolve(null);
  // Where it cannot be read now, its part of the page reads it, and says so.
  return readRange(RANGES[0]).catch(() => null);
}

interface Figures {
  /** null each: the visitor may not see it. */
  readonly workspace: Workspace | null;
  readonly failures: readonly ExecutionSummary[] | null;
  readonly broken: readonly Flow[] | null;
  /** null: there was a call, or the visitor sees none. */
  readonly begun: Begun | null;
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
  return { workspace, failures, broken, begun: newest?.length === 0 ? await readBegun() : null };
}

async function readItems<Item>(type: string, query: Record<string, string>) {
  return (await read<List<Item>>([type], query)).items;
}

function OverviewPage({ first, ofRange }: { first: Figures; ofRange: RangeFigures | null }) {
  const [range, choose] = useState<Range>(RANGES[0]);
  const changes = useCallChanges(range);
  const { latest } = changes;
  const readAgain = async () => (latest === 0 ? first : readFigures());
  const [figures] = useLoaded(readAgain, [], latest);
  const { workspace, failures, broken, begun } = figures ?? first;
  return (
    <>
      <PageHead title="Overview">
        {may("webhook.write") ? (
          <ButtonLink to={pagePath("new-webhook")}>New webhook</ButtonLink>
        ) : null}
      </PageHead>
      {begun === null ? null : <FirstSteps begun={begun} folder={workspace?.plugins_dir ?? null} />}
      {broken === null || broken.length === 0 ? null : <Broken flows={broken} />}
      {may("execution.read") && begun === null ? (
        <Calls
          range={range}
          choose={choose}
          first={ofRange}
          count={changes.ofRange}
          workspace={workspace}
        />
      ) : null}
      <section>
        <h2>Latest failures</h2>
        <div id="failures">
          <Failures items={failures} />
        </div>
      </section>
      <Foot workspace={workspace} />
    </>
  );
}

/** What calls were like in a time, and what waits now. */
function Calls(props: {
  range: Range;
  choose: (range: Range) => void;
  /** Of the first range; null: not known yet. */
  first: RangeFigures | null;
  count: number;
  workspace: Workspace | null;
}) {
  const { range, choose, first, count, workspace } = props;
  const isFirst = count === 0 && range === RANGES[0];
  const readAgain = async () => (isFirst && first !== null ? first : readRange(range));
  const [read] = useLoaded(readAgain, [range], count);
  const figures = read ?? first;
  return (
    <>
      <section>
        <RangeChoice chosen={range} choose={choose} />
        <Tiles>
          {figures === null ? null : <RangeTiles {...figures} />}
          {workspace === null ? null : <QueueTiles workspace={workspace} />}
        </Tiles>
        <RangeChart range={range} count={count} withLatency />
      </section>
      {figures === null || figures.failing.length === 0 ? null : (
        <section id="failing">
          <h2>Failing</h2>
          <Failing {...figures} />
        </section>
      )}
      <section id="slowest">
        <h2>Slowest</h2>
        {figures === null ? null : <Slowest {...figures} />}
      </section>
    </>
  );
}

function QueueTiles({ workspace }: { workspace: Workspace }) {
  const { running, running_limit, waiting, waiting_limit } = workspace.executions;
  return (
    <>
      <Tile name="Running now" more={`of at most ${number(running_limit)}`}>
        {number(running)}
      </Tile>
      <Tile name="Waiting now" more={`of at most ${number(waiting_limit)}`}>
        {number(waiting)}
      </Tile>
    </>
  );
}

function Foot({ workspace }: { workspace: Workspace | null }) {
  return (
    <p class="soft foot">
      {workspace === null ? null : (
        <>
          Flowhook {workspace.version} · <a href={pagePath("admin", "system")}>System</a> ·{" "}
        </>
      )}
      <a href={pagePath("docs")}>Documentation</a> ·{" "}
      <a href={apiPath("reference")}>Reference of the API</a>
    </p>
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
            <span class="soft line">
              <Said text={error?.message ?? ""} />
            </span>
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
