import type { Flow } from "./resources.ts";
import { badge } from "./status.ts";

/** Broken flows may have an older version that serves all the same. */
export function flowBadge({ state, version }: Flow): HTMLElement {
  if (state === "ready") return badge("Ready", "good");
  return version === null
    ? badge("Broken", "bad")
    : badge("Broken, an older version serves", "bad");
}
