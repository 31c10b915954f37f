import { useLayoutEffect, useState } from "hono/jsx/dom";
import { now } from "../shared/clock.ts";

/**
 * Milliseconds since the epoch by the clock of the service, read again as time passes.
 *
 * @param everyMs how often; null: once
 */
export function useNow(everyMs: number | null): number {
  const [at, setAt] = useState(now);
  useLayoutEffect(() => {
    if (everyMs === null) return;
    setAt(now());
    const timer = setInterval(() => setAt(now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return at;
}
