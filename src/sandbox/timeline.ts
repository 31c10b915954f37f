import * as js from "../shared/intrinsics.ts";

const { performance } = globalThis;
const getEntries = js.uncurry(performance.getEntries);
const clearMarks = js.uncurry(performance.clearMarks);
const clearMeasures = js.uncurry(performance.clearMeasures);
const setMostRequests = js.uncurry(performance.setResourceTimingBufferSize);

/**
 * Requests are recorded as their body is closed, which may be after the end of the run that has sent
 * them: the next one would find their addresses. None is.
 */
export function recordNoRequests(): void {
  setMostRequests(performance, 0);
}

/** Marks and measures that a run leaves in `performance`, where the next one would find them. */
export class Timeline {
  /** What the flow has marked while it was loaded, for each run to measure from. */
  readonly #kept = getEntries(performance);

  /** After a run. @returns whether the next one finds what this one has found */
  forget(): boolean {
    const found = getEntries(performance);
    if (this.#areKept(found)) return true;
    if (this.#kept.length > 0) return false;
    clearMarks(performance);
    clearMeasures(performance);
    return getEntries(performance).length === 0;
  }

  #areKept(found: readonly PerformanceEntry[]): boolean {
    if (found.length !== this.#kept.length) return false;
    for (let at = 0; at < found.length; at += 1) if (found[at] !== this.#kept[at]) return false;
    return true;
  }
}
