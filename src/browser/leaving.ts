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

/** The browser asks before it leaves the page, until what is returned is called. */
export function askBeforeLeaving(): () => void {
  const ask = (event: Event): void => event.preventDefault();
  addEventListener("beforeunload", ask);
  return () => removeEventListener("beforeunload", ask);
}

/** While something would be lost, the browser asks before it leaves the page. */
export function useAskBeforeLeaving(isAsking: boolean): void {
  useLayoutEffect(() => (isAsking ? askBeforeLeaving() : undefined), [isAsking]);
}

/** The same while something is under way that is told this once, such as a key. */
export async function askMeanwhile<Value>(work: Promise<Value>): Promise<Value> {
  const stopAsking = askBeforeLeaving();
  try {
    return await work;
  } finally {
    stopAsking();
  }
}
