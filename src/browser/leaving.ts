import { useLayoutEffect } from "hono/jsx/dom";

let isLeft = false;

/** The browser asks before it leaves the page, where something is held. @returns what ends that */
export function askBeforeLeaving(isHolding: () => boolean): () => void {
  const ask = (event: Event): void => {
    if (!isLeft && isHolding()) event.preventDefault();
  };
  addEventListener("beforeunload", ask);
  return () => removeEventListener("beforeunload", ask);
}

/** While something would be lost, the browser asks before it leaves the page. */
export function useAskBeforeLeaving(isAsking: boolean): void {
  useLayoutEffect(() => {
    if (!isAsking) return;
    return askBeforeLeaving(() => true);
  }, [isAsking]);
}

/** Whether the browser would ask before it leaves the page. */
export function isHeld(): boolean {
  return !dispatchEvent(new Event("beforeunload", { cancelable: true }));
}

/** Goes to another page and asks nobody: what this page holds is of something that is gone. */
export function leaveFor(path: string): void {
  isLeft = true;
  location.assign(path);
}
