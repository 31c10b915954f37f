import type { FlowSpec } from "../shared/wire/protocol.ts";

/**
 * When a thread has had its runs: what a flow leaves behind in it goes with it. A new one costs the
 * time of a thousand runs, and thousands more until the engine has made them fast again.
 */

const MOST_RUNS = 100_000;
/** From so many on, one whose heap is half full is not used until it is full. */
const RUNS_UNTIL_GROWN = 10_000;
const CHECK_EVERY = 1_000;

const { memoryUsage } = process;

/** @param runs that it has had */
export function isWornOut(runs: number, { isolation, memory_mb }: FlowSpec): boolean {
  if (isolation === "execution" || runs >= MOST_RUNS) return true;
  if (runs < RUNS_UNTIL_GROWN || runs % CHECK_EVERY !== 0) return false;
  return isFull(memory_mb);
}

/** Buffers that nobody holds are let go of once there are so many. */
const UNHELD_MB = 64;
const MB = 2 ** 20;

function isFull(memory_mb: number): boolean {
  try {
    const { heapUsed, external } = memoryUsage();
    return heapUsed > (memory_mb / 2) * MB || external > (memory_mb + UNHELD_MB) * MB;
  } catch {
    // It is read from a file, and the flow may have opened as many as may be.
    return true;
  }
}
