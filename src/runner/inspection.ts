import { setTimeout as sleep } from "node:timers/promises";
import type { Piscina } from "piscina";
import {
  isRecord,
  type FlowSpec,
  type Inspection,
  type RunnerSetup,
} from "../shared/wire/protocol.ts";
import { startThread } from "./threads.ts";
import type { Imported, Withheld } from "../shared/wire/thread-messages.ts";

const NOTHING: Withheld = { files: false, net: false };

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
  const late = sleep(setup.inspect_ms, null, { ref: false });
  const importWithout: Import = async (withheld) => {
    const thread = startThread(bare, setup, { withheld });
    thread.on("error", () => {});
    try {
      return await Promise.race([thread.run(null), late]);
    } finally {
      end(thread, onStuck);
    }
  };
  try {
    const found = await importAsItRuns(importWithout);
    if (found === null)
      return broken(
        `Importing the flow took longer than ${setup.inspect_ms / 1000} s: at its top level it waits or loops`,
      );
    return isImported(found)
      ? found.inspection
      : broken("The flow replaced the answer of its thread");
  } catch (error) {
    return broken(reasonOf(error, spec));
  }
}

/** Imports in a fresh thread. @returns null where it was too late before that had a result */
type Import = (withheld: Withheld) => Promise<unknown>;

/**
 * What a flow declares is known only once it was imported: where its packages asked for more, they
 * are imported again without that, as they will be when the flow runs, until they ask for no more.
 */
async function importAsItRuns(importWithout: Import): Promise<unknown> {
  for (let withheld = NOTHING; ;) {
    const found = await importWithout(withheld);
    if (!isImported(found)) return found;
    const { files, net } = found.lacking;
    if (!(files && !withheld.files) && !(net && !withheld.net)) return found;
    withheld = { files: files || withheld.files, net: net || withheld.net };
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

/** A flow that got hold of its thread's channel could send anything as its task's result. */
function isImported(value: unknown): value is Imported {
  if (!isRecord(value) || !isRecord(value["inspection"])) return false;
  const { lacking } = value;
  return (
    isRecord(lacking) &&
    typeof lacking["files"] === "boolean" &&
    typeof lacking["net"] === "boolean"
  );
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
