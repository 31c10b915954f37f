import { uncurry } from "../shared/intrinsics.ts";

const { performance } = globalThis;
const getEntries = uncurry(performance.getEntries);
const clearMarks = uncurry(performance.clearMarks);
const clearMeasures = uncurry(performance.clearMeasures);
const clearResources = uncurry(performance.clearResourceTimings);

/** Marks, measures and requests that a run leaves in `performance`, where the next one would find them. */
export class Timeline {
  /** What the flow has marked while it was loaded, for each run to measure from. */
  readonly #kept = getEntries(performance).length;

  /** After a run. @returns whether the next one finds what this one has found */
  forget(): boolean {
    if (getEntries(performance).length === this.#kept) return true;
    if (this.#kept > 0) return false;
    clearMarks(performance);
    clearMeasures(performance);
    clearResources(performance);
    return true;
  }
}
