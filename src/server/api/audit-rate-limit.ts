import type { Log } from "../../shared/log.ts";

/**
 * Bounds the audit entries of refused requests that nobody was logged in for: a flood of them is
 * to fill neither the disk nor the writer. What is left out is counted in the log.
 */
export interface AuditRateLimit {
  admits(): boolean;
}

const MINUTE_MS = 60_000;

/** @param most Entries of one minute */
export function openAuditRateLimit(log: Log, most: number): AuditRateLimit {
  /** By the monotonic clock: one that is set back would begin no minute for long. */
  let since = performance.now();
  let count = 0;
  return {
    admits() {
      const at = performance.now();
      if (at - since >= MINUTE_MS) {
        if (count > most)
          log.warn({ left_out: count - most }, "Refused attempts left out of the audit");
        since = at;
        count = 0;
      }
      count += 1;
      return count <= most;
    },
  };
}
