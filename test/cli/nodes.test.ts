import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { startService, type Service } from "../blackbox/service.ts";
import { openTarget } from "../blackbox/target.ts";
import { openPostgres } from "../postgres-server.ts";
import { all } from "./session.ts";

/** What an operator sees of the services that share a database. */

const target = openTarget();

async function run(service: Service, ...args: string[]): Promise<Finished> {
  const env = { FLOWHOOK_URL: service.url, FLOWHOOK_TOKEN: service.token() };
  const finished = await runCommand(target, args, { cwd: service.directory, env });
  assert.equal(finished.code, 0, all(finished));
  return finished;
}

interface Listed {
  readonly lease_until: string;
}

async function nodesOf(service: Service): Promise<readonly Listed[]> {
  const { body } = await service.api("GET", "/workspace");
  return (body as unknown as { nodes: readonly Listed[] }).nodes;
}

/** What was listed between these two; leases are renewed meanwhile. */
function assertBetween(
  before: readonly Listed[],
  listed: readonly Listed[],
  after: readonly Listed[],
): void {
  const withoutLease = (nodes: readonly Listed[]) =>
    nodes.map(({ lease_until: _lease, ...node }) => node);
  assert.deepEqual(withoutLease(listed), withoutLease(after));
  for (const [at, { lease_until: lease }] of listed.entries())
    assert.ok(before[at]!.lease_until <= lease && lease <= after[at]!.lease_until, lease);
}

async function metricsOf(service: Service): Promise<string> {
  return (await fetch(`${service.url}/metrics`)).text();
}

test("nodes of a database: listed, counted, and named in the log", async () => {
  await using opened = new AsyncDisposableStack();
  const server = await openPostgres();
  opened.defer(() => server.stop());
  const shared = {
    DATABASE_URL: await server.createDatabase(),
    DATA_KEY: randomBytes(32).toString("hex"),
  };
  const start = async (name: string): Promise<Service> => {
    const service = await startService({ target, config: { ...shared, NODE_NAME: name } });
    opened.defer(async () => void (await service.stop()));
    return service;
  };
  const east = await start("east");
  const west = await start("west");
  const { stdout } = await run(west, "nodes");
  assert.match(stdout, /^NODE +STATE +ANSWERS .*\neast +ready +no .*\nwest +ready +yes .*\n$/);
  const before = await nodesOf(east);
  const listed = JSON.parse((await run(east, "nodes", "--json")).stdout) as Listed[];
  assertBetween(before, listed, await nodesOf(east));
  assert.deepEqual(
    listed.map((node) => ("is_self" in node ? node.is_self : null)),
    [true, false],
  );
  const figures = await metricsOf(east);
  assert.match(figures, /^flowhook_cluster_nodes\{state="ready"\} 2$/m);
  assert.match(figures, /^flowhook_cluster_waiting 0$/m);
  assert.match(figures, /^flowhook_node_lease_seconds \d/m);
  for (const line of west
    .logs()
    .split("\n")
    .filter((text) => text.startsWith("{")))
    assert.match(line, /"node":"west"/);
  const audit = (await west.api("GET", "/audit?limit=500")).body as { items: { node: unknown }[] };
  assert.deepEqual(new Set(audit.items.map(({ node }) => node)), new Set(["east", "west"]));
  await west.stop();
  const left = 'flowhook_cluster_nodes{state="ready"} 1';
  await poll("one node", async () => ((await metricsOf(east)).includes(left) ? left : null));
  assert.match(await metricsOf(east), /^flowhook_nodes_lost_total 0$/m);
});

test("with SQLite there is one, and the command says why", async () => {
  await using opened = new AsyncDisposableStack();
  const service = await startService({ target, config: { NODE_NAME: "alone" } });
  opened.defer(async () => void (await service.stop()));
  const { stdout } = await run(service, "nodes");
  assert.equal(stdout, "One service: its store is SQLite, which has no nodes\n");
  const [node] = JSON.parse((await run(service, "nodes", "--json")).stdout) as object[];
  const expected = { id: null, name: "alone", state: "ready", lease_until: null, is_self: true };
  assert.deepEqual({ ...node, ...expected }, node);
  assert.doesNotMatch(await metricsOf(service), /flowhook_(cluster|node)/);
  assert.doesNotMatch(service.logs(), /"node":/);
});
