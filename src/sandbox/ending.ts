import { failed, type Ending } from "../runner/protocol.ts";

/** Endings as a pool tells them to the server. */

/** Why a run failed of which its thread told something else than an ending. */
export const REPLACED = "The flow replaced the answer of its thread";

/** Characters of JSON that say one byte of a body at most, and that stand around it. */
const ESCAPED = 6;
const MAX_HEAD = 64 * 1024;

/**
 * What a thread sent may have more to it, which has no form on the channel, or be larger than
 * its program lets it be.
 */
export function toPlain(
  ending: Ending,
  { aborted, max_output_bytes }: { aborted: boolean; max_output_bytes: number },
): Ending {
  const { status, status_message, output_value, response } = ending;
  const is_small =
    (output_value?.length ?? 0) <= max_output_bytes &&
    (response?.length ?? 0) <= max_output_bytes * ESCAPED + MAX_HEAD;
  if (!is_small) return { ...failed(REPLACED), aborted };
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
