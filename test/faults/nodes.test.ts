import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openGate } from "../api/gate.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { assertNothingLost, Told } from "./cluster-load.ts";
import { assertServes, begun, follow, quiet, swept, untilReady, warm } from "./cluster-watch.ts";
import {
  LEASE_MS,
  mostUntilSwept,
  openCluster,
  type Cluster,
  type ClusterNode,
} from "./cluster.ts";
import { figure, mostHere } from "./sizes.ts";
import { openTestService, type TestService } from "./test-service.ts";

/**
 * Nodes of one database are lost, stopped and cut off from it. Nothing that was acknowledged is
 * lost, nothing begins twice, and what has ended stays as it ended.
 */

let server: PostgresServer;

before(async () => {
  server = await openPostgres();
});
after(() => server.stop());

/** Nodes that have been up for long enough to end what others have left. */
async function openSettled(options: object = {}): Promise<Cluster> {
  const cluster = await openCluster(server, { nodes: 2, ...options });
  await wait(2 * LEASE_MS);
  return cluster;
}

function pair({ nodes }: Cluster): [ClusterNode, ClusterNode] {
  const [one, other] = nodes;
  if (one === undefined || other === undefined) throw new Error("There are no two nodes");
  return [one, other];
}

/** @returns its id */
async function start(service: TestService, query: string): Promise<string> {
  const answer = await service.call("recording", `?async&${query}`);
  assert.equal(answer.status, 201, answer.text);
  return answer.headers["flowhook-execution-id"] ?? "";
}

/** As one that reads a lot from elsewhere before it can be called; it has 10 s for that. */
const SLOW_TO_LOAD = `await new Promise((resolve) => setTimeout(resolve, ${1.3 * LEASE_MS}));
export default () => "loaded";
`;

describe("nodes", () => {
  test("a node whose start takes longer than its lease is not given up", async () => {
    const config = {
      DATABASE_URL: await server.createDatabase(),
      DATA_KEY: "0123456789abcdef".repeat(4),
      NODE_LEASE_SEC: LEASE_MS / 1000,
      FLOWS_SHARED: false,
    };
    await using other = await openTestService({ config });
    await wait(2 * LEASE_MS);
    const files = { "slow.ts": SLOW_TO_LOAD };
    await using slow = await openTestService({ config, files, start: false });
    assert.ok((await slow.start()) > LEASE_MS, "the start waited for its flow");
    assert.doesNotMatch(slow.logs(), /given up/);
    assert.doesNotMatch(other.logs(), /Nodes were lost/);
  });

  test("a node is gone: what it ran ends in time, and what waited runs elsewhere", async () => {
    const config = { WORKER_THREADS: 1, FLOW_MAX_CONCURRENT: 1 };
    await using cluster = await openSettled({ config });
    await using gate = await openGate();
    const [lost, other] = pair(cluster);
    await warm(cluster, other);
    const before = await warm(cluster, lost);
    await start(other.service, `gate=${encodeURIComponent(gate.url)}`);
    await gate.arrived;
    const redirected = await lost.service.call("recording", "?ms=60000");
    const claimed = redirected.headers["flowhook-execution-id"] ?? "";
    await begun(cluster, before + 2);
    const waiting = [
      await start(lost.service, "n=1"),
      await start(lost.service, "n=2"),
      await start(lost.service, "n=3"),
    ];
    const leg = follow(other.service, redirected.headers["location"] ?? "");
    await lost.service.kill();
    const killed_at = performance.now();
    const [message = ""] = await swept(cluster, [claimed]);
    const took = performance.now() - killed_at;
    figure("nodes: from the kill of one to the end of what it ran", took, "ms");
    assert.match(message, /^interrupted/);
    assert.ok(took <= mostUntilSwept(), `took ${took} ms`);
    const answer = await leg;
    assert.equal(answer.status, 500, answer.text);
    assert.equal(answer.text, `ENDED_ERROR: ${message}`);
    gate.open();
    const rows = await cluster.settled();
    for (const id of waiting) assert.equal(rows.get(id)?.status, "ENDED_SUCCESS");
    assert.equal(rows.get(claimed)?.status, "ENDED_ERROR");
    const started = await cluster.started();
    assert.equal(new Set(started).size, started.length, "started twice");
    await assertServes(other.service);
  });

  for (const [who, whole] of [
    ["the server of a node", false],
    ["a node with its flows", true],
  ] as const)
    test(`${who} is stopped for two leases, and goes on`, async () => {
      await using cluster = await openSettled({ leads_group: true });
      const told = new Told();
      const [paused, other] = pair(cluster);
      const signal = (name: NodeJS.Signals) =>
        whole ? paused.service.signalGroup(name) : paused.service.signal(name);
      const before = await warm(cluster, paused, 2);
      const calls = [
        paused.service.call("held", "?ms=60000&alive"),
        paused.service.call("held", `?ms=${1.5 * LEASE_MS}`),
      ];
      const ids = (await begun(cluster, before + 2)).slice(before);
      signal("SIGSTOP");
      const stopped_at = performance.now();
      const messages = new Set(await swept(cluster, ids));
      told.note(await cluster.rows());
      await assertServes(other.service);
      await wait(Math.max(0, 2 * LEASE_MS - (performance.now() - stopped_at)));
      signal("SIGCONT");
      for (const answer of await Promise.all(calls)) {
        assert.equal(answer.status, 500, answer.text);
        assert.ok(messages.has(answer.text.replace("ENDED_ERROR: ", "")), answer.text);
      }
      await quiet(cluster);
      await assertServes(paused.service);
      await assertNothingLost(cluster, told, 0);
      await paused.service.assertAlive();
    });

  for (const [how, cut] of [
    ["refuses", "drop"],
    ["is silent", "hold"],
  ] as const)
    test(`a node is cut off from PostgreSQL, which ${how}, and comes back`, async () => {
      await using cluster = await openSettled();
      const told = new Told();
      const [away, other] = pair(cluster);
      const before = await warm(cluster, away);
      const running = away.service.call("held", "?ms=60000&alive");
      const ids = (await begun(cluster, before + 1)).slice(before);
      away.proxy[cut]();
      const cut_at = performance.now();
      const refused = away.service.call("recording", "?async").then((answer) => {
        figure(
          `nodes: PostgreSQL ${how}: until a call is refused`,
          performance.now() - cut_at,
          "ms",
        );
        return answer;
      });
      await untilReady(away.service, 503);
      const unready_ms = performance.now() - cut_at;
      figure(`nodes: PostgreSQL ${how}: until it is not ready`, unready_ms, "ms");
      const answer = await refused;
      assert.equal(answer.status, 503, answer.text);
      assert.ok(Number(answer.headers["retry-after"]) > 0, answer.head);
      assert.ok(performance.now() - cut_at < mostHere(6000), "refused within 5 s");
      assert.ok(unready_ms < mostHere(4000), `ready for ${unready_ms} ms`);
      const messages = await swept(cluster, ids);
      told.note(await cluster.rows());
      await assertServes(other.service);
      away.proxy.open();
      const ended = await running;
      assert.equal(ended.status, 500, ended.text);
      assert.equal(ended.text, `ENDED_ERROR: ${messages[0]}`);
      await quiet(cluster);
      await assertServes(away.service);
      await assertNothingLost(cluster, told, 0);
      const begunSince = (await cluster.started()).length - before;
      assert.equal(begunSince, 3, "what was refused has not begun");
      await away.service.assertAlive();
    });
});
