import type { WebhookLimits } from "../../shared/contract/webhook-limits.ts";
import { describeUnended, describeWaiting } from "../../shared/busy.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Run } from "../workers/worker.ts";
import type { LimitedBegin } from "../store/ledger-record.ts";
import { RunQueue } from "./run-queue.ts";

/** What a webhook limits, as its callers and its record have it. */
export interface LimitedWebhook {
  readonly id: string;
  readonly name: string;
  /** JSON text; null: none. */
  readonly limits: string | null;
  /** When it got these: each change is later than the one before. Milliseconds since 1970. */
  readonly modified_at: number;
}

/** What a webhook limits beside its rate (contract, section 8, number 7). */
export type ConcurrencyLimits = Omit<WebhookLimits, "rate">;

/** What a queue looks at of an execution. */
interface QueuedExecution {
  readonly run: Run | null;
  /** When a thread was given its run; null: none was. */
  readonly givenAt: number | null;
  /** When it was recorded last that it is handed to one; null: it was not. */
  readonly recordedStart: number | null;
  /** Its ending; null: it has none. */
  readonly decided: object | null;
}

const NO_LIMITS: ConcurrencyLimits = {
  max_concurrent: null,
  when_busy: "queue",
  max_queued: null,
};

/**
 * The executions that calls of one webhook have started, where it limits them. Runs beyond
 * `max_concurrent` are held back here, first come first served: the scheduler has never more of
 * them than may run, so that other webhooks of the same flow pass by. Where nodes share the store,
 * that decides which of those start: the others come back, and wait for what is said of them.
 */
export class WebhookQueue<Execution extends QueuedExecution> {
  readonly #pass: (run: Run) => void;
  readonly #isShared: boolean;
  readonly #held = new RunQueue();
  /** Handed to the scheduler, until their thread is free again. */
  readonly #passed = new Set<Run>();
  /** Recorded and not begun. */
  readonly #pending = new Set<Execution>();
  /** Begun and not ended. */
  readonly #running = new Set<Execution>();
  #limits: ConcurrencyLimits = NO_LIMITS;
  /** How many more may be passed, for all that is known here. */
  #free = Infinity;
  /** Since when others may start, and none of those here, as performance.now(); null: they may not. */
  #passedBySince: number | null = null;

  /**
   * @param pass hands a run to the scheduler; one that is back has its turn there
   * @param isShared whether other nodes run executions of the webhook too
   */
  constructor(pass: (run: Run) => void, isShared = false) {
    this.#pass = pass;
    this.#isShared = isShared;
  }

  /** Raised limits let more runs pass at once; null: it has none any more. */
  limit(limits: ConcurrencyLimits | null): void {
    this.#limits = limits ?? NO_LIMITS;
    this.#passNext();
  }

  get running(): number {
    return this.#running.size;
  }

  get waiting(): number {
    return this.#pending.size;
  }

  /** How many runs are held back. */
  get held(): number {
    return this.#held.length;
  }

  /** The flow of those; null: none is held back. */
  get heldFlow(): string | null {
    return this.#held.first?.flow ?? null;
  }

  /** Whether another run is not held back. */
  get isFree(): boolean {
    return this.#held.length === 0 && this.#passed.size < this.#most;
  }

  /** Whether runs wait here until those of other nodes have ended. */
  get isFull(): boolean {
    return this.#held.length > 0 && this.#free === 0;
  }

  /** Whether the store decides what starts. */
  get asksToStart(): boolean {
    return this.#isShared && this.#limits.max_concurrent !== null;
  }

  /**
   * What the store decides by whether another may begin; undefined: it may.
   *
   * @param hasThread whether the scheduler has a thread for it
   */
  limitBegin(hasThread: boolean): LimitedBegin | undefined {
    const { when_busy, max_queued } = this.#limits;
    if (!this.#isShared || (when_busy === "queue" && max_queued === null)) return undefined;
    return { hasThread };
  }

  /**
   * @param isFree whether the scheduler has a thread for another run
   * @param meanMs of the flow's runs, for when to come again
   * @throws RequestError webhook_busy
   */
  requireRoom(isFree: boolean, meanMs: number): void {
    const { max_concurrent, when_busy, max_queued } = this.#limits;
    const unended = this.#running.size + this.#pending.size;
    if (when_busy === "refuse" && max_concurrent !== null && unended >= max_concurrent)
      throw refuseBusy(describeUnended(unended), meanMs);
    if (max_queued === null || (isFree && this.isFree)) return;
    const waiting = when_busy === "replace" ? 0 : this.#pending.size;
    if (waiting >= max_queued)
      throw refuseBusy(
        describeWaiting(waiting, " of this webhook", ", as many as may wait"),
        meanMs,
      );
  }

  /** Those that a new one replaces: none but under `replace`, and none that has begun. */
  listReplaceable(): Execution[] {
    return this.#limits.when_busy === "replace" ? [...this.#pending] : [];
  }

  /** Whether a new one replaces one that waits in a queue: it needs no place of its own. */
  get isReplacing(): boolean {
    return this.listReplaceable().some(({ run }) => run !== null && run.link !== null);
  }

  /**
   * Its run is handed on as soon as it may be.
   *
   * @param isBack whether it waits before all that are younger: it was to be replaced, and was not
   */
  add(execution: Execution, run: Run, isBack = false): void {
    this.#pending.add(execution);
    // What was known of other nodes may be old.
    if (this.#held.length === 0) this.#free = Infinity;
    if (isBack) this.#insert(run);
    else this.#held.push(run);
    this.#passNext();
  }

  /** One that was there before the webhook had limits. */
  adopt(execution: Execution): void {
    const { run, decided, givenAt, recordedStart } = execution;
    // It is being replaced: it has no place any more, or comes back by itself.
    if (decided !== null && givenAt === null) return;
    if (run !== null) this.#passed.add(run);
    if (decided !== null) return;
    // Of one that is being handed over nobody tells the queue any more.
    if (recordedStart === null || (run !== null && run.link !== null)) this.#pending.add(execution);
    else this.#running.add(execution);
  }

  /** It is handed to a thread. */
  started(execution: Execution): void {
    if (this.#pending.delete(execution)) this.#running.add(execution);
  }

  /** It has not begun in that thread, and waits again. */
  returned(execution: Execution): void {
    if (this.#running.delete(execution)) this.#pending.add(execution);
  }

  /** The store has not started it: it waits before all that are younger. */
  holdBack(execution: Execution, run: Run): void {
    this.returned(execution);
    this.#passed.delete(run);
    this.#insert(run);
    this.#free = 0;
    this.#passNext();
  }

  /**
   * These may start, as the store has it, if they are held back here.
   *
   * @param free how many may, on any node
   */
  passStartable(free: number, runs: readonly Run[]): void {
    this.#passedBySince = free === 0 ? null : (this.#passedBySince ?? performance.now());
    for (const run of runs)
      if (this.#passed.size < this.#most && this.#held.remove(run)) this.#passOne(run);
  }

  /** Whether those whose turn it is have not started for a while, at the nodes where they wait. */
  get isPassedBy(): boolean {
    return this.#passedBySince !== null && performance.now() - this.#passedBySince > PATIENCE_MS;
  }

  /** Its ending is decided; its thread may be busy with it for a while. */
  ended(execution: Execution): void {
    this.#pending.delete(execution);
    this.#running.delete(execution);
  }

  /** A run leaves, wherever it is. @returns whether it was held back */
  leave(run: Run): boolean {
    if (this.#held.remove(run)) return true;
    if (!this.#passed.delete(run)) return false;
    this.#free += 1;
    this.#passNext();
    return false;
  }

  get #most(): number {
    return this.#limits.max_concurrent ?? Infinity;
  }

  #insert(run: Run): void {
    this.#held.insert(run, ({ id }) => id > run.id);
  }

  #passNext(): void {
    if (this.#most === Infinity) this.#free = Infinity;
    while (this.#passed.size < this.#most && this.#free > 0) {
      const [run] = this.#held.take(1, () => true);
      if (run === undefined) return;
      this.#free -= 1;
      this.#passOne(run);
    }
  }

  #passOne(run: Run): void {
    this.#passedBySince = null;
    this.#passed.add(run);
    this.#pass(run);
  }
}

/** Others take what has its turn elsewhere and does not start, after so long, in milliseconds. */
const PATIENCE_MS = 1000;

/** A caller comes again once a run should have ended; seconds. */
const LEAST_RETRY_SEC = 1;
const MOST_RETRY_SEC = 60;

/** @param meanMs how long runs of its flow take */
export function refuseBusy(why: string, meanMs: number): RequestError {
  const seconds = Math.min(Math.max(Math.ceil(meanMs / 1000), LEAST_RETRY_SEC), MOST_RETRY_SEC);
  return new RequestError("webhook_busy", `${why}. Try again later`, {
    headers: { "retry-after": String(seconds) },
  });
}
