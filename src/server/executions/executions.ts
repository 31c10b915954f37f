import { setTimeout as wait } from "node:timers/promises";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { SlotList } from "./slot-list.ts";
import type {
  Ending,
  LogLine,
  OperationAnswer,
  OperationRequest,
} from "../../shared/wire/protocol.ts";
import type { Run } from "../workers/worker.ts";
import type { Store } from "../store/database.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { ActiveExecutions, newActive, type ActiveExecution } from "./active.ts";
import type { Allowance } from "./allowance.ts";
import type { Changes } from "./changes.ts";
import { DuplicateLog } from "./duplicate-log.ts";
import { ExecutionRun, type RunEvents } from "./execution-run.ts";
import { toJob, type Input } from "./input.ts";
import type { LogEnding } from "./ending-log.ts";
import { Journal } from "./journal.ts";
import { KeptInputs } from "./kept-inputs.ts";
import {
  decide,
  isJudgedAtOnce,
  toOutcome,
  type Outcome,
  type OutcomeJob,
  type OutcomeLimits,
} from "./outcome.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler.ts";
import { toRow, type RunnableFlow, type StartRequest } from "./start-request.ts";
import { WebhookQueues, type LimitedWebhook } from "./webhook-queues.ts";
import { toReplacedMessage } from "../store/ledger-record.ts";
import type { EndedStatus } from "../../shared/contract/status.ts";

export interface ExecutionsOptions extends Omit<SchedulerOptions, "defer" | "record"> {
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
  /** Tells the log that an ending is on disk. */
  readonly logEnding: LogEnding;
  readonly maxQueued: number;
  readonly allowance: Allowance;
  readonly baseUrl: string;
}

/** How long a stop waits for what the store or a thread cannot do just now. */
const WAIT_MS = 1000;

/** Until when `start` waits: for a caller who sees nothing before the ending, the disk may come later. */
export type Recorded = "written" | "synced";

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
  /** Of calls that were answered with an execution of an earlier one. */
  readonly duplicates: DuplicateLog;
  readonly #kept = new KeptInputs();
  readonly #queues: WebhookQueues;
  #isClosing = false;
  #isStopped = false;

  constructor(options: ExecutionsOptions) {
    this.#options = options;
    this.#journal = new Journal(options.store, options.log);
    this.duplicates = new DuplicateLog(this.#journal);
    this.#scheduler = new Scheduler({
      ...options,
      defer: (act) => options.store.ledger.beforeWrite(act),
      record: (runs, handOver) => this.#record(runs, handOver),
    });
    this.#queues = new WebhookQueues(
      (run) => this.#scheduler.enqueue(run),
      () => this.#active,
    );
  }

  /** The limits that a webhook has from now on. */
  limit(webhook: LimitedWebhook): void {
    this.#queues.limit(webhook);
  }

  /** Of webhooks with limits: how many executions run and wait. */
  countsByWebhook(): ReturnType<WebhookQueues["counts"]> {
    return this.#queues.counts();
  }

  /**
   * Refuses where one of this flow, and webhook, would have to wait and the queue has no room for
   * it, as `start` does. No flow holds more than half of the queue (contract, section 7, number 1).
   *
   * @throws RequestError queue_full, webhook_busy, shutting_down
   */
  requireRoom(flow: string, webhookId: string | null): void {
    if (this.#isClosing)
      throw new RequestError("shutting_down", "The service is shutting down. Try again", {
        headers: { "retry-after": "5" },
      });
    const isFree = this.#scheduler.isFree(flow);
    const queue = this.#queues.find(webhookId);
    if (!isFree || queue?.isFree === false) this.#requireQueueRoom(flow);
    queue?.requireRoom(isFree, this.#scheduler.meanOf(flow));
  }

  #requireQueueRoom(flow: string): void {
    const { maxQueued } = this.#options;
    const queued = this.#scheduler.queued + this.#queues.held;
    if (queued >= maxQueued) throw refuseQueued(`${queued} executions wait already`);
    const own = this.#scheduler.queuedOf(flow) + this.#queues.heldOf(flow);
    if (own >= Math.max(1, Math.floor(maxQueued / 2)))
      throw refuseQueued(`${own} executions of this flow wait already, half of the queue`);
  }

  /**
   * Resolves when the record is written, or is on disk too; a later failure is a value of `ended`.
   *
   * @throws RequestError queue_full, webhook_busy, shutting_down, allowance_used, store_unavailable
   */
  async start(request: StartRequest, until: Recorded = "synced"): Promise<ActiveExecution> {
    const { flow, flowName, input } = request;
    await this.#journal.requireRoom();
    this.requireRoom(flowName, request.webhook?.id ?? null);
    const row = toRow(request);
    const { allowance } = this.#options;
    const month = request.isConnection ? allowance.take(row.created_at) : null;
    const execution = newActive(row, flow, request.trace ?? null);
    const { promise, resolve, reject } = Promise.withResolvers<ActiveExecution>();
    const { claim = null } = request;
    const replaced = this.#replaceBy(execution);
    const more = {
      month,
      ...(claim !== null && { claims: claim.rows }),
      ...(replaced.length > 0 && { replaces: replaced.map(({ id }) => id) }),
    };
    execution.recordedIn = this.#journal.begin(row, input, more, {
      written: () => {
        this.#kept.keep(execution);
        if (until === "written") resolve(execution);
      },
      ...((until === "synced" || replaced.length > 0) && {
        synced: () => {
          for (const one of replaced) this.#onReplaced(one);
          resolve(execution);
        },
      }),
      ...((claim !== null || replaced.length > 0) && {
        applied: () => {
          claim?.applied();
          for (const one of replaced) this.#onEndApplied(one);
        },
      }),
      refused: (refused) => {
        if (month !== null) allowance.giveBack(month);
        this.#refuse(execution);
        for (const one of replaced) this.#restore(one);
        reject(refused);
      },
    });
    this.#enqueue(execution, input);
    return promise;
  }

  /** Decides that what waits of the webhook ends with the begin of a new execution. */
  #replaceBy({ id, row }: ActiveExecution): ActiveExecution[] {
    const waiting = this.#queues.find(row.webhook_id)?.listReplaceable() ?? [];
    const replaced = waiting.filter(({ run }) => run !== null && run.link !== null);
    for (const execution of replaced) {
      const { run, queue } = execution;
      if (run !== null) this.#scheduler.withdraw(run);
      if (run !== null) queue?.leave(run);
      queue?.ended(execution);
      execution.decided = decide(execution.id, "ENDED_CANCELLED", toReplacedMessage(id));
    }
    return replaced;
  }

  /** What was to replace it could not be recorded: it waits on. */
  #restore(execution: ActiveExecution): void {
    execution.decided = null;
    if (execution.run !== null) execution.queue?.add(execution, execution.run);
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
    this.#enqueue(newActive(row, flow, null), null);
  }

  /** An execution that has not ended, whose thread is busy, or whose ending the tables lack. */
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
    const { running, waiting } = this.#scheduler.counts();
    return { running, waiting: waiting + this.#queues.held, ended: this.#ended };
  }

  /** Connections of this month (section 8). */
  connectionsUsed(): number {
    return this.#options.allowance.usedAt(now());
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
  async drain(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#journal.close();
    await atMost(WAIT_MS, this.#scheduler.stop());
    await atMost(graceMs, this.#scheduler.whenIdle());
    // Those that have ended are told of it, once that is written.
    const ending = [...this.#active].filter(({ decided }) => decided !== null);
    await atMost(WAIT_MS, Promise.all(ending.map(({ ended }) => ended)));
    this.#isStopped = true;
    this.#journal.stop();
    this.#scheduler.close();
    for (const listener of this.#stopListeners) listener();
  }

  returned(execution: ActiveExecution): void {
    const isWaiting = (): boolean => (execution.run?.link ?? null) !== null;
    execution.queue?.returned(execution);
    this.#journal.wait(execution.id, isWaiting);
  }

  ended(execution: ActiveExecution, ending: Ending): void {
    // Lost with the service itself: the next start ends it as interrupted.
    if (this.#isStopped) return;
    this.#leaveRun(execution);
    if (isJudgedAtOnce(ending)) this.#end(execution, this.#judge(execution.id, ending));
    else this.#carryOn(execution.id, this.#concludeLarge(execution, ending));
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

  #enqueue(execution: ActiveExecution, input: Input | null): ActiveExecution {
    this.#active.add(execution);
    if (isRunnable(execution)) {
      const job = input === null ? null : toJob(execution.row, input, this.#options.baseUrl);
      const run = new ExecutionRun(execution, this, job);
      execution.run = run;
      execution.queue = this.#queues.find(execution.row.webhook_id);
      if (execution.queue === null) this.#scheduler.enqueue(run);
      else execution.queue.add(execution, run);
      return execution;
    }
    const message = `Flow "${execution.flow}" is not in the plugins folder, or has never loaded`;
    this.#end(execution, decide(execution.id, "ENDED_ERROR", message));
    return execution;
  }

  /** It could not be recorded: it is as if it had never been. */
  #refuse(execution: ActiveExecution): void {
    execution.isRefused = true;
    if (execution.run !== null) this.#abort(execution, execution.run, "It was not recorded");
    execution.queue?.ended(execution);
    this.#kept.release(execution);
    this.#active.delete(execution);
  }

  /** Records that runs are handed over; see SchedulerOptions. */
  #record(runs: readonly Run[], handOver: (recorded: readonly Run[]) => void): void {
    const own = runs.filter((run) => run instanceof ExecutionRun);
    if (own.every(({ job }) => job !== null)) return this.#recordStart(own, handOver);
    Promise.all(own.map((run) => this.#load(run))).then(
      (loaded) => this.#recordStart(loaded.flat(), handOver),
      (error: unknown) => this.#options.log.error({ err: error }, "Cannot hand runs over"),
    );
  }

  #recordStart(runs: readonly ExecutionRun[], handOver: (recorded: readonly Run[]) => void): void {
    const own = runs.filter(({ execution }) => !execution.isRefused);
    // What is stopped records nothing any more, and what is not recorded does not run.
    if (own.length === 0 || this.#isStopped) return handOver([]);
    const rows = new Set(own.map(({ execution }) => execution.recordedIn));
    const [row = null] = rows.size === 1 ? rows : [];
    for (const { execution } of own) execution.queue?.started(execution);
    this.#journal.start(
      own.map(({ id }) => id),
      row,
      {
        started: () => {
          const startedAt = now();
          for (const { execution } of own) {
            execution.startedAt = startedAt;
            this.#kept.release(execution);
          }
          handOver(own.filter(({ execution }) => !execution.isRefused));
        },
        // The service stops before it could be written: they stay PENDING.
        failed: () => (this.#isClosing ? handOver([]) : this.#recordStart(own, handOver)),
      },
    );
  }

  /** Makes a job of what was recorded. @returns the run, where it is to run */
  async #load(run: ExecutionRun): Promise<ExecutionRun[]> {
    const { execution } = run;
    if (run.job !== null) return [run];
    try {
      const input = await this.#journal.readInput(run.id);
      if (input === undefined) throw new Error("its record is gone");
      run.job = toJob(execution.row, input, this.#options.baseUrl);
      return [run];
    } catch (error) {
      this.#giveUp(execution, error);
      return [];
    }
  }

  /** Work that nobody waits for: what fails in it is logged, and stops nothing else. */
  #carryOn(id: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#options.log.error({ execution: id, err: error }, "Cannot carry on with an execution");
    });
  }

  async #concludeLarge(execution: ActiveExecution, ending: Ending): Promise<void> {
    const { limits, judgeLarge } = this.#options;
    const { id } = execution;
    const outcome = await judgeLarge({ id, ending, limits }).catch((error: unknown) =>
      this.#misjudge(id, error),
    );
    this.#end(execution, outcome);
  }

  #judge(id: string, ending: Ending): Outcome {
    try {
      return toOutcome(id, ending, this.#options.limits);
    } catch (error) {
      return this.#misjudge(id, error);
    }
  }

  /** An ending that cannot be judged is a failure of the execution, never of the service. */
  #misjudge(id: string, error: unknown): Outcome {
    this.#options.log.error({ execution: id, err: error }, "Cannot judge an ending");
    return decide(id, "ENDED_ERROR", "The flow's ending could not be read");
  }

  /** It had its turn and cannot run. */
  #giveUp(execution: ActiveExecution, error: unknown): void {
    this.#leaveRun(execution);
    // The service stops before its record could be read: it stays PENDING.
    if (this.#isClosing && execution.decided === null) return;
    if (execution.decided === null)
      this.#options.log.error({ execution: execution.id, error: String(error) }, "Cannot start");
    this.#end(execution, decide(execution.id, "ENDED_ERROR", "It could not be started"));
  }

  /** Decides the ending of what waits or runs; false where one was decided before. */
  #cutShort(execution: ActiveExecution, status: EndedStatus, message: string): boolean {
    if (execution.decided !== null) return false;
    const { id, run } = execution;
    const hasWaited = run !== null && this.#abort(execution, run, message);
    if (hasWaited) this.#kept.release(execution);
    const ending = decide(id, status, message);
    if (hasWaited) this.#leaveRun(execution);
    this.#end(execution, ending);
    return true;
  }

  /** @returns whether it waited: then it is gone, without an ending */
  #abort(execution: ActiveExecution, run: Run, reason: string): boolean {
    if (run.link !== null && execution.queue?.leave(run)) return true;
    return this.#scheduler.abort(run, reason);
  }

  /** It has no thread any more, or was never given one. */
  #leaveRun(execution: ActiveExecution): void {
    const { run, queue } = execution;
    execution.run = null;
    if (run !== null) queue?.leave(run);
  }

  /** Writes the ending, unless another was decided before, and tells whoever waits. */
  #end(execution: ActiveExecution, outcome: Outcome): void {
    if (execution.decided !== null) return this.#forget(execution);
    execution.decided = outcome;
    execution.queue?.ended(execution);
    this.#journal.end(outcome, {
      synced: () => this.#onEndSynced(execution, outcome),
      applied: () => this.#onEndApplied(execution),
    });
  }

  #onEndSynced(execution: ActiveExecution, outcome: Outcome): void {
    this.#ended[outcome.status] += 1;
    this.#options.logEnding(execution, outcome);
    execution.settle(outcome);
  }

  #onEndApplied(execution: ActiveExecution): void {
    execution.isApplied = true;
    this.#forget(execution);
  }

  #onReplaced(execution: ActiveExecution): void {
    execution.run = null;
    this.#kept.release(execution);
    if (execution.decided !== null) this.#onEndSynced(execution, execution.decided);
  }

  /** Once the tables have its ending and it has no thread, it is active no longer. */
  #forget(execution: ActiveExecution): void {
    if (execution.isApplied && execution.run === null) this.#active.delete(execution);
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

function refuseQueued(why: string): RequestError {
  return new RequestError("queue_full", `${why}. Try again later`, {
    headers: { "retry-after": "10" },
  });
}
