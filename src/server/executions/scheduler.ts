import type { Ending, FlowSpec } from "../../shared/wire/protocol.ts";
import { endingOf, type Run, type Worker, type WorkerEvents } from "../workers/worker.ts";
import { Conditions } from "./conditions.ts";
import { Deadlines } from "./deadlines.ts";
import type { FlowQueue } from "./flow-queue.ts";
import { FlowQueues } from "./flow-queues.ts";
import { FlowThreads, type FlowThreadsOptions } from "./flow-threads.ts";
import { Lenders } from "./lenders.ts";
import { PromisedRuns } from "./promised-runs.ts";
import { CLOCK, type Clock } from "./scheduler-clock.ts";
import { endWithdrawn } from "./withdrawn.ts";

type Limits = Omit<FlowThreadsOptions, "clock" | "events" | "listFlows" | "onRoom">;

export interface SchedulerOptions extends Limits {
  /** CANCEL_GRACE_SEC, in milliseconds. */
  readonly cancelGraceMs: number;
  readonly clock?: Clock;
  /** Calls back soon: what came until then is handed over together. */
  defer?(act: () => void): void;
  /**
   * Records that runs are handed over, and makes their jobs. Calls back once, in this turn or
   * later, with those that still are to be.
   */
  record(runs: readonly Run[], handOver: (recorded: readonly Run[]) => void): void;
}

/**
 * The only place that decides when and where something runs. Runs of one flow wait in one queue;
 * flows take turns; at most `workerThreads` threads have runs that no other one waits for, and at most
 * `flowMaxConcurrent` of one flow. The last free thread is kept for a flow that has none (contract, section 7, number 1).
 * A turn is what ends within a millisecond. While no other flow waits for a thread, a few runs more
 * are given to threads that have some: they need not wait for a message. What stands behind a run
 * that takes long is called back and waits again, before all others; nothing runs twice. What a run
 * waits for has its slot where there is no other: however they wait for each other, one goes on.
 */
export class Scheduler implements WorkerEvents {
  readonly #options: SchedulerOptions;
  readonly #flows = new FlowQueues();
  readonly #threads: FlowThreads;
  readonly #deadlines: Deadlines;
  readonly #promised = new PromisedRuns();
  readonly #lenders = new Lenders(this.#flows);
  #isDispatching = false;
  /** Until it is opened, and from its stop on, runs wait. */
  #isOpen = false;
  /** What has a thread goes on, and so does what that waits for. */
  #isStopping = false;
  readonly #conditions = new Conditions();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { clock = CLOCK } = options;
    this.#deadlines = new Deadlines({
      ...options,
      clock,
      listWorkers: () => this.#flows.workers,
      onStall: (run) => this.#flows.of(run.flow).time.slowDown(),
    });
    this.#threads = new FlowThreads({
      ...options,
      clock,
      events: this,
      listFlows: () => this.#flows,
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
    return this.#threads.roomFor(this.#flows.of(name));
  }

  /** Whether any thread is free, for whatever flow. */
  get hasFreeThread(): boolean {
    return this.#threads.slots.hasFree;
  }

  /** Of each flow of which runs wait for others: those whose turn is next, up to so many. */
  listQueued(most: number): Run[] {
    const flows = [...this.#flows].filter((flow) => this.#queuedOf(flow) > 0);
    return flows.flatMap(({ runs }) => [...Iterator.from(runs).take(most)]);
  }

  /** How many wait for others. */
  get queued(): number {
    let queued = 0;
    for (const flow of this.#flows) queued += this.#queuedOf(flow);
    return queued;
  }

  /** As `queued`, of one flow. */
  queuedOf(name: string): number {
    return this.#queuedOf(this.#flows.of(name));
  }

  /** How long runs of a flow take, in milliseconds. */
  meanOf(name: string): number {
    return this.#flows.of(name).time.meanMs;
  }

  /** Takes out a run that waits. @returns false where it does not */
  withdraw(run: Run): boolean {
    return this.#flows.of(run.flow).runs.remove(run);
  }

  /** Starts a thread before there is a run for it, where one may be kept. */
  warm(spec: FlowSpec): void {
    this.#threads.warm(this.#flows.of(spec.flow), spec);
  }

  enqueue(run: Run): void {
    this.#flows.add(run);
    this.#dispatchSoon();
  }

  /** Whether what a run comes to wait for would have its slot, and need not wait for others. */
  mayLend(run: Run, name: string): boolean {
    return this.#lenders.canLend(run) && this.#mayBorrow(this.#flows.of(name));
  }

  /**
   * A run waits for another, which may have its slot: one at a time.
   *
   * @returns to be called once it waits no more
   */
  lend(run: Run, awaited: Run): () => void {
    this.#dispatchSoon();
    return this.#lenders.add(run, awaited);
  }

  /** Ends a run, wherever it is. @returns whether it waited: then it is gone, without an ending */
  abort(run: Run, reason: string): boolean {
    if (run.abortReason !== null) return false;
    run.abortReason = reason;
    const flow = this.#flows.of(run.flow);
    if (flow.runs.remove(run)) return true;
    const worker = flow.workers.find((other) => other.holds(run));
    if (worker?.current === run) this.#deadlines.abort(worker);
    else worker?.recall();
    return false;
  }

  /** Runs that have a thread, and runs that wait for one. */
  counts(): { running: number; waiting: number } {
    return this.#flows.counts();
  }

  /**
   * From now on nothing more is handed over, but to workers that start for it, and what a run waits for.
   * Resolves once what was called back from behind others waits again.
   */
  stop(): Promise<void> {
    this.#isOpen = false;
    this.#isStopping = true;
    for (const worker of this.#flows.workers) {
      worker.recall();
      // One that starts beside another is for what that one waits for.
      if (worker.isStarting && worker.lender === null)
        this.#promised.add(worker, this.#flowOf(worker));
    }
    return this.#conditions.until(() => this.#flows.workers.every(({ isMoving }) => !isMoving));
  }

  /** Resolves once no thread has a run. */
  whenIdle(): Promise<void> {
    return this.#conditions.until(() => this.#flows.workers.every(({ isBusy }) => !isBusy));
  }

  close(): void {
    this.#isOpen = false;
    this.#isStopping = false;
    this.#deadlines.close();
    this.#threads.close();
  }

  onReady(worker: Worker): void {
    const promised = this.#promised.take(worker);
    if (promised.length > 0) this.#record(worker, promised);
    this.#settle(worker);
    this.#dispatch();
  }

  onEnded(worker: Worker, run: Run, ending: Ending, ms: number, isDoubtful: boolean): void {
    const flow = this.#flows.of(run.flow);
    flow.time.learn(ms);
    if (isDoubtful) this.#threads.renew(flow, worker);
    // The next run is not to wait for a thread because this one spoilt its own.
    const isSpoilt = worker.isEnding;
    run.ended(ending);
    this.#settle(worker);
    if (isSpoilt && this.#isOpen) this.#threads.replace(flow, worker.spec);
    this.#dispatchSoon();
  }

  onStray(worker: Worker): void {
    this.#threads.renew(this.#flowOf(worker), worker);
  }

  onRecalled(worker: Worker, runs: readonly Run[]): void {
    this.#flows.requeue(this.#flowOf(worker), endWithdrawn(runs));
    this.#settle(worker);
    this.#dispatchSoon();
  }

  onCrashed(worker: Worker, runs: readonly Run[], ending: Ending): void {
    this.#forget(worker);
    for (const run of runs) run.ended(endingOf(run, ending));
    this.#dispatchSoon();
  }

  onFailed(worker: Worker, ending: Ending, isFinal: boolean): void {
    const { lender, spec } = worker;
    this.#forget(worker);
    // One that cannot even start would be followed by others without end: its run fails.
    if (isFinal) this.#flowOf(worker).failNext(spec.key, ending, lender);
    this.#dispatchSoon();
  }

  #forget(worker: Worker): void {
    const flow = this.#flowOf(worker);
    this.#threads.forget(flow, worker);
    this.#flows.putBack(flow, endWithdrawn(this.#promised.take(worker)));
  }

  #flowOf({ spec }: Worker): FlowQueue {
    return this.#flows.of(spec.flow);
  }

  #queuedOf(flow: FlowQueue): number {
    const { uncovered } = flow;
    return uncovered === 0 ? 0 : Math.max(0, uncovered - this.#threads.freeFor(flow));
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
    if (this.#isOpen) this.#flows.takeTurns((flow) => this.#give(flow));
    if (this.#isOpen || this.#isStopping)
      for (const [lender, run] of this.#lenders.list()) this.#giveBeside(lender, run);
    this.#conditions.check();
  }

  /** Hands over what the run of a worker waits for, where it needs that one's slot, and may have it. */
  #giveBeside(lender: Worker, run: Run): void {
    const flow = this.#flows.of(run.flow);
    if (!this.#mayBorrow(flow)) return;
    const idle = this.#threads.takeIdle(flow, run.spec.key);
    if (idle === undefined) return this.#threads.startBeside(flow, run.spec, lender);
    flow.runs.remove(run);
    this.#handOver(flow, idle, [run], lender);
  }

  /** A service that stops counts no slots: nothing else is handed over. */
  #mayBorrow(flow: FlowQueue): boolean {
    return !this.#isOpen || this.#threads.slots.mayBorrow(flow);
  }

  /** Hands over the next runs of a flow. @returns whether any */
  #give(flow: FlowQueue): boolean {
    const next = flow.runs.first;
    if (next === null) return false;
    const { spec } = next;
    const together = flow.togetherOf(spec);
    const mayHaveMore = this.#threads.mayHaveMore(flow);
    const idle = mayHaveMore ? this.#threads.takeIdle(flow, spec.key) : undefined;
    if (idle !== undefined)
      return this.#handOver(flow, idle, flow.take(spec.key, idle.isDoubted ? 1 : together));
    if (spec.isolation === "flow") {
      const behind = mayHaveMore ? together : flow.time.behind;
      const busy = behind > 1 ? flow.findShortest(spec.key, behind) : undefined;
      // Asked last: of thousands of flows that wait, few have a thread.
      if (busy !== undefined && !this.#isAnotherShort(flow)) {
        const most = Math.min(together, behind - busy.length - busy.reserved);
        return this.#handOver(flow, busy, flow.take(spec.key, most));
      }
    }
    this.#threads.startFor(flow, spec, together);
    return false;
  }

  /** Whether another flow waits for a thread that it may have: nobody keeps one longer than need be then. */
  #isAnotherShort(own: FlowQueue): boolean {
    return this.#flows.someOther(own, (flow) => this.#threads.slots.isShort(flow));
  }

  #handOver(flow: FlowQueue, worker: Worker, runs: Run[], lender: Worker | null = null): true {
    this.#threads.slots.claim(flow, worker, lender);
    worker.reserved += runs.length;
    this.#record(worker, runs);
    return true;
  }

  #record(worker: Worker, runs: readonly Run[]): void {
    this.#options.record(runs, (recorded) => {
      worker.reserved -= runs.length;
      const left = endWithdrawn(recorded);
      if (worker.isOpen && left.length > 0) {
        worker.assign(left);
        this.#deadlines.watch(worker);
      } else this.#flows.requeue(this.#flowOf(worker), left);
      this.#settle(worker);
      this.#dispatchSoon();
    });
  }

  /** Ends a run whose turn has come and that nobody wants; who has no run gives its slot back. */
  #settle(worker: Worker): void {
    if (worker.current !== null && worker.current.abortReason !== null)
      this.#deadlines.abort(worker);
    if (worker.isBusy || worker.isStarting || !worker.hasSlot) return;
    this.#threads.release(this.#flowOf(worker), worker);
  }
}
