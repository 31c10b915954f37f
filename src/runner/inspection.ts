import { once } from "node:events";
import type { FlowSpec, Inspection, RunnerSetup } from "../shared/wire/protocol.ts";
import { newClaims } from "../shared/wire/claims.ts";
import { REPLACED } from "./ending.ts";
import { startThread } from "./threads.ts";
import { findBusyPlace } from "./thread-place.ts";
import { isTaskResult } from "./thread-shapes.ts";
import type { Task } from "../shared/wire/thread-messages.ts";

const INSPECTING = { inspecting: true, line: null };

/** Imports a flow in a fresh thread without grants; bounded in time and memory; never rejects. */
export async function inspectInThread(spec: FlowSpec, setup: RunnerSetup): Promise<Inspection> {
  const bare: FlowSpec = { ...spec, grants: { net: false, read: [], write: [], secrets: [] } };
  const thread = startThread(bare, setup, { ...INSPECTING, claims: newClaims() });
  thread.on("error", () => {});
  const task: Task = { type: "inspect" };
  const isLate = new AbortController();
  const timer = setTimeout(() => isLate.abort(), setup.inspect_ms);
  try {
    const late = once(isLate.signal, "abort").then(() => describeLate(bare, setup));
    const result: unknown = await Promise.race([thread.run(task), late]);
    if (typeof result === "string") return broken(result);
    if (isTaskResult(result) && result.type === "inspected") return result.inspection;
    return broken(REPLACED);
  } catch (error) {
    return broken(reasonOf(error, spec));
  } finally {
    clearTimeout(timer);
    thread.destroy().catch(() => {});
  }
}

/** Why it has not ended. */
async function describeLate(bare: FlowSpec, setup: RunnerSetup): Promise<string> {
  const thread = startThread(bare, setup, { ...INSPECTING, claims: newClaims() });
  thread.on("error", () => {});
  const place = await findBusyPlace(thread, bare.directory).catch(() => null);
  thread.destroy().catch(() => {});
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
