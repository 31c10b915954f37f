import type { Log } from "../../shared/log.ts";

/** So many milliseconds lie between two lines of the log. */
const WARNING_MS = 10_000;

/** Warns of what may come a thousand times a second: the first, and one of those after a while. */
export function openRareWarning(log: Log): (members: object, message: string) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (members, message) => {
    if (performance.now() - warnedAt < WARNING_MS) return;
    warnedAt = performance.now();
    log.warn(members, message);
  };
}
