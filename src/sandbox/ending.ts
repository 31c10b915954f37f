import type { Ending } from "../runner/protocol.ts";

/** Endings as a pool tells them to the server. */

/** What a thread sent may have more to it, which has no form on the channel. */
export function toPlain(ending: Ending, aborted: boolean): Ending {
  const { status, status_message, output_value, response } = ending;
  return { status, status_message, output_value, response, aborted };
}

/** Why a run of a thread that is gone has failed. */
export function causeOf(error: unknown, memory_mb: number): string {
  if (!(error instanceof Error)) return "The flow's thread was lost";
  if (Reflect.get(error, "code") === "ERR_WORKER_OUT_OF_MEMORY") {
    return `Out of memory: the flow used more than ${memory_mb} MB (memory_mb)`;
  }
  return `The flow's thread was lost: ${error.message}`;
}
