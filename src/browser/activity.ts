import { call } from "./api.ts";

/** The person is reported once in this time, in milliseconds; the 402 rule looks at ten minutes. */
const INTERVAL_MS = 60_000;

let reported = -INTERVAL_MS;

/** Reports what a person does on the page: an open tab that nobody looks at is no activity. */
export function watchActivity(): void {
  for (const event of ["pointerdown", "keydown", "wheel", "touchstart"])
    addEventListener(event, report, { passive: true });
  report();
}

function report(): void {
  const at = performance.now();
  if (document.visibilityState !== "visible" || at - reported < INTERVAL_MS) return;
  reported = at;
  // An act a minute later tries again; an ended session says so by itself.
  call("POST", ["workspace", "activity"]).catch(() => {});
}
