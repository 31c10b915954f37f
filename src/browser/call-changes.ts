import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { gather } from "./gathered.ts";
import { follow } from "./live.ts";
import { may } from "./page.ts";
import type { Range } from "./range.ts";
import type { ExecutionSummary } from "./resources.ts";

/** How often the figures are read again while calls come, in milliseconds. */
const REFRESH_MS = 3000;

/** A range is read again so many times while it passes: a longer one takes longer to read. */
const REFRESHES = 1200;

const more = (before: number): number => before + 1;

/** Count up where it is time to read again: however many calls come, once in an interval. */
interface CallChanges {
  readonly latest: number;
  readonly ofRange: number;
}

/** @param of where only calls of one webhook count, and only while they are shown */
export function useCallChanges(
  range: Range,
  of: { readonly webhook?: string; readonly isShown?: boolean } = {},
): CallChanges {
  const { webhook, isShown = true } = of;
  const [latest, setLatest] = useState(0);
  const [ofRange, setOfRange] = useState(0);
  const wasShown = useRef(false);
  useLayoutEffect(() => {
    if (!isShown) return;
    if (wasShown.current === true) {
      setLatest(more);
      setOfRange(more);
    }
    wasShown.current = true;
  }, [isShown]);
  useLayoutEffect(() => {
    if (!isShown || !may("execution.read")) return;
    const rangeMs = Math.max(REFRESH_MS, (range.spanSec * 1000) / REFRESHES);
    const takes = [
      gather<null>(
        () => "any",
        () => setLatest(more),
        REFRESH_MS,
      ),
      gather<null>(
        () => "any",
        () => setOfRange(more),
        rangeMs,
      ),
    ];
    const tell = (): void => takes.forEach((take) => take(null));
    const execution = (data: unknown): void => {
      if (webhook === undefined || (data as ExecutionSummary).webhook === webhook) tell();
    };
    // Nobody told what happened before the stream was open, or while the page was hidden.
    const live = follow(["execution", "events"], { execution }, tell);
    // What nobody calls grows old as well.
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setOfRange(more);
    }, range.interval_sec * 1000);
    return () => {
      clearInterval(timer);
      live.close();
    };
  }, [range, isShown]);
  return { latest, ofRange };
}
