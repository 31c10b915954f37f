/** Why threads ended, as the runner tells it to the server. */

/** Why an inspection failed whose thread told something else than what it found. */
export const REPLACED = "The flow replaced the answer of its thread";

/** Why a run of a thread that is gone has failed. */
export function causeOf(error: unknown, memory_mb: number): string {
  if (!(error instanceof Error)) return "The flow's thread was lost";
  if (Reflect.get(error, "code") === "ERR_WORKER_OUT_OF_MEMORY") {
    return `Out of memory: the flow used more than ${memory_mb} MB (memory_mb)`;
  }
  return `The flow's thread was lost: ${error.message}`;
}
