import { once } from "node:events";
import type { Profiler } from "node:inspector";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Worker } from "node:worker_threads";
import type { Piscina } from "piscina";
import { isRecord } from "../shared/wire/protocol.ts";

/** Where an import is that does not come back, as a profile of its processor time tells. */

/** How long it is watched, and how long that may take in all, in milliseconds. */
const SAMPLE_MS = 1500;
const MOST_MS = 5000;
/** Of a thread that does not answer its watcher either. */
const NATIVE = "a call of the runtime that nothing interrupts, as long hashes and compressions are";
/** Fewer tell nothing: a module that waits was seen while it was compiled. */
const LEAST_HITS = 20;

/** The runtime tells how often each was seen. */
type ProfileNode = Profiler.ProfileNode & { readonly hitCount: number };

/**
 * Imports once more in a fresh thread, and watches it from its beginning: the runtime names only
 * functions that were compiled while it was watched.
 *
 * @param thread one that has done nothing yet; it is of no use afterwards
 * @param directory of the flow's files; others are not told
 * @returns innermost first, `spin (lib/loop.ts:3) < top level (order.ts)`, or that it is in a call
 *   which nobody can look into; null where it waits without being busy, or the runtime does not tell
 */
export async function findBusyPlace(thread: Piscina, directory: string): Promise<string | null> {
  thread.run(null).catch(() => {});
  const [worker] = thread.threads;
  const { startCpuProfile } = (worker ?? {}) as Partial<Worker>;
  if (worker === undefined || startCpuProfile === undefined) return null;
  if ((await within(MOST_MS, once(worker, "online"))) === null) return null;
  const profile = await within(MOST_MS, takeProfile(worker));
  return profile === null ? NATIVE : describeBusiest(profile, pathToFileURL(`${directory}/`).href);
}

/** @returns null where it takes longer */
function within<T>(ms: number, act: Promise<T>): Promise<T | null> {
  return Promise.race([act, sleep(ms, null, { ref: false })]);
}

async function takeProfile(worker: Worker): Promise<readonly ProfileNode[]> {
  const handle = await worker.startCpuProfile();
  await sleep(SAMPLE_MS);
  const profile: unknown = JSON.parse(await handle.stop());
  return isRecord(profile) && Array.isArray(profile["nodes"])
    ? (profile["nodes"] as ProfileNode[])
    : [];
}

function describeBusiest(nodes: readonly ProfileNode[], folder: string): string | null {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)),
  );
  const own = nodes.filter(({ callFrame }) => callFrame.url.startsWith(folder));
  const [busiest] = own.toSorted((a, b) => b.hitCount - a.hitCount);
  if (busiest === undefined || busiest.hitCount < LEAST_HITS) return null;
  const frames: string[] = [];
  for (let node = byId.get(busiest.id); node !== undefined; node = parents.get(node.id))
    if (node.callFrame.url.startsWith(folder)) frames.push(describe(node, folder));
  return frames.join(" < ");
}

/** With the line that was seen most, or where the function begins; that of a module tells nothing. */
function describe({ callFrame, positionTicks = [] }: ProfileNode, folder: string): string {
  const { functionName, url, lineNumber } = callFrame;
  const [most] = positionTicks.toSorted((a, b) => b.ticks - a.ticks);
  const begin = functionName === "" ? null : lineNumber + 1;
  const line = most?.line ?? begin;
  const file = decodeURI(url.slice(folder.length));
  return `${functionName || "top level"} (${line === null ? file : `${file}:${line}`})`;
}
