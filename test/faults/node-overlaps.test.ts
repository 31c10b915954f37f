import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { openPostgresPair, type PostgresPair } from "../postgres-pair.ts";
import { assertNothingLost, openLoad, Told } from "./cluster-load.ts";
import { assertServes, untilReady } from "./cluster-watch.ts";
import { LEASE_MS, openCluster, type Cluster, type ClusterNode } from "./cluster.ts";
import { figure, NODES, openRandom, ROUNDS, SEED } from "./sizes.ts";

/** Whatever can fail around nodes, at the same time: none waits until another one is over. */

const random = openRandom(SEED);

let pair: PostgresPair;

before(async () => {
  pair = await openPostgresPair();
});
after(() => pair.stop());

type Fault = (node: ClusterNode, ms: number) => Promise<unknown>;

/** What befalls a node for so long; its network is whole again after. */
const OF_NODE: Readonly<Record<string, Fault>> = {
  "cut off, in silence"({ proxy }, ms) {
    proxy.hold();
    return wait(ms);
  },
  "without answers"({ proxy }, ms) {
    proxy.holdAnswers();
    return wait(ms);
  },
  "cut off, refused"({ proxy }, ms) {
    proxy.drop();
    return wait(ms);
  },
  async "cut off again and again"({ proxy }, ms) {
    for (const until = performance.now() + ms; performance.now() < until;) {
      proxy.drop();
      await wait(200 * random());
      proxy.open();
      await wait(600 * random());
    }
  },
  stopped,
  async "stopped, and its connections are lost"(node, ms) {
    node.proxy.hold();
    await stopped(node, ms);
    node.proxy.drop();
    await wait(1000 * random());
  },
};

async function stopped({ service }: ClusterNode, ms: number): Promise<void> {
  service.signalGroup("SIGSTOP");
  await wait(ms);
  service.signalGroup("SIGCONT");
}

/** What befalls PostgreSQL for so long. */
const OF_SERVER: Readonly<Record<string, (url: string, ms: number) => Promise<unknown>>> = {
  "killed and started": (_, ms) => pair.restart(ms),
  async "kept from its standby"(_, ms) {
    pair.stream.hold();
    await wait(ms);
    pair.stream.open();
  },
  "a table is locked": lockTable,
};

const TABLES = ["node", "execution", "webhook", "awaited", "execution_claim"];

/** As a maintenance does that somebody runs by hand. */
async function lockTable(url: string, ms: number): Promise<void> {
  const client = new pg.Client(url);
  // Its end is told to whatever is asked next.
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(`begin; set local lock_timeout = 3000; lock table ${pick(TABLES)}`);
    await wait(ms);
  } catch (error) {
    // PostgreSQL may be away, or the lock another's; a table that is not there is a fault of this test.
    assert.notEqual((error as { code?: unknown }).code, "42P01", String(error));
  } finally {
    await client.end().catch(() => {});
  }
}

function pick<T>(of: readonly T[]): T {
  return of[Math.floor(random() * of.length)] as T;
}

/** Some are over at once, and some outlive two leases. */
function howLong(): number {
  return random() < 0.5 ? 4000 * random() : 2.2 * LEASE_MS * random();
}

describe("faults around nodes that overlap", () => {
  test("each node and PostgreSQL fail at any time, under load", async () => {
    await using cluster = await openCluster(pair, { nodes: NODES, leads_group: true });
    const told = new Told();
    await using running = openLoad(cluster, told, { callers: 6, random });
    const counts = new Map<string, number>();
    const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
    const ended = new AbortController();
    const server = failServer(cluster, ended.signal, count);
    await Promise.all(cluster.nodes.map((node) => failNode(node, count)));
    ended.abort();
    await server;
    const wholeSince = performance.now();
    for (const { service } of cluster.nodes) await untilReady(service, 200);
    figure("nodes: seed", SEED);
    for (const [name, times] of counts) figure(`nodes: ${name}`, times);
    figure("nodes: all ready again after", performance.now() - wholeSince, "ms");
    await told.untilAcknowledged(ROUNDS);
    await running[Symbol.asyncDispose]();
    figure("nodes: acknowledged", told.acknowledged.size);
    await assertNothingLost(cluster, told, ROUNDS);
    for (const { service } of cluster.nodes) await assertServes(service);
  });
});

async function failNode(node: ClusterNode, count: (name: string) => void): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await wait(500 + 2000 * random());
    const name = pick(Object.keys(OF_NODE));
    await OF_NODE[name]?.(node, howLong());
    node.proxy.open();
    count(`a node is ${name}`);
  }
}

async function failServer(
  { url }: Cluster,
  ended: AbortSignal,
  count: (name: string) => void,
): Promise<void> {
  while (!ended.aborted) {
    await wait(3000 + 8000 * random(), null, { signal: ended }).catch(() => {});
    if (ended.aborted) return;
    const name = pick(Object.keys(OF_SERVER));
    await OF_SERVER[name]?.(url, 6000 * random());
    count(`PostgreSQL: ${name}`);
  }
}
