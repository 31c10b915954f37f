import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { send, type Answer } from "../blackbox/client.ts";
import { poll } from "../blackbox/scenario.ts";
import type { Cluster, ClusterNode } from "./cluster.ts";
import type { Told } from "./cluster-load.ts";
import type { TestService } from "./test-service.ts";

/** What a test waits for at a cluster. */

/** Legs on one node, until one has the result. */
export async function follow(service: TestService, location: string): Promise<Answer> {
  for (let at = location; ;) {
    const answer = await service.call("recording", at.slice(at.indexOf("?")));
    if (answer.status !== 302) return answer;
    at = answer.headers["location"] ?? "";
  }
}

export function begun(cluster: Cluster, count: number): Promise<string[]> {
  return poll(`${count} flows to begin`, async () => {
    const started = await cluster.started();
    return started.length >= count ? started : null;
  });
}

/**
 * Until a node runs so many calls at once itself: what waits for a thread for a second is for whoever
 * has one.
 *
 * @returns how many flows have begun by then
 */
export async function warm(
  cluster: Cluster,
  { service, name }: ClusterNode,
  count = 1,
): Promise<number> {
  await poll(`threads of ${name}`, async () => {
    const calls = Array.from({ length: count }, () => service.call("held", "?ms=300"));
    const ids = (await Promise.all(calls)).map(
      ({ headers }) => headers["flowhook-execution-id"] ?? "",
    );
    const rows = await cluster.rows();
    return ids.every((id) => rows.get(id)?.node === name) || null;
  });
  return (await cluster.started()).length;
}

async function readiness({ origin }: TestService): Promise<number> {
  return (await send(origin, { target: "/health/ready" })).status;
}

export function untilReady(service: TestService, status: number): Promise<unknown> {
  return poll(`readiness ${status}`, async () =>
    (await readiness(service)) === status ? true : null,
  );
}

/** @returns what was told of the end of all these */
export function swept(cluster: Cluster, ids: readonly string[]): Promise<string[]> {
  return poll("another node to end what it ran", async () => {
    const rows = await cluster.rows();
    const found = ids.map((id) => rows.get(id));
    if (!found.every((row) => row?.status.startsWith("ENDED_"))) return null;
    for (const row of found) assert.equal(row?.status, "ENDED_ERROR", row?.status_message ?? "");
    return found.map((row) => row?.status_message ?? "");
  });
}

/** Until no flow ticks any more. */
export function quiet(cluster: Cluster): Promise<true> {
  return poll("the threads to be ended", async () => {
    const { length } = await cluster.ticks();
    await wait(500);
    return (await cluster.ticks()).length === length ? true : null;
  });
}

export async function assertServes(service: TestService): Promise<void> {
  await untilReady(service, 200);
  const answer = await service.call("held", "");
  assert.equal(answer.status, 200, answer.text);
}

const LEFT = "Cancelled: the caller's connection was closed";

/**
 * A caller whose beginning was in doubt may have been told so; nothing that ran was given up, and
 * nothing cancelled but what callers left as the load was stopped.
 */
export async function assertNoneInterrupted(cluster: Cluster, told: Told): Promise<void> {
  const rows = await poll("all that was begun to end", async () => {
    const found = [...(await cluster.rows()).values()];
    return found.every(({ status }) => status.startsWith("ENDED_")) ? found : null;
  });
  const left = rows.filter(({ status_message }) => status_message === LEFT);
  assert.ok(left.length <= told.left, `${left.length} cancelled, ${told.left} callers left`);
  for (const { id } of left)
    assert.ok(!told.acknowledged.has(id) || told.leftWaiting.has(id), `${id} was acknowledged`);
  for (const { status, status_message } of rows)
    if (status !== "ENDED_SUCCESS" && status_message !== LEFT)
      assert.match(status_message ?? "", /^not started/, status);
}
