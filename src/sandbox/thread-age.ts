import type { FlowSpec } from "../shared/wire/protocol.ts";

/**
 * When a thread has had its runs: what a flow leaves behind in it goes with it. A new one costs the
 * time of a thousand runs, and thousands more until the engine has made them fast again.
 */

const MOST_RUNS = 100_000;
/** From so many on, one whose memory is half full is not used until it is full. */
const RUNS_UNTIL_GROWN = 10_000;
const CHECK_EVERY = 1_000;

const { memoryUsage } = process;

/** @param runs that it has had */
export function isWornOut(runs: number, { isolation, memory_mb }: FlowSpec): boolean {
  if (isolation === "execution" || runs >= MOST_RUNS) return true;
  if (runs < RUNS_UNTIL_GROWN || runs % CHECK_EVERY !== 0) return false;
  return usedBytes() > (memory_mb / 2) * 2 ** 20;
}

/** Of its heap, and of buffers beside it. It reads a file: a flow may have opened as many as may be. */
function usedBytes(): number {
  try {
    const { heapUsed, external } = memoryUsage();
    return heapUsed + external;
  } catch {
    return Infinity;
  }
}
