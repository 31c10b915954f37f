import { setTimeout as wait } from "node:timers/promises";
import { Refusal } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { failed, type Ending, type FlowSpec, type Job, type LogLine } from "../runner/protocol.ts";
import type { Store } from "../store/database.ts";
import type { ExecutionRow } from "../store/executions.ts";
import { toConnection } from "./allowance.ts";
import type { Changes } from "./changes.ts";
import { toJob, type Input } from "./input.ts";
import { Journal } from "./journal.ts";
import { newLive, type LiveExecution } from "./live.ts";
import {
  decide,
  isJudgedAtOnce,
  toOutcome,
  type Outcome,
  type OutcomeJob,
  type OutcomeLimits,
} from "./outcome.ts";
import { Pace } from "./pace.ts";
import { Slots, type Seat } from "./slots.ts";
import type { StartedFile } from "./started-file.ts";
import { toRow, type RunnableFlow, type StartRequest } from "./start-request.ts";
import type { EndedStatus } from "./status.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface ExecutionsOptions {
  readonly store: Store;
  readonly log: Log;
  readonly run: (spec: FlowSpec, job: Job, is_ahead: boolean) => Promise<Ending | "returned">;
  readonly abort: (id: string, reason: string) => void;
  readonly started: Pick<StartedFile, "add" | "remove">;
  readonly limits: OutcomeLimits;
  /** `toOutcome` of what is large, elsewhere. */
  readonly judgeLarge: (job: OutcomeJob) => Promise<Outcome>;
  readonly worker_threads: number;
  readonly flow_max_concurrent: number;
  readonly max_queued: number;
  /** CONNECTION_ALLOWANCE; null: unlimited. */
  readonly connection_allowance: number | null;
  readonly base_url: string;
}

/** How long a stop waits for endings that the store cannot take just now. */
const WRITE_MS = 1000;

/** The life of executions: recorded, run, ended; see status.ts for the states. */
export class Executions {
  readonly #options: ExecutionsOptions;
  readonly #journal: Journal;
  readonly #slots: Slots;
  readonly #line: WaitingLine;
  readonly #pace: Pace;
  readonly #live = new Map<string, LiveExecution>();
  readonly #stopListeners = new Set<() => void>();
  readonly #ended: Record<EndedStatus, number> = {
    ENDED_SUCCESS: 0,
    ENDED_ERROR: 0,
    ENDED_TIMEOUT: 0,
    ENDED_CANCELLED: 0,
  };
  #is_closing = false;
  #is_stopped = false;
  #idle: (() => void) | null = null;

  constructor(options: ExecutionsOptions) {
    const per_flow = options.flow_max_concurrent;
    this.#options = options;
    this.#journal = new Journal(options.store, options.log);
    this.#pace = new Pace(per_flow);
    const ahead = (flow: string): number => this.#pace.ahead(flow);
    this.#slots = new Slots({ total: options.worker_threads, per_flow, ahead });
    this.#line = new WaitingLine({
      slots: this.#slots,
      journal: this.#journal,
      pace: this.#pace,
      dispatch: (execution, input, seat) => this.#dispatch(execution, input, seat),
      giveUp: (execution, fault) => this.#follow(execution.id, this.#giveUp(execution, fault)),
    });
  }

  /**
   * Refuses where one of this flow would have to wait and the queue has no room for it, as `start`
   * does. No flow holds more than half of the queue (contract, section 7, number 1).
   *
   * @throws Refusal queue_full, shutting_down
   */
  requireRoom(flow: string): void {
    if (this.#is_closing)
      throw new Refusal("shutting_down", "The service is shutting down. Try again", {
        headers: { "retry-after": "5" },
      });
    if (this.#slots.isFree(flow)) return;
    const { max_queued } = this.#options;
    const { queued } = this.#slots;
    if (queued >= max_queued) throw refuseQueued(`${queued} executions wait already`);
    const own = this.#slots.queuedOf(flow);
    if (own >= Math.max(1, Math.floor(max_queued / 2)))
      throw refuseQueued(`${own} executions of this flow wait already, half of the queue`);
  }

  /**
   * Resolves when the record is committed; a later failure is a value of `ended`.
   *
   * @throws Refusal queue_full, shutting_down, allowance_used, store_unavailable
   */
  async start(request: StartRequest): Promise<LiveExecution> {
    this.requireRoom(request.flow_name);
    const { flow, flow_name, input } = request;
    const is_known = flow !== undefined && flow.spec !== null;
    const seat = is_known ? this.#slots.tryTake(flow_name) : null;
    // Next in line within milliseconds: one commit says that it is recorded and that it runs.
    const is_marked = is_known && (seat !== null || this.#line.isNear(flow_name));
    const row = toRow(request, is_marked);
    if (seat === null) this.#slots.announce(flow_name);
    try {
      const allowance = this.#options.connection_allowance;
      const connection = request.is_connection ? toConnection(allowance, row.created_at) : null;
      await this.#journal.begin(row, input, connection);
    } catch (fault) {
      if (seat !== null) this.#release(flow_name);
      throw fault;
    } finally {
      if (seat === null) this.#slots.arrive(flow_name);
    }
    const execution = this.#register(newLive(row, flow, request.trace ?? null));
    if (seat !== null) this.#dispatch(execution, input, seat);
    else this.#await(execution, input, is_marked);
    return execution;
  }

  /** Queues an execution that was recorded before this start of the service. */
  resume(row: ExecutionRow, flow: RunnableFlow | undefined): void {
    this.#await(this.#register(newLive(row, flow, null)), null);
  }

  /** An execution that has not ended, or whose thread is still busy. */
  find(id: string): LiveExecution | undefined {
    return this.#live.get(id);
  }

  /** Ends it as ENDED_CANCELLED; false where an ending was decided before. */
  cancel(id: string, reason: string): boolean {
    const execution = this.#live.get(id);
    return execution !== undefined && this.#cutShort(execution, "ENDED_CANCELLED", reason);
  }

  /** Log lines from a thread. */
  addLog(id: string, lines: readonly LogLine[]): void {
    if (this.#live.has(id)) this.#journal.addLog(id, lines);
  }

  /** Now in a thread, now waiting for one, and ended since the start by status. */
  counts(): { running: number; waiting: number; ended: Readonly<Record<EndedStatus, number>> } {
    const { running, waiting, granted } = this.#slots;
    return { running, waiting: waiting + granted - running, ended: this.#ended };
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
    if (this.#is_stopped) listener();
    this.#stopListeners.add(listener);
    return () => this.#stopListeners.delete(listener);
  }

  /**
   * From now on `start` refuses. Resolves when nothing runs any more, or the time is over; then
   * the listeners of `onStop` are called. What waits for a thread stays PENDING for the next start.
   */
  async drain(grace_ms: number): Promise<void> {
    this.#is_closing = true;
    this.#slots.stop();
    this.#journal.close();
    await this.#line.putBack();
    if (this.#slots.granted > 0) {
      const idle = new Promise<void>((resolve) => (this.#idle = resolve));
      await Promise.race([idle, wait(grace_ms, undefined, { ref: false })]);
    }
    // Those that have ended are told of it, once that is written.
    const ending = [...this.#live.values()].filter(({ decided }) => decided !== null);
    const told = Promise.all(ending.map(({ ended }) => ended));
    await Promise.race([told, wait(WRITE_MS, undefined, { ref: false })]);
    this.#is_stopped = true;
    for (const listener of this.#stopListeners) listener();
  }

  #register(execution: LiveExecution): LiveExecution {
    this.#live.set(execution.id, execution);
    return execution;
  }

  #await(execution: LiveExecution, input: Input | null, is_marked = false): void {
    if (execution.spec !== null) return this.#line.add(execution, input, is_marked);
    const message = `Flow "${execution.flow}" is not in the plugins folder, or has never loaded`;
    const ending = decide(execution.id, "ENDED_ERROR", message);
    this.#follow(execution.id, this.#end(execution, ending));
  }

  #dispatch(execution: LiveExecution, input: Input, seat: Seat): void {
    this.#follow(execution.id, this.#run(execution, input, seat));
  }

  /** Work that nobody waits for: what fails in it is logged, and stops nothing else. */
  #follow(id: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#options.log.error({ execution: id, err: error }, "Cannot carry on with an execution");
    });
  }

  /** Runs in the seat that was taken, and gives it back when the thread is free again. */
  async #run(execution: LiveExecution, input: Input, seat: Seat): Promise<void> {
    const { id, flow } = execution;
    const ending = await this.#handOver(execution, input, seat);
    // Lost with the service itself: the next start ends it as interrupted.
    if (this.#is_stopped) return;
    if (ending === "returned") return this.#waitAgain(execution, input);
    const ended = this.#end(execution, await this.#judge(id, ending));
    this.#release(flow);
    await ended;
  }

  /** Gives it to a runner, for as long as its limit allows. A failure is an ending too. */
  async #handOver(
    execution: LiveExecution,
    input: Input,
    seat: Seat,
  ): Promise<Ending | "returned"> {
    const { id, flow, spec, timeout_ms, facts } = execution;
    const { run, started, base_url, log } = this.#options;
    const limit = setTimeout(() => {
      const message = `It ran longer than its limit of ${timeout_ms / 1000} s`;
      this.#cutShort(execution, "ENDED_TIMEOUT", message);
    }, timeout_ms);
    try {
      const job = toJob(id, input, { execution: facts, base_url });
      const begun = performance.now();
      started.add(id);
      const ending = await run(spec as FlowSpec, job, seat === "ahead");
      if (ending !== "returned")
        this.#pace.learn(flow, performance.now() - begun, this.#slots.held(flow));
      return ending;
    } catch (error) {
      log.error({ execution: id, err: error }, "Cannot run an execution");
      return failed("The service could not run it. Its log has the reason");
    } finally {
      clearTimeout(limit);
    }
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

  /** It was ahead, and those before it take longer than was expected. */
  async #waitAgain(execution: LiveExecution, input: Input): Promise<void> {
    const { id, flow, decided, ended } = execution;
    this.#pace.slowDown(flow);
    this.#options.started.remove(id);
    if (decided !== null)
      this.#follow(
        id,
        ended.then(() => this.#live.delete(id)),
      );
    // The line was put back for the next start already.
    else if (this.#is_closing) await this.#journal.putBack([id]);
    else this.#line.add(execution, input, true);
    this.#release(flow);
  }

  /** It had its turn and cannot run: an ending was decided, or the mark could not be written. */
  async #giveUp(execution: LiveExecution, fault: unknown): Promise<void> {
    // Its mark could not be written before the service stops: it stays PENDING.
    if (this.#is_closing && execution.decided === null) return this.#release(execution.flow);
    if (execution.decided === null)
      this.#options.log.error({ execution: execution.id, fault: String(fault) }, "Cannot start");
    const ending = decide(execution.id, "ENDED_ERROR", "It could not be started");
    const ended = this.#end(execution, ending);
    this.#release(execution.flow);
    await ended;
  }

  /** Decides the ending of what waits or runs; false where one was decided before. */
  #cutShort(execution: LiveExecution, status: EndedStatus, message: string): boolean {
    if (execution.decided !== null) return false;
    const has_waited = this.#line.withdraw(execution);
    const ending = decide(execution.id, status, message);
    this.#follow(
      execution.id,
      has_waited ? this.#end(execution, ending) : this.#finish(execution, ending),
    );
    if (!has_waited) this.#options.abort(execution.id, message);
    return true;
  }

  /** It has no thread any more: once its ending is written it is live no longer. */
  async #end(execution: LiveExecution, outcome: Outcome): Promise<void> {
    await this.#finish(execution, outcome);
    this.#live.delete(execution.id);
  }

  /** Writes the ending, unless another was decided before, and tells whoever waits. */
  async #finish(execution: LiveExecution, outcome: Outcome): Promise<void> {
    if (execution.decided !== null) {
      await execution.ended;
      return;
    }
    execution.decided = outcome;
    await this.#journal.end(outcome);
    this.#options.started.remove(execution.id);
    this.#ended[outcome.status] += 1;
    this.#logEnding(execution, outcome.status);
    execution.settle(outcome);
  }

  /** The status message is the flow's own text, which may hold anything: the record has it. */
  #logEnding({ id, flow, trace }: LiveExecution, status: EndedStatus): void {
    const level = status === "ENDED_SUCCESS" ? "debug" : "info";
    const { log } = this.#options;
    if (log.isLevelEnabled(level)) log[level]({ execution: id, flow, status, ...trace }, "Ended");
  }

  #release(flow: string): void {
    this.#slots.release(flow);
    if (this.#slots.granted === 0) this.#idle?.();
  }
}

function refuseQueued(why: string): Refusal {
  return new Refusal("queue_full", `${why}. Try again later`, { headers: { "retry-after": "10" } });
}
