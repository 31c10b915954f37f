import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { Answer } from "../blackbox/client.ts";
import { poll } from "../blackbox/scenario.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { openCluster, type Cluster, type ClusterNode } from "./cluster.ts";
import { figure, NODES } from "./sizes.ts";

/** The rate of a webhook, and what was refused, is one for all nodes, whatever becomes of them. */

let server: PostgresServer;

before(async () => {
  server = await openPostgres();
});
after(() => server.stop());

async function openLimited(limits: object): Promise<Cluster> {
  const cluster = await openCluster(server, { nodes: NODES });
  const { service } = cluster.nodes[0] as ClusterNode;
  await service.createWebhook("limited", "recording", { is_productive: true, limits });
  return cluster;
}

/** Parallel calls, at each node in turn; null: the connection broke. */
function callAll({ nodes }: Cluster, count: number): Promise<(Answer | null)[]> {
  return Promise.all(
    Array.from({ length: count }, (_, n) =>
      (nodes[n % nodes.length] as ClusterNode).service.call("limited", "?async").catch(() => null),
    ),
  );
}

function countOf(answers: readonly (Answer | null)[], status: number): number {
  return answers.filter((answer) => answer?.status === status).length;
}

describe("limits of nodes", () => {
  test("of parallel calls at all nodes exactly as many pass as the burst is", async () => {
    await using cluster = await openLimited({ rate: { calls: 1, per_sec: 3600, burst: 50 } });
    const answers = await callAll(cluster, 300);
    figure("nodes: calls that took a token of 50", countOf(answers, 201));
    assert.deepEqual([countOf(answers, 201), countOf(answers, 429)], [50, 250]);
    for (const answer of answers) {
      if (answer?.status !== 429) continue;
      const after = Number(answer.headers["retry-after"]);
      assert.ok(after > 3500 && after <= 3600, answer.head);
    }
    assert.equal((await cluster.settled()).size, 50);
  });

  test("a node that is killed takes no token with it, and gives none", async () => {
    await using cluster = await openLimited({ rate: { calls: 1, per_sec: 3600, burst: 60 } });
    const answers = callAll(cluster, 200);
    const [victim] = cluster.nodes.splice(1, 1);
    await wait(30);
    await victim?.service.kill();
    await victim?.service.start();
    if (victim !== undefined) cluster.nodes.push(victim);
    const all = [...(await answers), ...(await callAll(cluster, 120))];
    const lost = all.filter((answer) => answer === null).length;
    const passed = countOf(all, 201);
    figure("nodes: calls that a kill has broken", lost);
    assert.ok(passed <= 60 && passed >= 60 - lost, `${passed} passed, ${lost} were lost`);
    assert.equal(passed + lost + countOf(all, 429) + countOf(all, 503), all.length);
  });

  test("a node that cannot reach the database answers 503, and admits nobody", async () => {
    await using cluster = await openLimited({ rate: { calls: 1, per_sec: 3600, burst: 9 } });
    const [away, ...others] = cluster.nodes as [ClusterNode, ...ClusterNode[]];
    assert.equal((await away.service.call("limited", "?async")).status, 201);
    for (const breakIt of ["drop", "hold"] as const) {
      away.proxy[breakIt]();
      const began = performance.now();
      const answers = await callAll({ ...cluster, nodes: [away] }, 12);
      const took = performance.now() - began;
      assert.equal(countOf(answers, 503), 12, breakIt);
      for (const answer of answers) assert.equal(answer?.headers["retry-after"], "5");
      assert.ok(took < 8000, `${breakIt}: ${took} ms`);
      away.proxy.open();
    }
    const left = await callAll({ ...cluster, nodes: others }, 20);
    assert.equal(countOf(left, 201), 8, "what was answered 503 took nothing");
    await poll("the node to be back", async () => {
      const { status } = await away.service.call("limited", "?async");
      return status === 429 ? true : null;
    });
  });

  test("what one node refused is listed by all, and stays when the node is killed", async () => {
    await using cluster = await openLimited({ max_concurrent: 1 });
    const [one, ...others] = cluster.nodes as [ClusterNode, ...ClusterNode[]];
    const headers = { "content-type": "text/x-one" };
    await one.service.call("limited", "?async", { method: "POST", body: "a", headers });
    const listed = (node: ClusterNode) =>
      poll("the refused call", async () => {
        const { text } = await node.service.api("GET", "/webhook/limited/refusal");
        const { items } = JSON.parse(text) as { items: { code: string }[] };
        return items[0]?.code ?? null;
      });
    const began = performance.now();
    for (const node of others) assert.equal(await listed(node), "unsupported_type");
    figure("nodes: until a refused call is listed elsewhere", performance.now() - began, "ms");
    await one.service.kill();
    for (const node of others) assert.equal(await listed(node), "unsupported_type");
    await one.service.start();
    assert.equal(await listed(one), "unsupported_type");
  });
});
