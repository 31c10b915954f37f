import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openPostgresPair, type PostgresPair } from "../postgres-pair.ts";
import { assertNothingLost, openLoad, Told } from "./cluster-load.ts";
import { assertServes, untilReady } from "./cluster-watch.ts";
import { LEASE_MS, openCluster, type Cluster, type ClusterNode } from "./cluster.ts";
import { figure, NODES, openRandom, ROUNDS, SEED } from "./sizes.ts";

/** Whatever can fail around nodes but they themselves, under load, one after the other. */

const random = openRandom(SEED);

let pair: PostgresPair;

before(async () => {
  pair = await openPostgresPair();
});
after(() => pair.stop());

const KINDS = {
  "a node is cut off, refused": (cluster: Cluster) => cutOff(cluster, "drop"),
  "a node is cut off, in silence": (cluster: Cluster) => cutOff(cluster, "hold"),
  "a node is stopped beyond its lease": pause,
  "PostgreSQL is killed and started": () => pair.restart(200 + 1500 * random()),
  "a standby takes over": failOver,
};

function pick({ nodes }: Cluster): ClusterNode {
  return nodes[Math.floor(random() * nodes.length)] as ClusterNode;
}

async function cutOff(cluster: Cluster, how: "drop" | "hold"): Promise<void> {
  const { proxy } = pick(cluster);
  proxy[how]();
  await wait(200 + random() * 1.8 * LEASE_MS);
  proxy.open();
}

async function pause(cluster: Cluster): Promise<void> {
  const node = pick(cluster);
  node.service.signalGroup("SIGSTOP");
  await wait(300);
  // As a balancer does: else all callers would come to wait there.
  cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
  await wait((1.1 + random()) * LEASE_MS);
  node.service.signalGroup("SIGCONT");
  cluster.nodes.push(node);
}

async function failOver(): Promise<void> {
  // What was written meanwhile is at the primary alone, and has not been acknowledged.
  pair.stream.hold();
  await wait(500 * random());
  await pair.failOver(() => wait(1500 * random()));
  await pair.addStandby();
}

describe("faults around nodes", () => {
  test("nodes are cut off and stopped, PostgreSQL restarts and fails over, all under load", async () => {
    await using cluster = await openCluster(pair, { nodes: NODES, leads_group: true });
    const told = new Told();
    await using running = openLoad(cluster, told, { callers: 8, random });
    const names = Object.keys(KINDS) as (keyof typeof KINDS)[];
    const counts = new Map(names.map((name) => [name, 0]));
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = names[round % names.length] as keyof typeof KINDS;
      await wait(300 + 700 * random());
      told.note(await cluster.rows());
      await KINDS[name](cluster);
      for (const { service } of cluster.nodes) await untilReady(service, 200);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    await told.untilAcknowledged(ROUNDS);
    await running[Symbol.asyncDispose]();
    const found = await told.compare(cluster);
    const rows = [...(await cluster.rows()).values()];
    figure("nodes: seed", SEED);
    figure("nodes: at a time", NODES);
    for (const [name, count] of counts) figure(`nodes: rounds in which ${name}`, count);
    figure("nodes: acknowledged", told.acknowledged.size);
    figure("nodes: interrupted", countWith(rows, /^interrupted/));
    figure("nodes: refused, and found recorded", countWith(rows, /^not started/));
    figure("nodes: acknowledged, and lost", found.lost.length);
    figure("nodes: started twice", found.twice.length);
    figure("nodes: ended statuses changed", found.changed.length + found.differing.length);
    await assertNothingLost(cluster, told, ROUNDS);
    for (const { service } of cluster.nodes) await assertServes(service);
  });
});

function countWith(rows: readonly { status_message: string | null }[], message: RegExp): number {
  return rows.filter(({ status_message }) => message.test(status_message ?? "")).length;
}
