import { read } from "../api.ts";
import { number, size } from "../format.ts";
import { useLoaded, useRefresh } from "../loaded.ts";
import type { Workspace } from "../resources.ts";
import { Badge } from "../status.tsx";
import { Empty, NamedCell, Pairs, Table, type Column } from "../table.tsx";
import { Tile, Tiles } from "../tiles.tsx";
import { Time } from "../time.tsx";

type Process = Workspace["runners"]["processes"][number];

/** What the service itself does: threads, runners, its store and its folders. */
export function System() {
  const [workspace, reload] = useLoaded(() => read<Workspace>(["workspace"]));
  useRefresh(reload);
  if (workspace === null) return null;
  return (
    <>
      <Now workspace={workspace} />
      <section id="runners">
        <h2>Runners</h2>
        <p class="soft">Processes apart from the service, whose threads run the flows.</p>
        <Runners processes={workspace.runners.processes} />
      </section>
      <Nodes nodes={workspace.nodes} />
      <div class="halves">
        <Store store={workspace.store} />
        <Service workspace={workspace} />
      </div>
    </>
  );
}

function Now({ workspace: { executions, runners, connections } }: { workspace: Workspace }) {
  const { running, running_limit, waiting, waiting_limit } = executions;
  const { used, allowance, month } = connections;
  const threads = runners.processes.reduce((sum, process) => sum + process.threads, 0);
  return (
    <Tiles>
      <Tile name="Running" more={`of at most ${number(running_limit)}`}>
        {number(running)}
      </Tile>
      <Tile name="Waiting" more={`of at most ${number(waiting_limit)}`}>
        {number(waiting)}
      </Tile>
      <Tile name="Threads" more="busy and idle">
        {number(threads)}
      </Tile>
      <Tile name="Runner restarts" more="since the start">
        {number(runners.restarts)}
      </Tile>
      <Tile
        name="Connections"
        more={`${allowance === null ? "unlimited" : `of ${number(allowance)}`} in ${month}`}
      >
        {number(used)}
      </Tile>
    </Tiles>
  );
}

const COLUMNS: readonly Column<readonly [at: number, process: Process]>[] = [
  ["Runner", ([at]) => `Runner ${at}`, "head"],
  ["Running", ([, { running }]) => number(running), "figure"],
  ["Threads", ([, { threads }]) => number(threads), "figure"],
  ["Memory", ([, { rss_bytes }]) => size(rss_bytes), "figure"],
];

function Runners({ processes }: { processes: readonly Process[] }) {
  if (processes.length === 0)
    return <Empty title="No runner is up">The next call starts one.</Empty>;
  const items = processes.map((process, at) => [at + 1, process] as const);
  return <Table caption="Runners" columns={COLUMNS} items={items} />;
}

type Node = Workspace["nodes"][number];

const NODE_COLUMNS: readonly Column<Node>[] = [
  [
    "Node",
    (node) => <NamedCell name={node.name} note={node.is_self ? "answers you" : null} />,
    "head",
  ],
  ["State", ({ state }) => <Badge label={STATES[state].label} state={STATES[state].colour} />],
  ["Running", ({ running }) => number(running), "figure"],
  ["Waiting", ({ waiting }) => number(waiting), "figure"],
  ["Version", ({ version }) => version, "wide"],
  ["Started", ({ started_at }) => <Time of={started_at} />, "wide"],
];

const STATES = {
  ready: { label: "Ready", colour: "good" },
  draining: { label: "Draining", colour: "busy" },
  lost: { label: "Lost", colour: "bad" },
} as const;

/** With SQLite there are none: the service stands for itself. */
function Nodes({ nodes }: Pick<Workspace, "nodes">) {
  if (nodes.every(({ id }) => id === null)) return null;
  return (
    <section id="nodes">
      <h2>Nodes</h2>
      <p class="soft">
        Services that share the database. Runners and threads above are of the one that answers you.
      </p>
      <Table
        caption="Nodes"
        columns={NODE_COLUMNS}
        items={nodes}
        rowOf={({ id }) => ({ id: id ?? "" })}
      />
    </section>
  );
}

function Store({ store }: Pick<Workspace, "store">) {
  const { database_bytes, wal_bytes, ledger_bytes, disk_free_bytes, disk_bytes } = store;
  const isFile = disk_bytes !== null;
  const files: [string, string][] = [
    ["Write-ahead log", size(wal_bytes)],
    ["Ledger", size(ledger_bytes)],
    ["Free on its disk", `${size(disk_free_bytes)} of ${size(disk_bytes)}`],
  ];
  return (
    <section>
      <h2>Store</h2>
      <Pairs of={[["Database", size(database_bytes)], ...(isFile ? files : [])]} />
    </section>
  );
}

function Service({ workspace }: { workspace: Workspace }) {
  const { version, runtime, started_at, plugins_dir } = workspace;
  return (
    <section>
      <h2>Service</h2>
      <Pairs
        of={[
          ["Version", version],
          ["Runs on", runtime],
          ["Started", <Time of={started_at} />],
          ["Plugins folder", <code>{plugins_dir}</code>],
        ]}
      />
    </section>
  );
}
