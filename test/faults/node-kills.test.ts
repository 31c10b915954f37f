import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { assertNothingLost, openLoad, Told } from "./cluster-load.ts";
import { openCluster, SWEPT_MS } from "./cluster.ts";
import { figure, NODES, openRandom, ROUNDS, SEED } from "./sizes.ts";

/** Nodes of one database are killed under load, one by one and all at once. */

const random = openRandom(SEED);

let server: PostgresServer;

before(async () => {
  server = await openPostgres();
});
after(() => server.stop());

describe("kills of nodes", () => {
  test("random nodes are killed under load, and started at once, later or never", async () => {
    await using cluster = await openCluster(server, { nodes: NODES });
    const told = new Told();
    await using running = openLoad(cluster, told, { callers: 8, random });
    for (let round = 0; round < ROUNDS; round += 1) {
      await wait(150 + random() ** 2 * 1500);
      told.note(await cluster.rows());
      const [node] = cluster.nodes.splice(Math.floor(random() * cluster.nodes.length), 1);
      if (node === undefined) throw new Error("There is no node left");
      await node.service.kill();
      const way = random();
      if (way > 0.75) await cluster.add();
      else {
        if (way > 0.5) await wait(SWEPT_MS);
        await node.service.start();
        cluster.nodes.push(node);
      }
    }
    await told.untilAcknowledged(ROUNDS);
    await running[Symbol.asyncDispose]();
    const found = await told.compare(cluster);
    const interrupted = [...(await cluster.rows()).values()].filter(
      ({ status }) => status === "ENDED_ERROR",
    );
    figure("nodes: seed", SEED);
    figure("nodes: at a time", NODES);
    figure("nodes: kills", ROUNDS);
    figure("nodes: acknowledged", told.acknowledged.size);
    figure("nodes: flows that told of their start", (await cluster.started()).length);
    figure("nodes: interrupted", interrupted.length);
    figure("nodes: acknowledged, and lost", found.lost.length);
    figure("nodes: started twice", found.twice.length);
    figure("nodes: ended statuses changed", found.changed.length + found.differing.length);
    await assertNothingLost(cluster, told, ROUNDS);
  });

  test("all nodes are killed under load, and started again", async () => {
    await using cluster = await openCluster(server, { nodes: NODES });
    const told = new Told();
    for (let round = 0; round < 3; round += 1) {
      await using running = openLoad(cluster, told, { callers: 6, random });
      await told.untilAcknowledged(5 * (round + 1));
      await wait(300 + 700 * random());
      const nodes = cluster.nodes.splice(0);
      await Promise.all(nodes.map(({ service }) => service.kill()));
      told.note(await cluster.rows());
      await Promise.all(nodes.map(({ service }) => service.start()));
      cluster.nodes.push(...nodes);
      await running[Symbol.asyncDispose]();
    }
    figure("nodes: acknowledged, through 3 kills of all", told.acknowledged.size);
    await assertNothingLost(cluster, told, 10);
  });
});
