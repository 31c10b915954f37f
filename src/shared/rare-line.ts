import type { Log } from "./log.ts";

/**
 * Tells of what may come a thousand times a second: the first, and one of those after a while.
 *
 * @param everyMs that lie between two lines of the log
 */
export function openRareLine(
  log: Log,
  level: "info" | "warn",
  everyMs = 10_000,
): (members: object, message: string) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (members, message) => {
    if (performance.now() - toldAt < everyMs) return;
    toldAt = performance.now();
    log[level](members, message);
  };
}
