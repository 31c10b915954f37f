import { setTimeout as wait } from "node:timers/promises";
import { now } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { newExecutionId } from "../lib/id.ts";
import type { Log } from "../lib/log.ts";
import type { Trace } from "../lib/trace.ts";
import type { Flow } from "../flows/catalog.ts";
import type { Ending, FlowSpec, Job, LogLine } from "../runner/protocol.ts";
import type { Store } from "../store/database.ts";
import {
  countConnection,
  endExecution,
  findPayload,
  insertExecution,
  insertLogLine,
  runExecution,
  type ExecutionRow,
} from "../store/executions.ts";
import { StoreFault, toRefusal } from "../store/fault.ts";
import type { Statement } from "../store/thread-protocol.ts";
import { toJob, type Input } from "./input.ts";
import { openChanges, type Changes } from "./changes.ts";
import { newLive, type LiveExecution } from "./live.ts";
import { decide, toOutcome, type Outcome, type OutcomeLimits } from "./outcome.ts";
import { openSlots } from "./slots.ts";
import type { EndedStatus } from "./status.ts";

/** What an execution is started from: a call, a command, another execution. */
export interface StartRequest {
  readonly flow_name: string;
  /** The version to run; undefined: the flow is not there, which is recorded as the ending. */
  readonly flow: Pick<Flow, "spec" | "timeout_ms"> | undefined;
  readonly webhook: { readonly id: string; readonly name: string } | null;
  readonly input: Input;
  readonly is_productive: boolean;
  readonly is_async: boolean;
  readonly project_id: string;
  readonly role_id: string | null;
  /** The user whose permissions it has instead of its role's. */
  readonly acts_for: string | null;
  readonly created_by: string | null;
  readonly parent_id: string | null;
  readonly replay_of: string | null;
  /** Whether it consumes one connection of the month's allowance. */
  readonly is_connection: boolean;
  /** The request that starts it; for the log alone. */
  readonly trace?: Trace;
}

/** The life of executions: recorded, run, ended; see status.ts for the states. */
export interface Executions {
  /**
   * Refuses where the queue is full, as `start` would.
   *
   * @throws Refusal queue_full, shutting_down
   */
  requireRoom(): void;
  /**
   * Resolves when the record is committed; a later failure is a value of `ended`.
   *
   * @throws Refusal queue_full, shutting_down, allowance_used, store_unavailable
   */
  start(request: StartRequest): Promise<LiveExecution>;
  /** An execution that has not ended, or whose thread is still busy. */
  find(id: string): LiveExecution | undefined;
  /** Ends it as ENDED_CANCELLED; false where an ending was decided before. */
  cancel(id: string, reason: string): boolean;
  /** Queues an execution that was recorded before this start of the service. */
  resume(row: ExecutionRow, flow: StartRequest["flow"]): void;
  /** Log lines from a thread. */
  addLog(id: string, lines: readonly LogLine[]): void;
  /** Now in a thread, now waiting for one, and ended since the start by status. */
  counts(): { running: number; waiting: number; ended: Readonly<Record<EndedStatus, number>> };
  /** What happens to executions, for whoever looks on. */
  readonly changes: Changes;
  /**
   * Calls back once the service stops, at once where it has: whoever waits is to be answered.
   *
   * @returns forgets the listener
   */
  onStop(listener: () => void): () => void;
  /**
   * From now on `start` refuses. Resolves when nothing runs any more, or the time is over; then
   * the listeners of `onStop` are called. What waits for a thread stays PENDING for the next start.
   */
  drain(grace_ms: number): Promise<void>;
}

export interface ExecutionsOptions {
  readonly store: Store;
  readonly log: Log;
  readonly run: (spec: FlowSpec, job: Job) => Promise<Ending>;
  readonly abort: (id: string, reason: string) => void;
  readonly limits: OutcomeLimits;
  readonly worker_threads: number;
  readonly flow_max_concurrent: number;
  readonly max_queued: number;
  /** CONNECTION_ALLOWANCE; null: unlimited. */
  readonly connection_allowance: number | null;
  readonly base_url: string;
}

/** How long to wait before an ending that could not be written is tried again. */
const RETRY_MS = 1000;

export function openExecutions(options: ExecutionsOptions): Executions {
  const { store, log } = options;
  const slots = openSlots({
    total: options.worker_threads,
    per_flow: options.flow_max_concurrent,
  });
  const live = new Map<string, LiveExecution>();
  const changes = openChanges();
  const ended = { ENDED_SUCCESS: 0, ENDED_ERROR: 0, ENDED_TIMEOUT: 0, ENDED_CANCELLED: 0 };
  const stopListeners = new Set<() => void>();
  let is_closing = false;
  let is_stopped = false;
  let idle: (() => void) | null = null;

  function requireRoom(): void {
    if (is_closing)
      throw new Refusal("shutting_down", "The service is shutting down. Try again", {
        headers: { "retry-after": "5" },
      });
    if (slots.waiting >= options.max_queued)
      throw new Refusal("queue_full", `${slots.waiting} executions wait already. Try again later`, {
        headers: { "retry-after": "10" },
      });
  }

  async function start(request: StartRequest): Promise<LiveExecution> {
    requireRoom();
    const spec = request.flow?.spec ?? null;
    const is_running = spec !== null && slots.tryTake(request.flow_name);
    const row = toRow(request, is_running);
    try {
      await store.commit([
        ...(request.is_connection ? [connect(row.created_at)] : []),
        ...insertExecution(row, request.input),
      ]);
    } catch (fault) {
      if (is_running) release(row.flow);
      throw toStartRefusal(fault);
    }
    const execution = register(row, spec, request.trace);
    changes.publish(row.id, "status");
    if (spec === null) endWithoutFlow(execution);
    else if (is_running) void runJob(execution, request, spec, jobOf(row, request.input));
    else queue(execution, request, spec, row);
    return execution;
  }

  /** @throws Refusal allowance_used: nothing can be counted under an allowance of 0 */
  function connect(at: number): Statement {
    const limit = options.connection_allowance ?? Number.MAX_SAFE_INTEGER;
    if (limit < 1) throw refuseConnection();
    return countConnection({ month: monthOf(at), limit });
  }

  function register(row: ExecutionRow, spec: FlowSpec | null, trace?: Trace): LiveExecution {
    const { id, flow, webhook_id } = row;
    const execution = newLive({
      id,
      flow,
      spec,
      webhook_id,
      is_async: row.is_async === 1,
      trace: trace ?? null,
    });
    live.set(row.id, execution);
    return execution;
  }

  function jobOf(row: ExecutionRow, input: Input): Job {
    const { id, webhook, flow, project_id } = row;
    const execution = { id, webhook, flow, is_productive: row.is_productive === 1, project_id };
    return toJob(id, input, { execution, base_url: options.base_url });
  }

  function endWithoutFlow(execution: LiveExecution): void {
    const message = `Flow "${execution.flow}" is not in the plugins folder, or has never loaded`;
    void finish(execution, decide(execution.id, "ENDED_ERROR", message)).then(() =>
      forget(execution),
    );
  }

  /** Waits for a slot; the input is read again then, so that a long queue costs little memory. */
  function queue(
    execution: LiveExecution,
    flow: { flow: StartRequest["flow"] },
    spec: FlowSpec,
    row: ExecutionRow,
  ): void {
    slots.wait(execution.flow, execution.id, () => void runQueued(execution, flow, spec, row));
  }

  async function runQueued(
    execution: LiveExecution,
    flow: { flow: StartRequest["flow"] },
    spec: FlowSpec,
    row: ExecutionRow,
  ): Promise<void> {
    try {
      await store.commit([runExecution({ id: row.id, started_at: now() })]);
      changes.publish(row.id, "status");
      const payload = await findPayload(store, row.id);
      if (execution.decided === null && payload !== undefined)
        return await runJob(execution, flow, spec, jobOf(row, payload));
    } catch (fault) {
      if (execution.decided === null) {
        log.error({ execution: row.id, fault: String(fault) }, "Cannot start an execution");
        await finish(execution, decide(row.id, "ENDED_ERROR", "It could not be started"));
      }
    }
    release(execution.flow);
    forget(execution);
  }

  /** Runs in the slot that was taken, and gives it back when the thread is free again. */
  async function runJob(
    execution: LiveExecution,
    { flow }: { flow: StartRequest["flow"] },
    spec: FlowSpec,
    job: Job,
  ): Promise<void> {
    const timeout_ms = flow?.timeout_ms ?? 0;
    const limit = setTimeout(() => {
      const message = `It ran longer than its limit of ${timeout_ms / 1000} s`;
      end(execution, decide(execution.id, "ENDED_TIMEOUT", message));
    }, timeout_ms);
    const ending = await options.run(spec, job);
    clearTimeout(limit);
    // Lost with the service itself: the next start ends it as interrupted.
    if (is_stopped) return;
    const finished =
      execution.decided === null
        ? finish(execution, toOutcome(execution.id, ending, options.limits))
        : execution.ended;
    release(execution.flow);
    await finished;
    forget(execution);
  }

  function end(execution: LiveExecution, outcome: Outcome): boolean {
    if (execution.decided !== null) return false;
    const was_waiting = slots.withdraw(execution.flow, execution.id);
    const finished = finish(execution, outcome);
    if (was_waiting) void finished.then(() => forget(execution));
    else options.abort(execution.id, outcome.status_message ?? outcome.status);
    return true;
  }

  /** Decides the ending, writes it, and then tells whoever waits. */
  async function finish(execution: LiveExecution, outcome: Outcome): Promise<void> {
    if (execution.decided !== null) return;
    execution.decided = outcome;
    const warnings = outcome.warnings.map((text) => ({ at: now(), level: "warn" as const, text }));
    if (warnings.length > 0) addLog(execution.id, warnings);
    await writeEnding(outcome);
    ended[outcome.status] += 1;
    logEnding(log, execution, outcome.status);
    execution.settle(outcome);
    changes.publish(outcome.id, "status");
  }

  async function writeEnding(outcome: Outcome): Promise<void> {
    const { id, status, status_message, output_value } = outcome;
    const response = outcome.response === null ? null : JSON.stringify(outcome.response);
    const unit = endExecution({
      id,
      status,
      status_message,
      output_value,
      response,
      ended_at: now(),
    });
    for (;;) {
      try {
        await store.commit(unit);
        return;
      } catch (fault) {
        log.error({ execution: id, fault: String(fault) }, "Cannot write the end of an execution");
        if (!(fault instanceof StoreFault && fault.isUnavailable)) return;
        await wait(RETRY_MS);
      }
    }
  }

  function release(flow: string): void {
    slots.release(flow);
    if (slots.running === 0) idle?.();
  }

  function forget(execution: LiveExecution): void {
    live.delete(execution.id);
  }

  function addLog(id: string, lines: readonly LogLine[]): void {
    if (!live.has(id)) return;
    const unit = lines.map((line) => insertLogLine({ execution_id: id, ...line }));
    store.commit(unit).then(
      () => changes.publish(id, "log"),
      (fault: unknown) => {
        log.warn({ execution: id, fault: String(fault) }, "Cannot write log lines");
      },
    );
  }

  return {
    requireRoom,
    start,
    changes,
    onStop(listener) {
      if (is_stopped) listener();
      stopListeners.add(listener);
      return () => stopListeners.delete(listener);
    },
    addLog,
    find: (id) => live.get(id),
    cancel(id, reason) {
      const execution = live.get(id);
      return execution !== undefined && end(execution, decide(id, "ENDED_CANCELLED", reason));
    },
    resume(row, flow) {
      const spec = flow?.spec ?? null;
      const execution = register(row, spec);
      if (spec === null) endWithoutFlow(execution);
      else queue(execution, { flow }, spec, row);
    },
    counts: () => ({ running: slots.running, waiting: slots.waiting, ended }),
    async drain(grace_ms) {
      is_closing = true;
      slots.stop();
      if (slots.running > 0) {
        const ended = new Promise<void>((resolve) => (idle = resolve));
        await Promise.race([ended, wait(grace_ms, undefined, { ref: false })]);
      }
      is_stopped = true;
      for (const listener of stopListeners) listener();
    },
  };
}

/** The status message is the flow's own text, which may hold anything: the record has it. */
function logEnding(log: Log, { id, flow, trace }: LiveExecution, status: EndedStatus): void {
  const level = status === "ENDED_SUCCESS" ? "debug" : "info";
  if (log.isLevelEnabled(level)) log[level]({ execution: id, flow, status, ...trace }, "Ended");
}

function toRow(request: StartRequest, is_running: boolean): ExecutionRow {
  const at = now();
  return {
    id: newExecutionId(),
    status: is_running ? "RUNNING" : "PENDING",
    status_message: null,
    webhook_id: request.webhook?.id ?? null,
    webhook: request.webhook?.name ?? null,
    flow: request.flow_name,
    flow_version: request.flow?.spec?.version ?? null,
    is_productive: request.is_productive ? 1 : 0,
    is_async: request.is_async ? 1 : 0,
    project_id: request.project_id,
    role_id: request.role_id,
    acts_for: request.acts_for,
    created_by: request.created_by,
    parent_id: request.parent_id,
    replay_of: request.replay_of,
    created_at: at,
    started_at: is_running ? at : null,
    ended_at: null,
  };
}

let month = { name: "", from: 0, to: 0 };

/** `2026-11`, in UTC. The latest answer is kept, because each call asks. */
export function monthOf(at: number): string {
  if (at >= month.from && at < month.to) return month.name;
  const date = new Date(at);
  const [year, index] = [date.getUTCFullYear(), date.getUTCMonth()];
  const name = date.toISOString().slice(0, 7);
  month = { name, from: Date.UTC(year, index, 1), to: Date.UTC(year, index + 1, 1) };
  return name;
}

/** Seconds until the next calendar month begins in UTC. */
function secondsToNextMonth(at: number): number {
  monthOf(at);
  return Math.ceil((month.to - at) / 1000);
}

function toStartRefusal(fault: unknown): unknown {
  const is_used = fault instanceof StoreFault && fault.code === "allowance_used";
  return is_used ? refuseConnection() : toRefusal(fault);
}

function refuseConnection(): Refusal {
  return new Refusal(
    "allowance_used",
    "The connection allowance of this month is used. It is renewed with the next month (UTC)",
    { headers: { "retry-after": String(secondsToNextMonth(now())) } },
  );
}
