import { failed, type Ending } from "../shared/wire/protocol.ts";

/** Endings as the runner tells them to the server. */

/** Why a run failed of which its thread told something else than an ending. */
export const REPLACED = "The flow replaced the answer of its thread";

/**
 * Characters of JSON that say one byte of a body, and that stand around it. Control characters
 * take six: a body of them alone is not worth the time of all who wait while it is read.
 */
const ESCAPED = 2;
const MAX_HEAD = 64 * 1024;

/**
 * What a thread sent may have more to it, which has no form on the channel, or be larger than
 * its program lets it be.
 */
export function toPlain(ending: Ending, max_output_bytes: number): Ending {
  const { status, status_message, output_value, response, aborted } = ending;
  const length = response?.length ?? 0;
  if (length > max_output_bytes * ESCAPED + MAX_HEAD)
    return { ...failed(`The custom response is too large: ${length} characters as JSON`), aborted };
  if ((output_value?.length ?? 0) > max_output_bytes) return { ...failed(REPLACED), aborted };
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
