import { setTimeout as wait } from "node:timers/promises";
import { Refusal } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { SlotList } from "../lib/slot-list.ts";
import type {
  Ending,
  Job,
  LogLine,
  OperationAnswer,
  OperationRequest,
} from "../runner/protocol.ts";
import type { Store } from "../store/database.ts";
import type { ExecutionRow } from "../store/executions.ts";
import { ActiveExecutions, newActive, type ActiveExecution } from "./active.ts";
import { toConnection } from "./allowance.ts";
import type { Changes } from "./changes.ts";
import { ExecutionRun, type RunEvents } from "./execution-run.ts";
import { toJob, type Input } from "./input.ts";
import { Journal } from "./journal.ts";
import {
  decide,
  isJudgedAtOnce,
  toOutcome,
  type Outcome,
  type OutcomeJob,
  type OutcomeLimits,
} from "./outcome.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler.ts";
import type { StartedFile } from "./started-file.ts";
import { toRow, type RunnableFlow, type StartRequest } from "./start-request.ts";
import type { EndedStatus } from "./status.ts";

export interface ExecutionsOptions extends SchedulerOptions {
  readonly store: Store;
  readonly log: Log;
  readonly limits: OutcomeLimits;
  /** `toOutcome` of what is large, elsewhere. */
  readonly judgeLarge: (job: OutcomeJob) => Promise<Outcome>;
  /** Answers an operation that a flow asked for. Never rejects. */
  readonly operate: (
    execution: ActiveExecution,
    request: OperationRequest,
  ) => Promise<OperationAnswer>;
  readonly maxQueued: number;
  /** CONNECTION_ALLOWANCE; null: unlimited. */
  readonly connectionAllowance: number | null;
  readonly baseUrl: string;
  /** Opens the record of what was handed to a thread. */
  openStarted(listRunning: () => string[]): StartedFile;
}

/** How long a stop waits for what the store or a thread cannot do just now. */
const WAIT_MS = 1000;

/** Inputs up to this length are kept while they wait, up to so much in all; in characters. */
const KEPT_LENGTH = 16 * 1024;
const KEPT_TOTAL = 32 * 1024 * 1024;

/** The life of executions: recorded, run, ended; see status.ts for the states. */
export class Executions implements RunEvents {
  readonly #options: ExecutionsOptions;
  readonly #journal: Journal;
  readonly #scheduler: Scheduler;
  readonly #active = new ActiveExecutions();
  readonly #stopListeners = new SlotList<() => void>();
  readonly #ended: Record<EndedStatus, number> = {
    ENDED_SUCCESS: 0,
    ENDED_ERROR: 0,
    ENDED_TIMEOUT: 0,
    ENDED_CANCELLED: 0,
  };
  /** Which of the executions were handed to a thread. */
  readonly started: StartedFile;
  /** Characters of inputs that are kept while they wait. */
  #kept = 0;
  #isClosing = false;
  #isStopped = false;

  constructor(options: ExecutionsOptions) {
    this.#options = options;
    this.#journal = new Journal(options.store, options.log);
    this.#scheduler = new Scheduler(options);
    this.started = options.openStarted(() => this.#listStarted());
  }

  /**
   * Refuses where one of this flow would have to wait and the queue has no room for it, as `start`
   * does. No flow holds more than half of the queue (contract, section 7, number 1).
   *
   * @throws Refusal queue_full, shutting_down
   */
  requireRoom(flow: string): void {
    if (this.#isClosing)
      throw new Refusal("shutting_down", "The service is shutting down. Try again", {
        headers: { "retry-after": "5" },
      });
    if (this.#scheduler.isFree(flow)) return;
    const { maxQueued } = this.#options;
    const { queued } = this.#scheduler;
    if (queued >= maxQueued) throw refuseQueued(`${queued} executions wait already`);
    const own = this.#scheduler.queuedOf(flow);
    if (own >= Math.max(1, Math.floor(maxQueued / 2)))
      throw refuseQueued(`${own} executions of this flow wait already, half of the queue`);
  }

  /**
   * Resolves when the record is committed; a later failure is a value of `ended`.
   *
   * @throws Refusal queue_full, shutting_down, allowance_used, store_unavailable
   */
  async start(request: StartRequest): Promise<ActiveExecution> {
    const { flow, flow_name, input } = request;
    this.requireRoom(flow_name);
    // One commit says that it is recorded and that it runs, where it is handed over at once.
    const isRunning = this.#scheduler.announce(flow_name, flow?.spec ?? null);
    const row = toRow(request, isRunning);
    try {
      const allowance = this.#options.connectionAllowance;
      const connection = request.is_connection ? toConnection(allowance, row.created_at) : null;
      await this.#journal.begin(row, input, connection);
    } finally {
      this.#scheduler.arrive(flow_name);
    }
    return this.#enqueue(newActive(row, flow, request.trace ?? null), input, isRunning);
  }

  /**
   * From now on executions run. Before, they are recorded and wait: a start of the service that
   * fails leaves them to the next one.
   */
  open(): void {
    this.#scheduler.open();
  }

  /** Queues an execution that was recorded before this start of the service. */
  resume(row: ExecutionRow, flow: RunnableFlow | undefined): void {
    this.#enqueue(newActive(row, flow, null), null, false);
  }

  /** An execution that has not ended, or whose thread is still busy. */
  find(id: string): ActiveExecution | undefined {
    return this.#active.find(id);
  }

  /** Ends it as ENDED_CANCELLED; false where an ending was decided before. */
  cancel(id: string, reason: string): boolean {
    const execution = this.#active.find(id);
    return execution !== undefined && this.#cutShort(execution, "ENDED_CANCELLED", reason);
  }

  /** Now in a thread, now waiting for one, and ended since the start by status. */
  counts(): { running: number; waiting: number; ended: Readonly<Record<EndedStatus, number>> } {
    return { ...this.#scheduler.counts(), ended: this.#ended };
  }

  /** What happens to executions, for whoever looks on. */
  get changes(): Changes {
    return this.#journal.changes;
  }

  /**
   * Calls back once the service stops, at once where it has: whoever waits is to be answered.
   *
   * @returns forgets the listener
   */
  onStop(listener: () => void): () => void {
    if (this.#isStopped) listener();
    const slot = this.#stopListeners.add(listener);
    return () => this.#stopListeners.delete(slot);
  }

  /**
   * From now on `start` refuses. Resolves when nothing runs any more, or the time is over; then
   * the listeners of `onStop` are called. What waits for a thread stays PENDING for the next start.
   */
  async drain(grace_ms: number): Promise<void> {
    this.#isClosing = true;
    this.#journal.close();
    await this.#putBack();
    await atMost(grace_ms, this.#scheduler.whenIdle());
    // Those that have ended are told of it, once that is written.
    const ending = [...this.#active].filter(({ decided }) => decided !== null);
    await atMost(WAIT_MS, Promise.all(ending.map(({ ended }) => ended)));
    this.#isStopped = true;
    this.#scheduler.close();
    for (const listener of this.#stopListeners) listener();
  }

  async prepare(execution: ActiveExecution, input: Input | null): Promise<Job | null> {
    const { id } = execution;
    this.#letGo(execution);
    try {
      await this.#journal.run(id);
      const found = input ?? (await this.#journal.readInput(id));
      if (execution.decided === null && found !== undefined) return this.#toJob(execution, found);
      this.#follow(id, this.#giveUp(execution, "its record is gone"));
    } catch (error) {
      this.#follow(id, this.#giveUp(execution, error));
    }
    return null;
  }

  handedOver(execution: ActiveExecution): void {
    execution.isStarted = true;
    this.started.add(execution.id);
  }

  returned(execution: ActiveExecution): void {
    execution.isStarted = false;
  }

  ended(execution: ActiveExecution, ending: Ending): void {
    // Lost with the service itself: the next start ends it as interrupted.
    if (this.#isStopped) return;
    this.#follow(execution.id, this.#conclude(execution, ending));
  }

  expired(execution: ActiveExecution): void {
    const message = `It ran longer than its limit of ${execution.timeoutMs / 1000} s`;
    this.#cutShort(execution, "ENDED_TIMEOUT", message);
  }

  log({ id }: ActiveExecution, lines: readonly LogLine[]): void {
    this.#journal.addLog(id, lines);
  }

  operate(execution: ActiveExecution, request: OperationRequest): Promise<OperationAnswer> {
    return this.#options.operate(execution, request);
  }

  /** Handed to a thread, and the ending is not committed. */
  #listStarted(): string[] {
    return [...this.#active].filter(({ isStarted }) => isStarted).map(({ id }) => id);
  }

  #enqueue(execution: ActiveExecution, input: Input | null, isRunning: boolean): ActiveExecution {
    this.#active.add(execution);
    if (isRunnable(execution)) {
      const job = isRunning && input !== null ? this.#toJob(execution, input) : null;
      const kept = job === null ? this.#keep(execution, input) : null;
      execution.run = new ExecutionRun(execution, this, { job, input: kept });
      this.#scheduler.enqueue(execution.run);
      return execution;
    }
    const message = `Flow "${execution.flow}" is not in the plugins folder, or has never loaded`;
    const ending = decide(execution.id, "ENDED_ERROR", message);
    this.#follow(execution.id, this.#end(execution, ending));
    return execution;
  }

  #toJob({ id, facts }: ActiveExecution, input: Input): Job {
    return toJob(id, input, { execution: facts, base_url: this.#options.baseUrl });
  }

  /** What waits long is read again when its turn comes, where there is much of it. */
  #keep(execution: ActiveExecution, input: Input | null): Input | null {
    const length = input?.input_value.length ?? 0;
    if (length > KEPT_LENGTH || this.#kept + length > KEPT_TOTAL) return null;
    this.#kept += length;
    execution.kept = length;
    return input;
  }

  #letGo(execution: ActiveExecution): void {
    this.#kept -= execution.kept;
    execution.kept = 0;
  }

  /** Work that nobody waits for: what fails in it is logged, and stops nothing else. */
  #follow(id: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#options.log.error({ execution: id, err: error }, "Cannot carry on with an execution");
    });
  }

  /** What waits, or came back without having begun, is PENDING for the next start. */
  async #putBack(): Promise<void> {
    const waiting = await atMost(WAIT_MS, this.#scheduler.stop());
    const running = (waiting ?? []).filter(({ job }) => job !== null);
    await this.#journal.putBack(running.map(({ id }) => id));
  }

  async #conclude(execution: ActiveExecution, ending: Ending): Promise<void> {
    execution.run = null;
    await this.#end(execution, await this.#judge(execution.id, ending));
  }

  /** An ending that cannot be judged is a failure of the execution, never of the service. */
  async #judge(id: string, ending: Ending): Promise<Outcome> {
    const { limits, judgeLarge } = this.#options;
    try {
      if (isJudgedAtOnce(ending)) return toOutcome(id, ending, limits);
      return await judgeLarge({ id, ending, limits });
    } catch (error) {
      this.#options.log.error({ execution: id, err: error }, "Cannot judge an ending");
      return decide(id, "ENDED_ERROR", "The flow's ending could not be read");
    }
  }

  /** It had its turn and cannot run: an ending was decided, or the store could not be written. */
  async #giveUp(execution: ActiveExecution, error: unknown): Promise<void> {
    // The service stops before it could be written that it runs: it stays PENDING.
    if (this.#isClosing && execution.decided === null) return;
    if (execution.decided === null)
      this.#options.log.error({ execution: execution.id, fault: String(error) }, "Cannot start");
    await this.#end(execution, decide(execution.id, "ENDED_ERROR", "It could not be started"));
  }

  /** Decides the ending of what waits or runs; false where one was decided before. */
  #cutShort(execution: ActiveExecution, status: EndedStatus, message: string): boolean {
    if (execution.decided !== null) return false;
    const { id, run } = execution;
    const hasWaited = run !== null && this.#scheduler.abort(run, message);
    if (hasWaited) this.#letGo(execution);
    const ending = decide(id, status, message);
    this.#follow(id, hasWaited ? this.#end(execution, ending) : this.#finish(execution, ending));
    return true;
  }

  /** It has no thread any more: once its ending is written it is active no longer. */
  async #end(execution: ActiveExecution, outcome: Outcome): Promise<void> {
    await this.#finish(execution, outcome);
    this.#active.delete(execution);
  }

  /** Writes the ending, unless another was decided before, and tells whoever waits. */
  async #finish(execution: ActiveExecution, outcome: Outcome): Promise<void> {
    if (execution.decided !== null) {
      await execution.ended;
      return;
    }
    execution.decided = outcome;
    await this.#journal.end(outcome);
    execution.isStarted = false;
    this.#ended[outcome.status] += 1;
    this.#logEnding(execution, outcome.status);
    execution.settle(outcome);
  }

  /** The status message is the flow's own text, which may hold anything: the record has it. */
  #logEnding({ id, flow, trace }: ActiveExecution, status: EndedStatus): void {
    const level = status === "ENDED_SUCCESS" ? "debug" : "info";
    const { log } = this.#options;
    if (log.isLevelEnabled(level)) log[level]({ execution: id, flow, status, ...trace }, "Ended");
  }
}

function isRunnable(
  execution: ActiveExecution,
): execution is ActiveExecution & { readonly spec: ExecutionRun["spec"] } {
  return execution.spec !== null;
}

/** What is resolved within a time; undefined where that is over. */
function atMost<Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> {
  return Promise.race([value, wait(ms, undefined, { ref: false })]);
}

function refuseQueued(why: string): Refusal {
  return new Refusal("queue_full", `${why}. Try again later`, { headers: { "retry-after": "10" } });
}
