import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openPostgresPair, type PostgresPair } from "../postgres-pair.ts";
import { assertNothingLost, openLoad, Told } from "./cluster-load.ts";
import { assertNoneInterrupted, assertServes, begun, untilReady } from "./cluster-watch.ts";
import { LEASE_MS, openCluster } from "./cluster.ts";
import { figure, NODES, openRandom, SEED } from "./sizes.ts";

/** The PostgreSQL of several nodes is lost, and its standby takes over: nobody notices but by waiting. */

const random = openRandom(SEED);

let pair: PostgresPair;

before(async () => {
  pair = await openPostgresPair();
});
after(() => pair.stop());

describe("fail-over to a standby", () => {
  test("the primary is lost under load: what was acknowledged is at the standby, which takes over", async () => {
    await using cluster = await openCluster(pair, { nodes: NODES });
    const told = new Told();
    await using running = openLoad(cluster, told, { callers: 6, random });
    await told.untilAcknowledged(20);
    // What is acknowledged from here on would be at the primary alone.
    pair.stream.hold();
    await wait(500 * random());
    const acknowledged = told.acknowledged.size;
    await pair.failOver(() => wait(1000 * random()));
    const away_since = performance.now();
    for (const { service } of cluster.nodes) await assertServes(service);
    figure("nodes: from a promotion to serving", performance.now() - away_since, "ms");
    await told.untilAcknowledged(acknowledged + 1);
    await running[Symbol.asyncDispose]();
    figure("nodes: acknowledged before a fail-over", acknowledged);
    figure("nodes: acknowledged through a fail-over", told.acknowledged.size);
    assert.ok(acknowledged > 0 && told.acknowledged.size > acknowledged);
    await assertNothingLost(cluster, told, 20);
    await assertNoneInterrupted(cluster, told);
    await pair.addStandby();
  });

  test("a server that takes no writes is not used, however long, and nobody is given up for it", async () => {
    await using cluster = await openCluster(pair, { nodes: NODES });
    const told = new Told();
    await wait(2 * LEASE_MS);
    const running = cluster.nodes.map(({ service }) => service.call("held", `?ms=${4 * LEASE_MS}`));
    await begun(cluster, NODES);
    await pair.failOver(async () => {
      await Promise.all(cluster.nodes.map(({ service }) => untilReady(service, 503)));
      for (const { service } of cluster.nodes) {
        const refused = await service.call("recording", "?async");
        assert.equal(refused.status, 503, refused.text);
        assert.match(refused.text, /store_unavailable/);
        assert.ok(Number(refused.headers["retry-after"]) > 0, refused.head);
        const read = await service.api("GET", "/webhook");
        assert.equal(read.status, 503, read.text);
        assert.match(read.text, /The store cannot be used now/);
      }
      await wait(2 * LEASE_MS);
    });
    for (const answer of await Promise.all(running)) assert.equal(answer.status, 200, answer.text);
    for (const { service } of cluster.nodes) await assertServes(service);
    await assertNothingLost(cluster, told, 0);
    await assertNoneInterrupted(cluster, told);
    await pair.addStandby();
  });

  test("a standby that keeps nothing: nothing is acknowledged until it does, nobody is given up", async () => {
    await using cluster = await openCluster(pair, { nodes: NODES });
    const told = new Told();
    await wait(2 * LEASE_MS);
    const running = cluster.nodes.map(({ service }) => service.call("held", `?ms=${4 * LEASE_MS}`));
    await begun(cluster, NODES);
    pair.stream.hold();
    for (const { service } of cluster.nodes) {
      const refused = await service.call("recording", "?async");
      assert.equal(refused.status, 503, refused.text);
    }
    await wait(LEASE_MS);
    pair.stream.open();
    for (const answer of await Promise.all(running)) assert.equal(answer.status, 200, answer.text);
    for (const { service } of cluster.nodes) await assertServes(service);
    await assertNothingLost(cluster, told, 0);
    await assertNoneInterrupted(cluster, told);
  });
});
