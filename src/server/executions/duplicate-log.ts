import { now } from "../../shared/clock.ts";
import type { Journal } from "./journal.ts";

/** Lines about duplicate calls in one log, and executions whose lines are counted. */
const MOST_LINES = 100;
const MOST_EXECUTIONS = 10_000;

/** Tells the log of an execution of calls that were answered with it; not without end. */
export class DuplicateLog {
  readonly #journal: Journal;
  /** Lines of the latest executions that had any, by their ids; the latest is last. */
  readonly #lines = new Map<string, number>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  note(executionId: string, text: string): void {
    const count = (this.#lines.get(executionId) ?? 0) + 1;
    this.#lines.delete(executionId);
    this.#lines.set(executionId, count);
    if (this.#lines.size > MOST_EXECUTIONS)
      this.#lines.delete(this.#lines.keys().next().value ?? "");
    if (count <= MOST_LINES)
      this.#journal.addLog(executionId, [{ at: now(), level: "info", text }]);
  }
}
