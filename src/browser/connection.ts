import { useLayoutEffect } from "hono/jsx/dom";
import { isThere, SERVICE_BACK, SERVICE_GONE } from "./api.ts";

/** After how long it is asked first whether the service is there again, in milliseconds. */
const PAUSE_MS = 2000;

/** The longest pause, in milliseconds. */
const MOST_PAUSE_MS = 60_000;

/** How long an answer is waited for, in milliseconds: a network may hang instead of refusing. */
const LIMIT_MS = 10_000;

/** Lost again within so many milliseconds, as after a read that waits for nothing, it was not away. */
const SOON_MS = 30_000;

/**
 * Asks until the service is there again, while the page is looked at. What could not be read is read
 * then; where that fails on its own, as behind a blocker, it is tried ever more seldom.
 */
export function watchConnection(): void {
  let isGone = false;
  let backAt = -Infinity;
  let pause = PAUSE_MS;
  const ask = async (): Promise<void> => {
    const isBack = document.visibilityState === "visible" && (await isThere(LIMIT_MS));
    if (!isBack) return askLater();
    isGone = false;
    backAt = performance.now();
    dispatchEvent(new Event(SERVICE_BACK));
  };
  const askLater = (): void => {
    setTimeout(() => void ask(), pause);
  };
  addEventListener(SERVICE_GONE, () => {
    if (isGone) return;
    isGone = true;
    const isSoon = performance.now() - backAt < SOON_MS;
    pause = isSoon ? Math.min(pause * 2, MOST_PAUSE_MS) : PAUSE_MS;
    askLater();
  });
}

/** What could not be read is read once the service is there again. */
export function useServiceBack(isMissing: boolean, act: () => void): void {
  useLayoutEffect(() => {
    if (!isMissing) return;
    addEventListener(SERVICE_BACK, act);
    return () => removeEventListener(SERVICE_BACK, act);
  });
}
