import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Answer } from "../blackbox/client.ts";
import { openGates } from "../blackbox/gates.ts";
import { executionId, poll } from "../blackbox/scenario.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { mostUntilSwept, openCluster, type Cluster, type ClusterNode } from "./cluster.ts";
import { warm } from "./cluster-watch.ts";
import { openMeeting } from "./meeting.ts";
import { figure, mostHere, NODES } from "./sizes.ts";

/** What a webhook limits, and what was refused, is one for all nodes, whatever becomes of them. */

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
      assert.ok(took < mostHere(8000), `${breakIt}: ${took} ms`);
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

  test("never more run at once than may, while nodes are killed and started", async () => {
    await using meeting = await openMeeting();
    await using cluster = await openLimited({ max_concurrent: 3 });
    const all: (Answer | null)[] = [];
    for (let round = 0; round < 4; round += 1) {
      const calls = Array.from({ length: 45 }, (_, at) => {
        const { service } = cluster.nodes[at % cluster.nodes.length] as ClusterNode;
        return service.call("limited", `?async&${meeting.query(at % 25)}`).catch(() => null);
      });
      await wait(150);
      if (round % 2 === 0) {
        const [victim] = cluster.nodes.splice(round === 0 ? 1 : 0, 1) as [ClusterNode];
        await victim.service.kill();
        if (round === 0) await victim.service.start();
        if (round === 0) cluster.nodes.push(victim);
      }
      all.push(...(await Promise.all(calls)));
    }
    // Short ones may never meet on a busy machine: these stay until three are there.
    const [{ service }] = cluster.nodes as [ClusterNode];
    for (let at = 0; at < 4; at += 1)
      all.push(await service.call("limited", `?async&${meeting.query(600_000)}`));
    await poll("three at once", async () => meeting.seen.most >= 3 || null);
    await poll("all to have met", async () => {
      meeting.part();
      const found = await cluster.rows();
      return [...found.values()].every(({ status }) => status.startsWith("ENDED_")) || null;
    });
    const rows = [...(await cluster.settled()).values()];
    const started = await cluster.started();
    figure("nodes: executions of a limited webhook", rows.length);
    figure("nodes: of which ran at once at most", meeting.seen.most);
    assert.equal(meeting.seen.most, 3);
    assert.equal(new Set(started).size, started.length, "one ran twice");
    const acknowledged = all.filter((answer) => answer?.status === 201).length;
    assert.ok(rows.length >= acknowledged, `${acknowledged} acknowledged, ${rows.length} there`);
    const lost = rows.filter(({ status }) => status !== "ENDED_SUCCESS");
    assert.ok(lost.length <= 6, `${lost.length} did not end well`);
    for (const { status_message } of lost) assert.match(status_message ?? "", /^interrupted/);
  });

  test("the place of a node that is killed is free again once its lease is over", async () => {
    await using gates = await openGates();
    await using cluster = await openLimited({ max_concurrent: 1 });
    const [holder, other] = cluster.nodes as [ClusterNode, ClusterNode];
    await warm(cluster, holder);
    await startAt(holder, gates.query("held"));
    await gates.arrived("held");
    await startAt(other, gates.query("next"));
    const asked = performance.now();
    const left = await leaseOfBusy(cluster);
    await holder.service.kill();
    await gates.arrived("next");
    const took = performance.now() - asked;
    figure("nodes: until the place of a lost node is taken", took, "ms");
    assert.ok(took > left - 50 && took < 1000 + mostUntilSwept(), `${took} ms, ${left} ms`);
    gates.open("next");
  });

  test("a call that was refused for others takes no place at its node", async () => {
    await using gates = await openGates();
    await using cluster = await openLimited({ max_concurrent: 1, when_busy: "refuse" });
    const [holder, other] = cluster.nodes as [ClusterNode, ClusterNode];
    await warm(cluster, holder);
    await warm(cluster, other);
    await startAt(holder, gates.query("held"));
    await gates.arrived("held");
    const refused = await other.service.call("limited", "?async");
    assert.deepEqual([refused.status, refused.text.includes("webhook_busy")], [429, true]);
    gates.open("held");
    await cluster.settled();
    // Where no place is left at its node, another one takes it.
    const id = await startAt(other, gates.query("next"));
    await gates.arrived("next");
    const { text } = await other.service.api("GET", `/execution/${id}`);
    assert.equal((JSON.parse(text) as { node: string }).node, other.name);
    gates.open("next");
  });

  test("what waits at a node that is stopped keeps its turn", async () => {
    await using gates = await openGates();
    await using cluster = await openCluster(server, { nodes: 2, leads_group: true });
    const [stopped, other] = cluster.nodes as [ClusterNode, ClusterNode];
    const limits = { max_concurrent: 1 };
    await other.service.createWebhook("limited", "recording", { is_productive: true, limits });
    const before = await warm(cluster, other);
    const ids = [await startAt(other, gates.query("first"))];
    await gates.arrived("first");
    ids.push(await startAt(stopped, gates.query("second")));
    ids.push(await startAt(other, gates.query("third")));
    stopped.service.signalGroup("SIGSTOP");
    gates.open("first");
    await gates.arrived("second");
    gates.open("second");
    await gates.arrived("third");
    gates.open("third");
    stopped.service.signalGroup("SIGCONT");
    await cluster.settled();
    assert.deepEqual((await cluster.started()).slice(before), ids);
  });
});

/** @returns what is left of the lease of the node that runs something, in milliseconds */
async function leaseOfBusy({ url }: Cluster): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ left: string }>(
    `select lease_until - (extract(epoch from clock_timestamp()) * 1000)::bigint as left
      from node where id = (select node_id from execution where status = 'RUNNING')`,
  );
  await client.end();
  return Number(rows[0]?.left);
}

/** @returns the id of its execution */
async function startAt({ service }: ClusterNode, query: string): Promise<string> {
  return executionId(await service.call("limited", `?async&${query}`));
}
