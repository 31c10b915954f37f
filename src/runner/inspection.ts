import { setTimeout as sleep } from "node:timers/promises";
import type { Piscina } from "piscina";
import {
  isRecord,
  type FlowSpec,
  type Inspection,
  type RunnerSetup,
} from "../shared/wire/protocol.ts";
import { startThread } from "./threads.ts";
import { findBusyPlace } from "./thread-place.ts";
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
  const inThread: InThread = async (withheld, act) => {
    const thread = startThread(bare, setup, { withheld });
    thread.on("error", () => {});
    try {
      return await act(thread);
    } finally {
      end(thread, onStuck);
    }
  };
  try {
    const late = sleep(setup.inspect_ms, null, { ref: false });
    const found = await importAsItRuns(inThread, late);
    if (found !== null)
      return isImported(found)
        ? found.inspection
        : broken("The flow replaced the answer of its thread");
    const place = await inThread(NOTHING, (thread) =>
      findBusyPlace(thread, bare.directory).catch(() => null),
    );
    return broken(describeLate(setup.inspect_ms, place));
  } catch (error) {
    return broken(reasonOf(error, spec));
  }
}

/** Does something with a fresh thread, which is ended then. */
type InThread = <T>(withheld: Withheld, act: (thread: Piscina) => Promise<T>) => Promise<T>;

/**
 * What a flow declares is known only once it was imported: where its packages asked for more, they
 * are imported again without that, as they will be when the flow runs, until they ask for no more.
 *
 * @returns null where it was too late before the thread had a result
 */
async function importAsItRuns(inThread: InThread, late: Promise<null>): Promise<unknown> {
  for (let withheld = NOTHING; ;) {
    const found: unknown = await inThread(withheld, (thread) =>
      Promise.race([thread.run(null), late]),
    );
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

/** Why it has not ended. */
function describeLate(inspect_ms: number, place: string | null): string {
  const where =
    place === null ? "it waits for something at its top level" : `it was busy in ${place}`;
  return `Importing the flow took longer than ${inspect_ms / 1000} s: ${where}`;
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
