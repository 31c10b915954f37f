import {
  failed,
  type Ending,
  type FlowSpec,
  type Job,
  type LogLine,
  type OperationAnswer,
  type OperationRequest,
} from "../../shared/wire/protocol.ts";
import type { Condition } from "../../shared/wire/thread-messages.ts";

/** One run of a flow, as the scheduler and the workers see it. */
export interface Run {
  /** Of its execution. */
  readonly id: string;
  readonly flow: string;
  readonly spec: FlowSpec;
  /** Longest time from its begin to its end. */
  readonly timeoutMs: number;
  /** What the thread is given; null until its turn comes. */
  job: Job | null;
  /** Why it is to end before it has returned; null: nobody has said so. */
  abortReason: string | null;
  /** Its place in a queue; null: it stands in none. */
  link: RunLink | null;
  /** Among those of its flow: who has a lower one is before it. The scheduler's; Infinity: none yet. */
  turn: number;
  /** It has come back, and had not begun. */
  returned(): void;
  /** It has no thread any more. */
  ended(ending: Ending): void;
  /** It runs longer than its limit. */
  expired(): void;
  /** Lines of its log. */
  log(lines: readonly LogLine[]): void;
  operate(request: OperationRequest): Promise<OperationAnswer>;
}

/** A run in a queue, between its neighbours. */
export interface RunLink {
  readonly run: Run;
  readonly queue: object;
  previous: RunLink | null;
  next: RunLink | null;
}

/** A run that has not begun after so long is kept from it by what others left in its thread; milliseconds. */
export const HELD_MS = 1_000;

/** How the thread of a worker is spoken to. */
export interface WorkerLine {
  run(jobs: readonly Job[]): void;
  /** @param begun null: in any case, what has begun stays; else where no more have, and it ends */
  recall(begun: number | null): void;
  abort(id: string, reason: string): void;
  answer(number: number, answer: OperationAnswer): void;
  /** Ends the thread; `exited` follows, also of a thread that does not end. */
  end(): void;
}

/** What a worker tells the scheduler. */
export interface WorkerEvents {
  /** Its thread has started. */
  onReady(worker: Worker): void;
  /**
   * @param ms time of the run in its thread; told by the thread
   * @param isDoubtful the thread is "doubtful"
   */
  onEnded(worker: Worker, run: Run, ending: Ending, ms: number, isDoubtful: boolean): void;
  /** Code that a run left behind in the thread has failed. */
  onStray(worker: Worker): void;
  /** Runs that had been handed over and will not begin there. */
  onRecalled(worker: Worker, runs: readonly Run[]): void;
  /** The thread is gone, with the runs that had begun in it. */
  onCrashed(worker: Worker, runs: readonly Run[], ending: Ending): void;
  /** The thread is gone before it had started. @param isFinal another would fare no better */
  onFailed(worker: Worker, ending: Ending, isFinal: boolean): void;
}

/**
 * A flow thread as the server sees it: one version of a flow, one run at a time, and the runs that
 * were handed over and stand behind that one.
 */
export class Worker {
  readonly spec: FlowSpec;
  readonly #line: WorkerLine;
  readonly #events: WorkerEvents;
  readonly #now: () => number;
  readonly #inbox: Run[] = [];
  /** Runs that have ended of those handed over since the last recall. */
  #ended = 0;
  /** Runs at the end of the inbox that never left the server. */
  #unsent = 0;
  #state: "starting" | "ready" | "ending" | "gone" = "starting";
  isRecalling = false;
  /** Whether its line closed before it was told to end. */
  #hasClosed = false;
  /** Since when it has had runs that it did not begin, and that came back; null: it has begun one since. */
  #doubtedSince: number | null = null;
  /** `since` of the run that was asked for last. */
  #askedAt = -Infinity;
  /** Whether its current run was told to end. */
  isAborting = false;
  /** What was handed over came back: what runs now takes longer than was expected. */
  #isStalled = false;
  isLeaving = false;
  /** Runs that the scheduler prepares for it. */
  reserved = 0;
  /** Whether it counts against the limits; the scheduler's. */
  hasSlot = false;
  /** Whose slot it has, in place of one of its own, and who has its slot beside it; the scheduler's. */
  lender: Worker | null = null;
  borrower: Worker | null = null;
  /** Runs that its current one waits for. */
  readonly awaited = new Set<Run>();
  /** When its current run began, it became idle or was aborted: whichever was last. */
  since: number;

  constructor(
    spec: FlowSpec,
    line: WorkerLine,
    events: WorkerEvents,
    now = (): number => performance.now(),
  ) {
    this.spec = spec;
    this.#line = line;
    this.#events = events;
    this.#now = now;
    this.since = now();
  }

  /** The run that has its thread. */
  get current(): Run | null {
    return this.#inbox[0] ?? null;
  }

  /** Runs that were handed over and have not ended. */
  get length(): number {
    return this.#inbox.length;
  }

  get isStarting(): boolean {
    return this.#state === "starting";
  }

  /** Whether it has a run, or one is prepared for it. */
  get isBusy(): boolean {
    return this.#inbox.length + this.reserved > 0;
  }

  /** Whether runs are on their way to or from it. */
  get isMoving(): boolean {
    return this.isRecalling || (this.reserved > 0 && !this.isStarting);
  }

  /** Whether runs may be handed over. */
  get isOpen(): boolean {
    return (
      this.#state === "ready" &&
      !(this.isRecalling || this.#isStalled || this.isAborting || this.isLeaving) &&
      !(this.isDoubted && this.isBusy)
    );
  }

  /** Whether it has begun none of what came back: it gets one after the other, until it has. */
  get isDoubted(): boolean {
    return this.#doubtedSince !== null;
  }

  /** Whether its thread is told to end, or has ended. */
  get isEnding(): boolean {
    return this.#state === "ending" || this.#state === "gone";
  }

  /** Hands runs over; each has its job. */
  assign(runs: readonly Run[]): void {
    if (this.#inbox.length === 0) this.since = this.#now();
    this.#inbox.push(...runs);
    this.#line.run(runs.map(({ job }) => job as Job));
  }

  /** Whether a run that was sent to its thread has not ended. */
  get hasBegun(): boolean {
    return this.#inbox.length > this.#unsent;
  }

  /** Whether its current run has asked to wait for another: what it does meanwhile is not known. */
  get isWaiting(): boolean {
    return this.awaited.size > 0 && this.#inbox.length > 0;
  }

  holds(run: Run): boolean {
    return this.#inbox.includes(run);
  }

  /** Asks for what stands behind the current run; `onRecalled` follows. */
  recall(): void {
    if (this.isRecalling || this.#state !== "ready" || this.#inbox.length < 2) return;
    this.isRecalling = true;
    this.#line.recall(null);
  }

  /** Asks, once, for its current run too: where that has not begun, `onRecalled` follows, and its thread ends. */
  recallUnbegun(): void {
    // What has stayed at a recall counts as begun, and who is looked at with a debugger may stand still.
    const isLeft = this.isRecalling || this.#isStalled || this.spec.debug_port !== undefined;
    if (isLeft || this.#askedAt === this.since || this.#state !== "ready") return;
    this.#askedAt = this.since;
    this.#line.recall(this.#ended);
  }

  /** Gives the signal to the current run. */
  abort(reason: string): void {
    const { current } = this;
    if (current === null || this.isAborting || this.#state !== "ready") return;
    this.isAborting = true;
    this.since = this.#now();
    this.#line.abort(current.id, reason);
  }

  /** Its runner tells later why: it may have ended a thread that began nothing. */
  lineClosed(): void {
    this.#hasClosed = !this.isEnding;
    this.end();
  }

  /** Ends its thread; `onCrashed` or `onFailed` follows. */
  end(): void {
    if (this.isEnding) return;
    this.#state = "ending";
    this.#line.end();
  }

  /** It takes no more runs, and ends with those that it has. */
  leave(): void {
    this.isLeaving = true;
    this.endIfUnused();
  }

  /** Ends its thread where it is to take no more runs and has none. */
  endIfUnused(): void {
    if (this.isLeaving && !this.isBusy && this.#state === "ready") this.end();
  }

  started(): void {
    if (this.#state !== "starting") return;
    this.#state = "ready";
    this.since = this.#now();
    this.#events.onReady(this);
  }

  /** What a thread says of another run than its current one was made by its flow. */
  ended(id: string, ending: Ending, ms: number, condition: Condition): void {
    const run = this.current;
    if (run === null || run.id !== id) return;
    this.#inbox.shift();
    this.#ended += 1;
    this.#doubtedSince = null;
    if (this.awaited.size > 0) this.awaited.clear();
    this.isAborting = false;
    this.#isStalled &&= this.#inbox.length > 0;
    this.since = this.#now();
    const isLast = condition === "spoilt";
    const left = isLast ? this.#inbox.splice(0) : [];
    if (isLast) this.end();
    this.#events.onEnded(this, run, ending, ms, condition === "doubtful");
    if (left.length > 0) this.#events.onRecalled(this, left);
  }

  stray(): void {
    this.#events.onStray(this);
  }

  /**
   * @param begun how many of the runs handed over since the last recall; no other will
   * @returns whether its thread is ended, because it has begun none for long
   */
  recalled(begun: number): boolean {
    this.isRecalling = false;
    const left = this.#inbox.splice(this.#countBegun(begun));
    this.#ended = -this.#inbox.length;
    this.#unsent = 0;
    this.#isStalled = this.#inbox.length > 0;
    const [first] = left;
    const isHeld = first !== undefined && !this.#isStalled && this.#hasLongBegunNone(first);
    if (isHeld) this.end();
    this.#events.onRecalled(this, left);
    return isHeld;
  }

  /** @param run that is back: it waits no longer than it may run */
  #hasLongBegunNone({ timeoutMs }: Run): boolean {
    this.#doubtedSince ??= this.since;
    const isOver = this.isEnding && !this.#hasClosed;
    return !isOver && this.#now() - this.#doubtedSince >= Math.min(HELD_MS, timeoutMs);
  }

  /** @param begun as `recalled` */
  exited(begun: number, ending: Ending): void {
    this.#close(this.#countBegun(begun), ending, true);
  }

  /** Its runner is gone. @param hadOpened otherwise others would fare no better */
  crashed(ending: Ending, hadOpened: boolean): void {
    this.#close(this.#inbox.length - this.#unsent, ending, !hadOpened);
  }

  /** The latest runs that were handed over, and not recalled since, never left the server. */
  unsent(count: number): void {
    this.#unsent += count;
  }

  /** @param run that has asked, and may have ended since */
  operation(run: Run, number: number, request: OperationRequest): void {
    run.operate(request).then(
      (told) => this.#line.answer(number, told),
      (error: unknown) =>
        this.#line.answer(number, {
          ok: false,
          message: error instanceof Error ? error.message : String(error),
        }),
    );
  }

  /** Of the runs that it holds, which may have begun. @param told as `recalled` */
  #countBegun(told: number): number {
    return Math.max(0, Math.min(told - this.#ended, this.#inbox.length - this.#unsent));
  }

  #close(begun: number, ending: Ending, isFinal: boolean): void {
    if (this.#state === "gone") return;
    const hadStarted = this.#state !== "starting";
    this.#state = "gone";
    this.isRecalling = false;
    const runs = this.#inbox.splice(0);
    const left = runs.splice(begun);
    if (left.length > 0) this.#events.onRecalled(this, left);
    if (hadStarted) this.#events.onCrashed(this, runs, ending);
    else this.#events.onFailed(this, ending, isFinal);
  }
}

/** The ending of a run whose thread is gone: why it was aborted, or else why it is gone. */
export function endingOf({ abortReason }: Run, ending: Ending): Ending {
  return abortReason === null ? ending : failed(abortReason);
}
