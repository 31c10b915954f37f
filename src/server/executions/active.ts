import type { FlowSpec } from "../../shared/wire/protocol.ts";
import type { Run } from "../workers/worker.ts";
import { SlotList, type Slot } from "./slot-list.ts";
import type { Trace } from "../request/trace.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { Outcome } from "./outcome.ts";
import type { RunnableFlow } from "./start-request.ts";
import type { WebhookQueue } from "./webhook-queue.ts";

/** An execution from its begin until the tables have its ending, and who waits on it. */
export class ActiveExecution {
  readonly id: string;
  readonly flow: string;
  /** As it was recorded first. */
  readonly row: ExecutionRow;
  /** The version that it runs; null where the flow was not there. */
  readonly spec: FlowSpec | null;
  readonly timeoutMs: number;
  /** The request that started it, for the log; null without one. */
  readonly trace: Trace | null;
  /** Settles once the ending is on disk; never rejects. */
  readonly ended: Promise<Outcome>;
  /** Tells the waiting: the ending is on disk. */
  readonly settle: (outcome: Outcome) => void;
  /**
   * Once set, the ending is decided: what the flow still does changes nothing. Null again where what
   * was to replace it, or its ending, could not be recorded.
   */
  decided: Outcome | null = null;
  /** Its run, as long as it waits for a thread or has one. */
  run: Run | null = null;
  /** Of its webhook, where that limits how many run or wait; null: it does not. */
  queue: WebhookQueue<ActiveExecution> | null = null;
  /** The ledger's row that it was recorded in; null: before this start of the service. */
  recordedIn: number | null = null;
  /** The ledger has its record. */
  isRecorded = false;
  /** It could not be recorded: nobody knows of it. */
  isRefused = false;
  /** Another node has it, or has ended it: nothing is written of it here any more. */
  isElsewhere = false;
  /** The tables have its ending. */
  isApplied = false;
  /** Characters of its input that are kept while it waits. */
  kept = 0;
  /** Requests that wait on it now. */
  watchers = 0;
  /** Executions that it has started. */
  children = 0;
  /** Its parent waits for its ending. */
  isAwaited = false;
  /** The latest that was let in for the slot of this one, which waits for it. */
  guest: ActiveExecution | null = null;
  /** Its place in the list of the latest ones; null: it is not there. */
  slot: Slot<ActiveExecution> | null = null;
  /** When a thread was given its run last, in milliseconds since the epoch; null: none was. Not stored. */
  givenAt: number | null = null;
  /** `started_at` of its record; null: it was not handed over. A later handing over is a later time. */
  recordedStart: number | null = null;
  /** Where in the flow's files its newest error came from; null: none is known. */
  place: string | null = null;
  /** Since when it has been active, as performance.now(). */
  since = 0;

  constructor(row: ExecutionRow, flow: RunnableFlow | undefined, trace: Trace | null) {
    this.id = row.id;
    this.flow = row.flow;
    this.row = row;
    this.spec = flow?.spec ?? null;
    this.timeoutMs = flow?.timeoutMs ?? 0;
    this.trace = trace;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.ended = promise;
    this.settle = resolve;
  }
}

/** Executions that have lasted so long are found by a Map; milliseconds. */
const LASTING_MS = 100;

/**
 * The executions that are active. Most are so for milliseconds: only what lasts is in a Map.
 */
export class ActiveExecutions {
  readonly #latest = new SlotList<ActiveExecution>();
  readonly #lasting = new Map<string, ActiveExecution>();
  #movedAt = 0;

  add(execution: ActiveExecution): void {
    execution.slot = this.#latest.add(execution);
    execution.since = performance.now();
    if (execution.since - this.#movedAt > LASTING_MS) this.#move(execution.since);
  }

  find(id: string): ActiveExecution | undefined {
    return this.#lasting.get(id) ?? this.#latest.find((execution) => execution.id === id);
  }

  /** Whether one that has not ended is of a version. @param key of its FlowSpec */
  hasVersion(key: string): boolean {
    for (const { spec, run } of this) if (spec?.key === key && run !== null) return true;
    return false;
  }

  delete(execution: ActiveExecution): void {
    if (execution.slot === null) this.#lasting.delete(execution.id);
    else this.#latest.delete(execution.slot);
  }

  *[Symbol.iterator](): Iterator<ActiveExecution> {
    yield* this.#lasting.values();
    yield* this.#latest;
  }

  #move(now: number): void {
    this.#movedAt = now;
    const lasting = [...this.#latest].filter(({ since }) => now - since >= LASTING_MS);
    for (const execution of lasting) {
      this.delete(execution);
      execution.slot = null;
      this.#lasting.set(execution.id, execution);
    }
  }
}
