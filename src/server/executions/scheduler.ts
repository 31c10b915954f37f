import { failed, type Ending, type FlowSpec } from "../../shared/wire/protocol.ts";
import { endingOf, type Run, type Worker, type WorkerEvents } from "../workers/worker.ts";
import { Deadlines } from "./deadlines.ts";
import { FlowQueue } from "./flow-queue.ts";
import { CLOCK, type Clock } from "./scheduler-clock.ts";
import { Slots } from "./slots.ts";
import { WarmThreads } from "./warm-threads.ts";

export interface SchedulerOptions {
  /** WORKER_THREADS. */
  readonly workerThreads: number;
  /** FLOW_MAX_CONCURRENT. */
  readonly flowMaxConcurrent: number;
  /** WARM_THREADS. */
  readonly warmThreads: number;
  /** CANCEL_GRACE_SEC, in milliseconds. */
  readonly cancelGraceMs: number;
  readonly clock?: Clock;
  /** Calls back soon: what came until then is handed over together. */
  defer?(act: () => void): void;
  /** More flows are in use at once than WARM_THREADS keeps threads for; told often. */
  onCrowded?(): void;
  /**
   * Records that runs are handed over, and makes their jobs. Calls back once, in this turn or
   * later, with those that still are to be.
   */
  record(runs: readonly Run[], handOver: (recorded: readonly Run[]) => void): void;
  /**
   * Starts a thread for a version.
   * @throws {Error} why that cannot be
   */
  startWorker(spec: FlowSpec, events: WorkerEvents): Worker;
}

/**
 * The only place that decides when and where something runs. Runs of one flow wait in one queue;
 * flows take turns; at most `workerThreads` threads have runs, and at most `flowMaxConcurrent` of
 * one flow. The last free thread is kept for a flow that has none (contract, section 7, number 1).
 * A turn is what ends within a millisecond. While no other flow waits for a thread, a few runs more
 * are given to threads that have some: they need not wait for a message. What stands behind a run
 * that takes long is called back and waits again, before all others; nothing runs twice.
 */
export class Scheduler implements WorkerEvents {
  readonly #options: SchedulerOptions;
  readonly #slots: Slots;
  readonly #deadlines: Deadlines;
  readonly #now: () => number;
  readonly #warm: WarmThreads;
  readonly #flows = new Map<string, FlowQueue>();
  /** Flows with waiting runs, in the order of their turns. */
  #turns: FlowQueue[] = [];
  /** Runs that workers have as soon as they have started, though the service stops. */
  readonly #promised = new Map<Worker, Run>();
  #isDispatching = false;
  /** Until it is opened, and from its stop on, runs wait. */
  #isOpen = false;
  readonly #listeners = new Set<() => void>();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#slots = new Slots(options);
    const clock = options.clock ?? CLOCK;
    this.#now = () => clock.now();
    const listWorkers = (): Worker[] => this.#workers();
    const onStall = (run: Run): void => this.#flowOf(run.flow).time.slowDown();
    this.#deadlines = new Deadlines({ ...options, clock, listWorkers, onStall });
    this.#warm = new WarmThreads({
      ...options,
      clock,
      listFlows: () => this.#flows.values(),
      onRoom: () => this.#dispatchSoon(),
    });
  }

  /** From now on runs are handed over. */
  open(): void {
    this.#isOpen = true;
    this.#dispatchSoon();
  }

  /** Whether a run of this flow that comes now need not wait for others. */
  isFree(name: string): boolean {
    return this.roomOf(name) > 0;
  }

  /** How many runs of this flow that come now need not wait for others. */
  roomOf(name: string): number {
    const flow = this.#flowOf(name);
    return Math.max(0, this.#freeFor(flow) - flow.uncovered);
  }

  /** Whether any thread is free, for whatever flow. */
  get hasFreeThread(): boolean {
    return this.#slots.hasFree;
  }

  /** Of each flow of which runs wait for others: those whose turn is next, up to so many. */
  listQueued(most: number): Run[] {
    const flows = [...this.#flows.values()].filter((flow) => this.#queuedOf(flow) > 0);
    return flows.flatMap(({ runs }) => [...Iterator.from(runs).take(most)]);
  }

  /** How many wait for others. */
  get queued(): number {
    let queued = 0;
    for (const flow of this.#flows.values()) queued += this.#queuedOf(flow);
    return queued;
  }

  /** As `queued`, of one flow. */
  queuedOf(name: string): number {
    return this.#queuedOf(this.#flowOf(name));
  }

  /** How long runs of a flow take, in milliseconds. */
  meanOf(name: string): number {
    return this.#flowOf(name).time.meanMs;
  }

  /** Takes out a run that waits. @returns false where it does not */
  withdraw(run: Run): boolean {
    return this.#flowOf(run.flow).runs.remove(run);
  }

  /** Starts a thread before there is a run for it, where one may be kept. */
  warm(spec: FlowSpec): void {
    const flow = this.#flowOf(spec.flow);
    if (this.#options.warmThreads > 0 && this.#slots.freeFor(flow) > 0) this.#start(flow, spec);
  }

  /** @param isBack whether it waits before all that are younger: it was here already */
  enqueue(run: Run, isBack = false): void {
    const flow = this.#flowOf(run.flow);
    if (isBack) flow.runs.insert(run);
    else flow.runs.push(run);
    this.#await(flow);
    this.#dispatchSoon();
  }

  /** Ends a run, wherever it is. @returns whether it waited: then it is gone, without an ending */
  abort(run: Run, reason: string): boolean {
    if (run.abortReason !== null) return false;
    run.abortReason = reason;
    const flow = this.#flowOf(run.flow);
    if (flow.runs.remove(run)) return true;
    const worker = flow.workers.find((other) => other.holds(run));
    if (worker?.current === run) this.#deadlines.abort(worker);
    else worker?.recall();
    return false;
  }

  /** Runs that have a thread, and runs that wait for one. */
  counts(): { running: number; waiting: number } {
    let running = 0;
    let waiting = 0;
    for (const { runs, workers } of this.#flows.values()) {
      waiting += runs.length;
      for (const worker of workers) {
        if (worker.current !== null) running += 1;
        waiting += worker.reserved + Math.max(0, worker.length - 1);
      }
    }
    return { running, waiting };
  }

  /**
   * From now on nothing more is handed over, but to workers that start for it. Resolves once what was
   * called back from behind others waits again.
   */
  stop(): Promise<void> {
    this.#isOpen = false;
    for (const worker of this.#workers()) {
      worker.recall();
      if (worker.isStarting) this.#promise(worker);
    }
    return this.#until(() => this.#workers().every((worker) => !isMoving(worker)));
  }

  /** Resolves once no thread has a run. */
  whenIdle(): Promise<void> {
    return this.#until(() => this.#workers().every(({ isBusy }) => !isBusy));
  }

  close(): void {
    this.#isOpen = false;
    this.#deadlines.close();
    this.#warm.close();
  }

  onReady(worker: Worker): void {
    const promised = this.#promised.get(worker);
    this.#promised.delete(worker);
    if (promised !== undefined) this.#record(worker, [promised]);
    this.#settle(worker);
    this.#dispatch();
  }

  onEnded(worker: Worker, run: Run, ending: Ending, ms: number, isDoubtful: boolean): void {
    const flow = this.#flowOf(run.flow);
    flow.time.learn(ms);
    if (isDoubtful) this.#renew(flow, worker);
    // The next run is not to wait for a thread because this one spoilt its own.
    const isSpoilt = worker.isEnding;
    run.ended(ending);
    this.#settle(worker);
    if (isSpoilt) this.#replace(flow, worker.spec);
    this.#dispatchSoon();
  }

  onStray(worker: Worker): void {
    this.#renew(this.#flowOf(worker.spec.flow), worker);
  }

  onRecalled(worker: Worker, runs: readonly Run[]): void {
    this.#requeue(worker, endWithdrawn(runs));
    this.#settle(worker);
    this.#dispatchSoon();
  }

  onCrashed(worker: Worker, runs: readonly Run[], ending: Ending): void {
    this.#forget(worker);
    for (const run of runs) run.ended(endingOf(run, ending));
    this.#dispatchSoon();
  }

  onFailed(worker: Worker, ending: Ending, isFinal: boolean): void {
    const flow = this.#forget(worker);
    // One that cannot even start would be followed by others without end: its run fails.
    if (isFinal) this.#failNext(flow, worker.spec.key, ending);
    this.#dispatchSoon();
  }

  #flowOf(name: string): FlowQueue {
    const found = this.#flows.get(name);
    if (found !== undefined) return found;
    const flow = new FlowQueue();
    this.#flows.set(name, flow);
    return flow;
  }

  #workers(): Worker[] {
    return [...this.#flows.values()].flatMap(({ workers }) => workers);
  }

  #queuedOf(flow: FlowQueue): number {
    const { uncovered } = flow;
    return uncovered === 0 ? 0 : Math.max(0, uncovered - this.#freeFor(flow));
  }

  /** How many more threads a flow may have runs in, or start, now. */
  #freeFor(flow: FlowQueue): number {
    const mayNotStart = flow.idle.length === 0 && this.#warm.isCrowded;
    return flow.shortSince !== null || mayNotStart ? 0 : this.#slots.freeFor(flow);
  }

  #await(flow: FlowQueue): void {
    if (!this.#turns.includes(flow)) this.#turns.push(flow);
  }

  /** What comes until then is handed over together. */
  #dispatchSoon(): void {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    const { defer = process.nextTick } = this.#options;
    defer(() => {
      this.#isDispatching = false;
      this.#dispatch();
    });
  }

  /** Hands over what can be handed over: each flow in its turn, until no flow gets any further. */
  #dispatch(): void {
    if (!this.#isOpen) return this.#tell();
    for (let isGiven = true; isGiven;) {
      isGiven = false;
      this.#turns = this.#turns.filter(isWaiting);
      // Who was given something has its next turn after everybody else's.
      for (const flow of this.#turns.slice()) {
        if (!this.#give(flow)) continue;
        isGiven = true;
        this.#turns.splice(this.#turns.indexOf(flow), 1);
        this.#turns.push(flow);
      }
    }
    this.#tell();
  }

  /** Hands over the next runs of a flow. @returns whether any */
  #give(flow: FlowQueue): boolean {
    const next = flow.runs.first;
    if (next === null) return false;
    const { spec } = next;
    const together = togetherOf(flow, spec);
    const mayHaveMore = this.#slots.freeFor(flow) > 0;
    const idle = mayHaveMore ? this.#warm.take(flow, spec.key) : undefined;
    if (idle !== undefined) return this.#handOver(flow, idle, together);
    if (spec.isolation === "flow") {
      const behind = mayHaveMore ? together : flow.time.behind;
      const busy = behind > 1 ? flow.findShortest(spec.key, behind) : undefined;
      // Asked last: of thousands of flows that wait, few have a thread.
      if (busy !== undefined && !this.#isAnotherShort(flow))
        return this.#handOver(flow, busy, Math.min(together, behind - busy.length - busy.reserved));
    }
    this.#startFor(flow, spec, together);
    return false;
  }

  /** Whether another flow waits for a thread that it may have: nobody keeps one longer than need be then. */
  #isAnotherShort(own: FlowQueue): boolean {
    return this.#turns.some(
      (flow) => flow !== own && this.#slots.isShort(flow) && flow.uncovered > 0,
    );
  }

  #handOver(flow: FlowQueue, worker: Worker, most: number): true {
    const { key } = worker.spec;
    const runs = flow.runs.take(Math.max(1, most), (run) => run.spec.key === key);
    this.#slots.claim(flow, worker);
    worker.reserved += runs.length;
    this.#record(worker, runs);
    return true;
  }

  /** The service stops: a run that waits for this worker to start is handed over all the same. */
  #promise(worker: Worker): void {
    const { flow, key } = worker.spec;
    const [run] = this.#flowOf(flow).runs.take(1, ({ spec }) => spec.key === key);
    if (run === undefined) return;
    worker.reserved += 1;
    this.#promised.set(worker, run);
  }

  #record(worker: Worker, runs: readonly Run[]): void {
    this.#options.record(runs, (recorded) => {
      worker.reserved -= runs.length;
      const left = endWithdrawn(recorded);
      if (worker.isOpen && left.length > 0) {
        worker.assign(left);
        this.#deadlines.watch(worker);
      } else this.#requeue(worker, left);
      this.#settle(worker);
      this.#dispatchSoon();
    });
  }

  /** What was taken for a worker waits again, before all others. */
  #requeue(worker: Worker, runs: readonly Run[]): void {
    if (runs.length === 0) return;
    for (const run of runs) run.returned();
    const flow = this.#flowOf(worker.spec.flow);
    flow.runs.unshift(runs);
    this.#await(flow);
  }

  /** Starts threads for what waits, as far as there may be more. */
  #startFor(flow: FlowQueue, spec: FlowSpec, together: number): void {
    const wanted = Math.ceil(flow.runs.length / together);
    for (let starting = flow.countStarting(spec.key); starting < wanted; starting += 1) {
      if (this.#slots.freeFor(flow) === 0 || !this.#warm.mayAdd(flow, spec.key)) return;
      if (!this.#start(flow, spec)) return;
    }
  }

  #start(flow: FlowQueue, spec: FlowSpec): boolean {
    try {
      const worker = this.#options.startWorker(spec, this);
      this.#slots.claim(flow, worker);
      this.#warm.add(flow, worker);
      return true;
    } catch (error) {
      this.#failNext(
        flow,
        spec.key,
        failed(error instanceof Error ? error.message : String(error)),
      );
      this.#dispatchSoon();
      return false;
    }
  }

  /** What its thread keeps may be why something has failed there: it is given no run more. */
  #renew(flow: FlowQueue, worker: Worker): void {
    if (worker.isLeaving || worker.isEnding || !flow.renewals.take(this.#now())) return;
    worker.leave();
    worker.recall();
  }

  /** Starts a thread in place of one that ends, unless another of its version is to be had. */
  #replace(flow: FlowQueue, spec: FlowSpec): void {
    if (!this.#isOpen || flow.countStarting(spec.key) > 0) return;
    if (this.#slots.freeFor(flow) === 0) return;
    if (flow.idle.some((worker) => worker.spec.key === spec.key && worker.isOpen)) return;
    this.#start(flow, spec);
  }

  #failNext(flow: FlowQueue, key: string, ending: Ending): void {
    const [run] = flow.runs.take(1, ({ spec }) => spec.key === key);
    run?.ended(ending);
  }

  /** Ends a run whose turn has come and that nobody wants; who has no run gives its slot back. */
  #settle(worker: Worker): void {
    if (worker.current !== null && worker.current.abortReason !== null)
      this.#deadlines.abort(worker);
    if (worker.isBusy || worker.isStarting || !worker.hasSlot) return;
    const flow = this.#flowOf(worker.spec.flow);
    this.#slots.release(flow, worker);
    if (worker.isEnding) return this.#warm.remove(flow, worker);
    this.#warm.park(flow, worker);
    worker.endIfUnused();
  }

  #forget(worker: Worker): FlowQueue {
    const flow = this.#flowOf(worker.spec.flow);
    this.#warm.remove(flow, worker);
    this.#slots.release(flow, worker);
    return flow;
  }

  #until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => {
      const listener = (): void => {
        if (!holds()) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Of a run that was aborted before it began. */
const WITHDRAWN = failed("It was ended before it began");

/** Ends those of the runs that were. @returns the others */
function endWithdrawn(runs: readonly Run[]): Run[] {
  const left = runs.filter(({ abortReason }) => abortReason === null);
  for (const run of runs) if (run.abortReason !== null) run.ended(endingOf(run, WITHDRAWN));
  return left;
}

/** Whether runs of a flow wait; where none does, none has waited long. */
function isWaiting(flow: FlowQueue): boolean {
  if (flow.runs.length > 0) return true;
  flow.shortSince = null;
  return false;
}

/** Each run of `isolation: "execution"` has a thread of its own. */
function togetherOf(flow: FlowQueue, { isolation }: FlowSpec): number {
  return isolation === "execution" ? 1 : flow.time.together;
}

/** Whether runs are on their way to or from it. */
function isMoving(worker: Worker): boolean {
  return worker.isRecalling || (worker.reserved > 0 && !worker.isStarting);
}
