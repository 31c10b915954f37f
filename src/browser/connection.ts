import { useLayoutEffect } from "hono/jsx/dom";
import { read, SERVICE_BACK, SERVICE_GONE } from "./api.ts";

/** How often it is asked whether the service is there again, in milliseconds. */
const PROBE_MS = 2000;

/** Asks until the service is there again, while the page is looked at. */
export function watchConnection(): void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const probe = (): void => {
    // What comes of it is told by the events.
    if (document.visibilityState === "visible") read(["auth", "me"]).catch(() => {});
  };
  addEventListener(SERVICE_GONE, () => {
    timer = setInterval(probe, PROBE_MS);
  });
  addEventListener(SERVICE_BACK, () => clearInterval(timer));
}

/** What could not be read is read once the service is there again. */
export function useServiceBack(isMissing: boolean, act: () => void): void {
  useLayoutEffect(() => {
    if (!isMissing) return;
    addEventListener(SERVICE_BACK, act);
    return () => removeEventListener(SERVICE_BACK, act);
  });
}
