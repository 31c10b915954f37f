import { useLayoutEffect } from "hono/jsx/dom";

/** How long another page may be on its way, in milliseconds, until what led to it can be done again. */
const WAY_MS = 5000;

/**
 * Goes to another page. Waits while that is on its way, so that what led to it is not done twice:
 * until somebody comes back to this page, or for so long where the way was stopped.
 */
export function goTo(path: string): Promise<void> {
  location.assign(path);
  return new Promise((resolve) => {
    setTimeout(resolve, WAY_MS);
    addEventListener("pageshow", () => resolve(), { once: true });
  });
}

/** While something would be lost, the browser asks before it leaves the page. */
export function useAskBeforeLeaving(isAsking: boolean): void {
  useLayoutEffect(() => {
    if (!isAsking) return;
    const ask = (event: Event): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isAsking]);
}
