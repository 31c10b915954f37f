import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { NODE, openTarget, ROOT } from "../blackbox/target.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { assertNothingLost, openLoad, Told } from "./cluster-load.ts";
import { assertNoneInterrupted, assertServes, begun, swept, warm } from "./cluster-watch.ts";
import { LEASE_MS, mostUntilSwept, openCluster, type ClusterNode } from "./cluster.ts";
import { figure, mostHere, NODES, openRandom, SEED } from "./sizes.ts";

/** The database of several nodes, the way to it and their clocks fail: nobody is given up for that. */

const random = openRandom(SEED);

let server: PostgresServer;

before(async () => {
  server = await openPostgres();
});
after(() => server.stop());

describe("nodes and their database", () => {
  test("a node is cut off again and again under load, in each way", async () => {
    await using cluster = await openCluster(server, { nodes: NODES });
    const told = new Told();
    await using running = openLoad(cluster, told, { callers: 6, random });
    for (let round = 0; round < 4; round += 1) {
      const { proxy } = cluster.nodes[Math.floor(random() * NODES)] as ClusterNode;
      proxy[round % 2 === 0 ? "drop" : "hold"]();
      await wait(200 + random() * 1.5 * LEASE_MS);
      told.note(await cluster.rows());
      proxy.open();
      await wait(500);
    }
    await told.untilAcknowledged(50);
    await running[Symbol.asyncDispose]();
    figure("nodes: acknowledged, through 4 cuts", told.acknowledged.size);
    await assertNothingLost(cluster, told, 50);
    for (const { service } of cluster.nodes) await assertServes(service);
  });

  for (const cut of ["hold", "strand", "holdAnswers"] as const)
    test(`a node ends, though its network swallows what it says: ${cut}`, async () => {
      await using cluster = await openCluster(server, { nodes: 1 });
      const { proxy, service } = cluster.nodes[0] as ClusterNode;
      assert.equal((await service.call("held")).status, 200);
      proxy[cut]();
      const from = performance.now();
      assert.equal(await service.stop(), 0);
      const ms = performance.now() - from;
      figure(`nodes: SIGTERM until the end, ${cut}`, ms, "ms");
      assert.ok(ms < mostHere(25_000), "within what a supervisor waits");
    });

  for (const table of ["execution", "node"])
    test(`a node ends, though somebody keeps a lock: ${table}`, async () => {
      await using cluster = await openCluster(server, { nodes: 1 });
      await using opened = new AsyncDisposableStack();
      const { service } = cluster.nodes[0] as ClusterNode;
      assert.equal((await service.call("held")).status, 200);
      const locking = new pg.Client(cluster.url);
      await locking.connect();
      opened.defer(() => locking.end());
      await locking.query(`begin; lock table ${table}`);
      const from = performance.now();
      assert.equal(await service.stop(), 0);
      const ms = performance.now() - from;
      figure(`nodes: SIGTERM until the end, ${table} locked`, ms, "ms");
      assert.ok(ms < mostHere(25_000), "within what a supervisor waits");
    });

  test("clocks of nodes are hours apart, and nobody is given up for it", async () => {
    await using cluster = await openCluster(server, { nodes: 1 });
    const told = new Told();
    await using clocks = new AsyncDisposableStack();
    for (const hours of [1, -1]) await cluster.add(await withClock(clocks, hours));
    const calls = cluster.nodes.map(({ service }) => service.call("held", `?ms=${2 * LEASE_MS}`));
    for (const answer of await Promise.all(calls)) assert.equal(answer.status, 200, answer.text);
    const { service: one } = cluster.nodes[0] as ClusterNode;
    const { service: ahead } = cluster.nodes[1] as ClusterNode;
    const before = await warm(cluster, cluster.nodes[1] as ClusterNode);
    const broken = assert.rejects(ahead.call("held", "?ms=60000"));
    const ids = (await begun(cluster, before + 1)).slice(before);
    await ahead.kill();
    await broken;
    const killed_at = performance.now();
    await swept(cluster, ids);
    assert.ok(performance.now() - killed_at <= mostUntilSwept());
    await assertServes(one);
    await assertNothingLost(cluster, told, 0);
  });

  test("PostgreSQL is killed under load, and started again", async (t) => {
    if (server.own === null) return t.skip("the server is another's");
    await using cluster = await openCluster(server, { nodes: NODES });
    const told = new Told();
    await using running = openLoad(cluster, told, { callers: 6, random });
    for (let round = 0; round < 3; round += 1) {
      await wait(500 + 500 * random());
      await server.own.kill();
      await wait(200 + 600 * random());
      await server.own.start();
      told.note(await cluster.rows());
    }
    await told.untilAcknowledged(50);
    await running[Symbol.asyncDispose]();
    figure("nodes: acknowledged, through 3 kills of PostgreSQL", told.acknowledged.size);
    await assertNothingLost(cluster, told, 50);
    await assertNoneInterrupted(cluster, told);
    for (const { service } of cluster.nodes) await assertServes(service);
  });

  test("PostgreSQL is out of reach of all for longer than a lease, and nobody is given up", async () => {
    await using cluster = await openCluster(server, { nodes: NODES });
    await wait(2 * LEASE_MS);
    const told = new Told();
    const calls = cluster.nodes.map(({ service }) => service.call("held", `?ms=${4 * LEASE_MS}`));
    await begun(cluster, NODES);
    for (const { proxy } of cluster.nodes) proxy.hold();
    await wait(2 * LEASE_MS);
    for (const { proxy } of cluster.nodes) proxy.open();
    for (const answer of await Promise.all(calls)) assert.equal(answer.status, 200, answer.text);
    for (const { service } of cluster.nodes) await assertServes(service);
    await assertNothingLost(cluster, told, 0);
    await assertNoneInterrupted(cluster, told);
  });
});

/** The bundle, whose runtime a test can prepare, with a clock that is wrong. */
async function withClock(opened: AsyncDisposableStack, hours: number) {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-clock-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "offset");
  await writeFile(file, String(hours * 3_600_000));
  const [, ...bundle] = openTarget("bundle").command;
  const preload = join(ROOT, "test/faults/clock.mjs");
  const command: [string, ...string[]] = [NODE, "--import", preload, ...bundle];
  return { target: { name: "bundle", command, skip: null }, env: { CLOCK_FILE: file } } as const;
}
