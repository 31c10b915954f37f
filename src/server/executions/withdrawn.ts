import { failed } from "../../shared/wire/protocol.ts";
import { endingOf, type Run } from "../workers/worker.ts";

/** Of a run that was aborted before it began. */
const WITHDRAWN = failed("It was ended before it began");

/** Ends those of the runs that were. @returns the others */
export function endWithdrawn(runs: readonly Run[]): Run[] {
  const left = runs.filter(({ abortReason }) => abortReason === null);
  for (const run of runs) if (run.abortReason !== null) run.ended(endingOf(run, WITHDRAWN));
  return left;
}
