import { once } from "node:events";
import type { Piscina } from "piscina";
import type { FlowSpec, Inspection, RunnerSetup } from "../shared/wire/protocol.ts";
import { newClaims } from "../shared/wire/claims.ts";
import { REPLACED } from "./ending.ts";
import { startThread } from "./threads.ts";
import { findBusyPlace } from "./thread-place.ts";
import { isTaskResult } from "./thread-shapes.ts";
import type { Task, Withheld } from "../shared/wire/thread-messages.ts";

const NOTHING: Withheld = { files: false, net: false };
const INSPECTING = { inspecting: true, withheld: NOTHING, line: null };

/** A thread that has not ended so long after it was told to is held by a native call. */
const STUCK_MS = 2_000;

/**
 * Imports a flow in a fresh thread without grants; bounded in time and memory; never rejects.
 *
 * @param onStuck a thread of it does not end, and keeps a core busy
 */
export async function inspectInThread(
  spec: FlowSpec,
  setup: RunnerSetup,
  onStuck: () => void,
): Promise<Inspection> {
  const bare: FlowSpec = { ...spec, grants: { net: false, read: [], write: [], secrets: [] } };
  const isLate = new AbortController();
  const timer = setTimeout(() => isLate.abort(), setup.inspect_ms);
  const late = once(isLate.signal, "abort").then(() => null);
  try {
    const result = await inspectAsItRuns(bare, setup, { late, onStuck });
    if (result === null) return broken(await describeLate(bare, setup, onStuck));
    return isTaskResult(result) ? result.inspection : broken(REPLACED);
  } catch (error) {
    return broken(reasonOf(error, spec));
  } finally {
    clearTimeout(timer);
  }
}

/** What ends an inspection that takes too long, and hears of a thread that goes on all the same. */
interface Bounds {
  readonly late: Promise<null>;
  readonly onStuck: () => void;
}

/**
 * What a flow declares is known only once it was imported: where its packages asked for more, they
 * are imported again without that, as they will be when the flow runs, until they ask for no more.
 */
async function inspectAsItRuns(
  bare: FlowSpec,
  setup: RunnerSetup,
  bounds: Bounds,
): Promise<unknown> {
  for (let withheld = NOTHING; ;) {
    const result = await inspectOnce(bare, setup, withheld, bounds);
    if (!isTaskResult(result)) return result;
    const { files, net } = result.lacking;
    if (!(files && !withheld.files) && !(net && !withheld.net)) return result;
    withheld = { files: files || withheld.files, net: net || withheld.net };
  }
}

/** @returns null where it was too late before the thread had a result */
async function inspectOnce(
  bare: FlowSpec,
  setup: RunnerSetup,
  withheld: Withheld,
  { late, onStuck }: Bounds,
): Promise<unknown> {
  const thread = startThread(bare, setup, { ...INSPECTING, withheld, claims: newClaims() });
  thread.on("error", () => {});
  const task: Task = { type: "inspect" };
  try {
    return await Promise.race([thread.run(task), late]);
  } finally {
    end(thread, onStuck);
  }
}

/** Nobody waits for it. */
function end(thread: Piscina, onStuck: () => void): void {
  const late = setTimeout(onStuck, STUCK_MS);
  thread
    .destroy()
    .catch(() => {})
    .finally(() => clearTimeout(late));
}

/** Why it has not ended. */
async function describeLate(
  bare: FlowSpec,
  setup: RunnerSetup,
  onStuck: () => void,
): Promise<string> {
  const thread = startThread(bare, setup, { ...INSPECTING, claims: newClaims() });
  thread.on("error", () => {});
  const place = await findBusyPlace(thread, bare.directory).catch(() => null);
  end(thread, onStuck);
  const where =
    place === null ? "it waits for something at its top level" : `it was busy in ${place}`;
  return `Importing the flow took longer than ${setup.inspect_ms / 1000} s: ${where}`;
}

function broken(message: string): Inspection {
  return { kind: "broken", message, stack: null };
}

function reasonOf(error: unknown, { memory_mb }: FlowSpec): string {
  if (!(error instanceof Error)) return "The thread that imported the flow was lost";
  if (Reflect.get(error, "code") === "ERR_WORKER_OUT_OF_MEMORY") {
    return `Importing the flow used more than ${memory_mb} MB`;
  }
  return `The thread that imported the flow was lost: ${error.message}`;
}
