import type { Log } from "../../shared/log.ts";

/** So many milliseconds lie between two lines of the log. */
const RARE_MS = 10_000;

/** Tells of what may come a thousand times a second: the first, and one of those after a while. */
export function openRareLine(
  log: Log,
  level: "info" | "warn",
): (members: object, message: string) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (members, message) => {
    if (performance.now() - toldAt < RARE_MS) return;
    toldAt = performance.now();
    log[level](members, message);
  };
}
