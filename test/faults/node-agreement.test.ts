import assert from "node:assert/strict";
import { Agent } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openGate } from "../api/gate.ts";
import { openBalancer, type Balancer } from "../blackbox/balancer.ts";
import { send, type Call } from "../blackbox/client.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { assertNothingLost, openLoad, Told, type Called } from "./cluster-load.ts";
import { openCluster, type Cluster, type ClusterNode } from "./cluster.ts";
import { figure, NODES, openRandom, SEED } from "./sizes.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** What one node decided holds at all others, at once, and so does the end of one that is stopped. */

const CALLERS = 6;
const random = openRandom(SEED);

let server: PostgresServer;

before(async () => {
  server = await openPostgres();
});
after(() => server.stop());

function pick({ nodes }: Cluster): ClusterNode {
  return nodes[Math.floor(random() * nodes.length)] as ClusterNode;
}

async function authenticate(service: TestService, change: object): Promise<void> {
  const body = { password: ADMIN_PASSWORD, require_login: false, ...change };
  const answer = await service.api("PUT", "/webhook/held/authentication", body);
  assert.equal(answer.status, 200, answer.text);
}

function callAll({ nodes }: Cluster, path = "?async"): Promise<number[]> {
  return Promise.all(nodes.map(async ({ service }) => (await service.call("held", path)).status));
}

/** Calls with one key, at each node in turn. @returns the ids that were told */
async function repeat(
  nodes: readonly ClusterNode[],
  key: string,
  count: number,
): Promise<(string | null)[]> {
  const paths = ["?async&ms=20", "?ms=20&async", "?async=1&ms=20", "?ms=20"];
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const { service } = nodes[n % nodes.length] as ClusterNode;
      const headers = { "content-type": "application/json", "idempotency-key": key };
      const call = { method: "POST", body: "{}", headers };
      const answer = await service.call("once", paths[n % paths.length], call).catch(() => null);
      if (answer === null) return null;
      assert.ok([201, 303].includes(answer.status), `${answer.status} ${answer.text}`);
      return answer.headers["flowhook-execution-id"] ?? "";
    }),
  );
}

async function commitsOf({ origin }: TestService): Promise<number> {
  const { text } = await send(origin, { target: "/metrics" });
  return Number(/^flowhook_store_commits_total (\d+)$/m.exec(text)?.[1]);
}

const WAITING = 200;

describe("nodes agree", () => {
  test("calls with one key at all nodes, of which one is killed, are one execution", async () => {
    await using cluster = await openCluster(server, { nodes: NODES });
    for (let round = 1; round <= 4; round += 1) {
      const nodes = [...cluster.nodes];
      const victim = pick(cluster);
      const calls = repeat(nodes, `key-${round}`, 90);
      await wait(random() * 60);
      await victim.service.kill();
      const ids = await calls;
      await victim.service.start();
      ids.push(...(await repeat(nodes, `key-${round}`, 30)));
      const told = new Set(ids.filter((id) => id !== null));
      figure("nodes: calls with one key that were answered", ids.filter(Boolean).length);
      assert.equal(told.size, 1, `told of ${[...told].join(", ")}`);
      const rows = await cluster.settled();
      assert.equal(rows.size, round, "one execution for each key");
      const started = await cluster.started();
      assert.equal(new Set(started).size, started.length, "started twice");
    }
  });

  test("a webhook that is disabled at one node is called at no other from the answer on", async () => {
    await using cluster = await openCluster(server, { nodes: NODES });
    const expected = (status: number) => cluster.nodes.map(() => status);
    for (let round = 0; round < 8; round += 1) {
      assert.deepEqual(await callAll(cluster), expected(201), "enabled");
      await authenticate(pick(cluster).service, { is_enabled: false, key: null });
      assert.deepEqual(await callAll(cluster), expected(404), "disabled");
      await authenticate(pick(cluster).service, { is_enabled: true, key: null });
    }
  });

  test("a key that is changed at one node is the key of all from the answer on", async () => {
    await using cluster = await openCluster(server, { nodes: NODES });
    const expected = (status: number) => cluster.nodes.map(() => status);
    for (let round = 0; round < 8; round += 1) {
      const key = (n: number) => `key-of-all-nodes-${n}`;
      const begun = performance.now();
      await authenticate(pick(cluster).service, { is_enabled: true, key: key(round) });
      if (round === 0) figure("nodes: a change of a key", performance.now() - begun, "ms");
      assert.deepEqual(await callAll(cluster, `?async&key=${key(round)}`), expected(201));
      assert.deepEqual(await callAll(cluster, `?async&key=${key(round - 1)}`), expected(401));
    }
  });

  test("what waits at another node is cancelled by one call, in few commits", async () => {
    const config = { WORKER_THREADS: 1, FLOW_MAX_CONCURRENT: 1 };
    await using cluster = await openCluster(server, { nodes: 2, config });
    await using gate = await openGate();
    const [one, other] = cluster.nodes as [ClusterNode, ClusterNode];
    const path = `?async&gate=${encodeURIComponent(gate.url)}`;
    // Each has one that runs, so that neither takes what waits at the other.
    const running = [one, other].map(({ service }) => service.call("recording", path));
    const waiting = Array.from({ length: WAITING }, () => one.service.call("recording", path));
    for (const answer of await Promise.all([...running, ...waiting]))
      assert.equal(answer.status, 201, answer.text);
    const before = await commitsOf(other.service);
    const body = { filter: { flow: "recording" } };
    const { text } = await other.service.api("POST", "/execution/cancel", body);
    const count = WAITING + running.length;
    assert.deepEqual(JSON.parse(text), { matched: count, cancelled: count });
    const commits = (await commitsOf(other.service)) - before;
    figure(`nodes: commits for ${count} cancels at another node`, commits);
    assert.ok(commits < WAITING / 5, `${commits} commits`);
  });

  test("a node with another data key is refused", async () => {
    await using cluster = await openCluster(server, { nodes: 1 });
    await using stranger = await openTestService({
      config: { DATABASE_URL: cluster.url },
      start: false,
    });
    await assert.rejects(stranger.start(), (error: Error) => {
      assert.match(error.message, /ended with 78/);
      assert.match(error.message, /secret\.key/);
      assert.match(error.message, /DATA_KEY/);
      return true;
    });
  });

  test("one node after the other is drained, stopped and started under load, and no call fails", async () => {
    const config = { SHUTDOWN_GRACE_SEC: 10 };
    await using cluster = await openCluster(server, { nodes: NODES, config });
    const told = new Told();
    await using running = openLoad(cluster, told, { callers: CALLERS, random });
    for (const node of cluster.nodes.slice()) {
      // As a balancer drains it: no new calls, and a moment for those that are on their way.
      cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
      await wait(250);
      // Answered after it has taken what was sent before.
      await node.service.assertAlive();
      assert.equal(await node.service.stop(), 0);
      told.note(await cluster.rows());
      await node.service.start();
      cluster.nodes.push(node);
      await wait(300);
    }
    await told.untilAcknowledged(50);
    await running[Symbol.asyncDispose]();
    figure("nodes: acknowledged through a roll-out", told.acknowledged.size);
    await assertNoneFailed(cluster, told);
  });

  test("one node after the other is restarted behind a balancer that looks at readiness, and no call fails", async () => {
    const config = { SHUTDOWN_DELAY_SEC: DELAY_SEC, SHUTDOWN_GRACE_SEC: 10 };
    await using cluster = await openCluster(server, { nodes: NODES, config, keepsPorts: true });
    const nodes = cluster.nodes.map(({ service }) => service);
    const balancer = await openBalancer(
      nodes.map(({ origin }) => origin),
      CHECK_MS,
    );
    await using opened = new AsyncDisposableStack();
    opened.defer(() => balancer.close());
    const told = new Told();
    const running = opened.use(
      openLoad(callAt(balancer, opened), told, { callers: CALLERS, random }),
    );
    for (const node of nodes) {
      await wait(2 * CHECK_MS);
      assert.equal(await node.stop(), 0);
      told.note(await cluster.rows());
      await node.start();
    }
    await told.untilAcknowledged(50);
    await running[Symbol.asyncDispose]();
    figure("nodes: acknowledged behind a balancer through restarts", told.acknowledged.size);
    await assertNoneFailed(cluster, told);
  });
});

/** As HAProxy does unless told otherwise. */
const CHECK_MS = 1000;
/** What two of its checks take, as `auto` has it, and some seconds in which a check is held up. */
const DELAY_SEC = 3 + 5;

/** Calls of both kinds of clients: by a new connection each, and by kept ones. */
function callAt({ origin }: Balancer, opened: AsyncDisposableStack): Called {
  const agent = new Agent({ keepAlive: true, maxSockets: 3, scheduling: "fifo" });
  opened.defer(() => agent.destroy());
  const toService = (how: Partial<Call>) => ({
    service: {
      call: (webhook: string, path = "", call: Partial<Call> = {}) =>
        send(origin, { target: `/api/latest/webhook/${webhook}/call${path}`, ...how, ...call }),
    },
  });
  return { nodes: [toService({}), toService({ agent })] };
}

async function assertNoneFailed(cluster: Cluster, told: Told): Promise<void> {
  assert.equal(told.broken, 0, "broken connections");
  assert.equal(told.answers.get(503) ?? 0, 0, "refused calls");
  await assertNothingLost(cluster, told, 50);
  // A call that was on its way when its caller left may have begun since.
  const rows = [...(await cluster.settled()).values()];
  // The load ends with its callers, who go away.
  const others = rows.filter(
    ({ status, status_message }) =>
      status !== "ENDED_SUCCESS" &&
      status_message !== "Cancelled: the caller's connection was closed",
  );
  assert.deepEqual(others, []);
  assert.ok(rows.filter(({ status }) => status === "ENDED_CANCELLED").length <= CALLERS);
}
