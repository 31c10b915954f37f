import type { FlowSpec, Inspection, RunnerSetup } from "../shared/wire/protocol.ts";
import { newClaims } from "../shared/wire/claims.ts";
import { REPLACED } from "./ending.ts";
import { startThread } from "./threads.ts";
import { isTaskResult } from "./thread-shapes.ts";
import type { Task } from "../shared/wire/thread-messages.ts";

/** Imports a flow in a fresh thread without grants; bounded in time and memory; never rejects. */
export async function inspectInThread(spec: FlowSpec, setup: RunnerSetup): Promise<Inspection> {
  const bare: FlowSpec = { ...spec, grants: { net: false, read: [], write: [], secrets: [] } };
  const thread = startThread(bare, setup, { inspecting: true, claims: newClaims() });
  thread.on("error", () => {});
  const task: Task = { type: "inspect" };
  try {
    const result: unknown = await thread.run(task, {
      signal: AbortSignal.timeout(setup.inspect_ms),
    });
    if (isTaskResult(result) && result.type === "inspected") return result.inspection;
    return broken(REPLACED);
  } catch (error) {
    return broken(reasonOf(error, spec, setup));
  } finally {
    thread.destroy().catch(() => {});
  }
}

function broken(message: string): Inspection {
  return { kind: "broken", message, stack: null };
}

function reasonOf(error: unknown, { memory_mb }: FlowSpec, { inspect_ms }: RunnerSetup): string {
  if (!(error instanceof Error)) return "The thread that imported the flow was lost";
  if (error.name === "AbortError")
    return `Importing the flow took longer than ${inspect_ms / 1000} s`;
  if (Reflect.get(error, "code") === "ERR_WORKER_OUT_OF_MEMORY") {
    return `Importing the flow used more than ${memory_mb} MB`;
  }
  return `The thread that imported the flow was lost: ${error.message}`;
}
