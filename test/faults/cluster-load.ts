import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { poll } from "../blackbox/scenario.ts";
import type { Cluster, StoredRow } from "./cluster.ts";
import { repeated } from "./repeated.ts";
import type { TestService } from "./test-service.ts";

/** What callers of a cluster were told, and what its database said of it at any time. */
export class Told {
  readonly acknowledged = new Set<string>();
  /** Statuses that a caller was given, by id. */
  readonly results = new Map<string, string>();
  /** Each status that answers had, and how often. */
  readonly answers = new Map<number, number>();
  broken = 0;
  /** Calls whose callers left as the load was stopped. */
  left = 0;
  /** Ids of those that had been acknowledged by then, and whose callers left while they waited. */
  readonly leftWaiting = new Set<string>();
  readonly #ended = new Map<string, string>();
  readonly #changed: string[] = [];

  /** Resolves once so many were acknowledged in all: a busy machine takes longer for them. */
  async untilAcknowledged(count: number): Promise<void> {
    await poll(`${count} to be acknowledged`, async () => this.acknowledged.size >= count || null);
  }

  /** Compares what had ended before with what it is now. */
  note(rows: ReadonlyMap<string, StoredRow>): void {
    for (const [id, status] of this.#ended)
      if (rows.get(id)?.status !== status)
        this.#changed.push(`${id} ${status} ${rows.get(id)?.status ?? "is gone"}`);
    for (const { id, status } of rows.values())
      if (status.startsWith("ENDED_")) this.#ended.set(id, status);
  }

  /** Once all has ended: what does not hold. */
  async compare(cluster: Cluster) {
    const rows = await cluster.settled();
    this.note(rows);
    const started = await cluster.started();
    const once = new Set(started);
    const ran = [...rows.values()].filter(({ status }) => status === "ENDED_SUCCESS");
    return {
      lost: [...this.acknowledged].filter((id) => !rows.has(id)),
      twice: repeated(started),
      changed: this.#changed,
      /** A caller got another ending than the one that the row tells. */
      differing: [...this.results].filter(([id, status]) => rows.get(id)?.status !== status),
      unrun: ran.filter(({ id }) => !once.has(id)).map(({ id }) => id),
    };
  }
}

/** What is called: of several, this and that one. */
export interface Called {
  readonly nodes: readonly { readonly service: Pick<TestService, "call"> }[];
}

export const NOTHING = { lost: [], twice: [], changed: [], differing: [], unrun: [] };

/** Calls this and that node in each way until it is told to stop; broken connections are the point. */
export async function load(
  called: Called,
  told: Told,
  random: () => number,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const service = pick(called, random);
    if (service === null) await wait(20);
    else await callOnce(called, service, told, random, stop).catch(() => broken(told, stop));
  }
}

function pick({ nodes }: Called, random: () => number): Called["nodes"][number]["service"] | null {
  return nodes[Math.floor(random() * nodes.length)]?.service ?? null;
}

async function broken(told: Told, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return void (told.left += 1);
  told.broken += 1;
  await wait(10);
}

async function callOnce(
  called: Called,
  service: Pick<TestService, "call">,
  told: Told,
  random: () => number,
  stop: AbortSignal,
): Promise<void> {
  const ms = Math.floor(random() * 40);
  const way = random();
  const webhook = way < 0.3 ? "held" : "recording";
  const path = way < 0.6 ? `?ms=${ms}` : `?ms=${ms}&async`;
  const answer = await service.call(webhook, path, { signal: stop });
  note(told, answer);
  const id = answer.headers["flowhook-execution-id"];
  if ([200, 201, 303].includes(answer.status)) told.acknowledged.add(id ?? "");
  else if (id === undefined) await wait(20);
  const location = answer.headers["location"];
  if (location === undefined) return;
  const left = await walk(called, told, random, location, stop);
  if (left && id !== undefined) told.leftWaiting.add(id);
}

/**
 * The legs of a redirected call, each on any node.
 *
 * @returns whether its caller left one of them as the load was stopped
 */
async function walk(
  called: Called,
  told: Told,
  random: () => number,
  location: string,
  stop: AbortSignal,
): Promise<boolean> {
  for (let at = location, tries = 0; tries < 10 && !stop.aborted; tries += 1) {
    const service = pick(called, random);
    const query = at.slice(at.indexOf("?"));
    const answer = await service?.call("recording", query, { signal: stop }).catch(() => null);
    if (answer === undefined || answer === null) {
      await broken(told, stop);
      if (stop.aborted) return true;
    } else {
      note(told, answer);
      if (answer.status === 200 || answer.status === 500) return false;
      at = answer.headers["location"] ?? at;
    }
  }
  return false;
}

function note(told: Told, answer: Awaited<ReturnType<TestService["call"]>>): void {
  const { status, headers, text } = answer;
  told.answers.set(status, (told.answers.get(status) ?? 0) + 1);
  const id = headers["flowhook-execution-id"];
  if (id === undefined) return;
  if (status === 200) told.results.set(id, "ENDED_SUCCESS");
  const [, failed] = /^(ENDED_\w+): /.exec(text) ?? [];
  if (status === 500 && failed !== undefined) told.results.set(id, failed);
}

/** A load that is stopped, with all its callers gone, at the end of a block. */
export function openLoad(
  called: Called,
  told: Told,
  { callers, random }: { readonly callers: number; readonly random: () => number },
): AsyncDisposable {
  const stop = new AbortController();
  const all = Array.from({ length: callers }, () => load(called, told, random, stop.signal));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(all);
    },
  };
}

/** @param least how many have to be acknowledged, for the test to have tried anything */
export async function assertNothingLost(cluster: Cluster, told: Told, least: number) {
  const found = await told.compare(cluster);
  assert.ok(told.acknowledged.size >= least, `only ${told.acknowledged.size} were acknowledged`);
  assert.deepEqual(found, NOTHING);
}
