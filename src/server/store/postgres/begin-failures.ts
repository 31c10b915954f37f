import type { LedgerEntry } from "../ledger-record.ts";
import { isRefusal, type UnitError } from "../store-error.ts";
import type { Recorded } from "./thread-protocol.ts";

/** Where none was recorded for so long, the next will not be either; milliseconds. */
const FAILING_MS = 2000;
/** Nobody calls who is told that no calls are taken: after so long without one, it is tried. */
const AGAIN_MS = 10_000;

/**
 * Whether new executions can be recorded, as those showed that were tried last: the database may
 * answer, and take none, because a disk is full or a table is locked.
 */
export class BeginFailures {
  readonly #tell: (reason: string | null) => void;
  /** When it was first told of one that failed, with none that did not since; as performance.now(). */
  #since: number | null = null;
  /** When the last one failed. */
  #failedAt = 0;
  #isTold = false;

  /** @param tell takes the reason, once; null: they can again */
  constructor(tell: (reason: string | null) => void) {
    this.#tell = tell;
  }

  /** Whether to take no calls. */
  get isFailing(): boolean {
    return this.#isLasting && performance.now() - this.#failedAt < AGAIN_MS;
  }

  get #isLasting(): boolean {
    return this.#since !== null && this.#failedAt - this.#since >= FAILING_MS;
  }

  learn(entries: readonly LedgerEntry[], errors: Recorded["errors"]): void {
    if (errors.length === 0 && this.#since === null) return;
    const byPlace = new Map(errors);
    const begins = entries.flatMap(({ record }, at) =>
      record.kind === "begin" ? [byPlace.get(at) ?? null] : [],
    );
    if (begins.length === 0) return;
    const failures = begins.filter(isFailure);
    const [failure] = failures;
    if (failure === undefined || failures.length < begins.length) this.#recorded();
    else this.#failed(failure.message);
  }

  /** One alone may have met a lock that is gone; and one of long ago says nothing of this one. */
  #failed(reason: string): void {
    const at = performance.now();
    if (this.#since === null || at - this.#failedAt > 2 * AGAIN_MS) this.#since = at;
    this.#failedAt = at;
    if (!this.#isLasting || this.#isTold) return;
    this.#isTold = true;
    this.#tell(reason);
  }

  #recorded(): void {
    this.#since = null;
    if (this.#isTold) this.#tell(null);
    this.#isTold = false;
  }
}

function isFailure(error: UnitError | null): error is UnitError {
  return error !== null && !isRefusal(error.kind);
}
