import type { Log } from "../../shared/log.ts";

/** How often it is said, in milliseconds. */
const EVERY_MS = 600_000;

/** Tells the log that more flows are in use at once than have a thread: their calls wait for starts. */
export function openCrowdedReport(
  log: Log,
  warmThreads: number,
  now = (): number => performance.now(),
): () => void {
  let toldAt = -Infinity;
  return () => {
    if (now() - toldAt < EVERY_MS) return;
    toldAt = now();
    log.warn(
      `More flows are in use at once than WARM_THREADS (${warmThreads}) keeps threads for: calls wait ` +
        "until a thread of their flow has started. Set it to as many as are in use",
    );
  };
}
