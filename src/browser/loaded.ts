import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { isUnreached } from "./api.ts";
import { useServiceBack } from "./connection.ts";
import { complain } from "./notice.tsx";
import { track } from "./shown.ts";

/**
 * What a part of a page reads for itself; null until it is there. Answers may come in another order
 * than they were asked for: none is shown that is older, or of another question than the last one.
 *
 * @param of what it depends on: read again where one of these changes
 * @param count read again where it changes, while the answer of before is shown
 */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  of: readonly unknown[] = [],
  count = 0,
): [value: Value | null, reload: () => Promise<void>] {
  const [value, setValue] = useState<Value | null>(null);
  const [isMissing, setMissing] = useState(true);
  const asked = useRef({ of, last: 0, shown: 0 });
  const reload = async (): Promise<void> => {
    const now = asked.current;
    now.of = of;
    const mine = (now.last += 1);
    const answer = await load().catch((error: unknown) => {
      if (isUnreached(error)) setMissing(true);
      throw error;
    });
    const isOfThis = of.every((one, at) => one === now.of[at]);
    if (mine < now.shown || !isOfThis) return;
    now.shown = mine;
    setMissing(false);
    setValue(answer);
  };
  useLayoutEffect(() => {
    track(reload()).catch(complain);
  }, [...of, count]);
  useServiceBack(isMissing, () => void reload().catch(complain));
  return [value, reload];
}

/** How often what is looked at is read again, in milliseconds. */
const REFRESH_MS = 3000;

/**
 * Reads again while the page is looked at, and at once where somebody comes back to it.
 *
 * @param everyMs how often, in milliseconds
 */
export function useRefresh(
  reload: () => Promise<void>,
  isShown = true,
  everyMs = REFRESH_MS,
): void {
  const wasShown = useRef(false);
  const isReading = useRef(false);
  const latest = useRef(reload);
  latest.current = reload;
  useLayoutEffect(() => {
    if (!isShown) return;
    const again = (): void => {
      // The answer may take longer than that.
      if (document.visibilityState !== "visible" || isReading.current === true) return;
      isReading.current = true;
      const read = latest.current ?? reload;
      read()
        .catch(complain)
        .finally(() => (isReading.current = false));
    };
    if (wasShown.current === true) again();
    wasShown.current = true;
    const timer = setInterval(again, everyMs);
    document.addEventListener("visibilitychange", again);
    addEventListener("focus", again);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", again);
      removeEventListener("focus", again);
    };
  }, [isShown]);
}
