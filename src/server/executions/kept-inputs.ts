import type { ActiveExecution } from "./active.ts";

/** Inputs up to this length are kept while they wait, up to so much in all; in UTF-16 units. */
const LENGTH = 16 * 1024;
const TOTAL = 32 * 1024 * 1024;

/** The inputs of waiting executions that stay in memory; others are read again at their turn. */
export class KeptInputs {
  #length = 0;

  /** Keeps the input of an execution that waits, where there is room for it; else forgets it. */
  keep(execution: ActiveExecution): void {
    const { run } = execution;
    if (run === null || run.job === null || run.link === null) return;
    const { length } = run.job.input_value;
    if (length > LENGTH || this.#length + length > TOTAL) run.job = null;
    else this.#length += execution.kept = length;
  }

  /** The input counts no longer: its execution is handed over, or has ended. */
  release(execution: ActiveExecution): void {
    this.#length -= execution.kept;
    execution.kept = 0;
  }
}
