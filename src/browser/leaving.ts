import { useLayoutEffect } from "hono/jsx/dom";

/** While something would be lost, the browser asks before it leaves the page. */
export function useAskBeforeLeaving(isAsking: boolean): void {
  useLayoutEffect(() => {
    if (!isAsking) return;
    const ask = (event: Event): void => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isAsking]);
}
