import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecutions, findPayload } from "../store/executions.ts";
import { cancelUnended } from "../store/unended.ts";
import type { Statement } from "../store/statement.ts";
import type { Store } from "../store/store.ts";
import { ActiveExecution } from "./active.ts";
import { isEnded } from "../../shared/contract/status.ts";
import { decide, readOutcome } from "./outcome.ts";

/** Between two polls, in milliseconds. */
const [LEAST_MS, MOST_MS] = [15, 250];
/** What is due so soon is looked for together, in milliseconds. */
const TOGETHER_MS = 5;
/** Executions read or cancelled at once: a statement has at most 65535 parameters. */
const PAGE = 500;
/** What nobody has waited for so long is forgotten, in milliseconds. */
const FORGET_MS = 10_000;
/** Before a cancel that could not be written is tried again, in milliseconds. */
const RETRY_MS = 1000;

/** One execution, by all that wait for it here: one that this node had before may be among them. */
interface Waited {
  readonly executions: ActiveExecution[];
  /** Since when, when somebody was last seen to wait, and when it is due; as performance.now(). */
  readonly since: number;
  wantedAt: number;
  dueAt: number;
}

/** One that is to be written. */
interface Cancel {
  readonly id: string;
  readonly statement: Statement;
  resolve(isCancelled: boolean): void;
  reject(error: unknown): void;
}

/** Executions that other nodes have, as long as somebody waits for them here: one look for all. */
export class Elsewhere {
  readonly #store: Store;
  readonly #log: Log;
  readonly #waited = new Map<string, Waited>();
  readonly #cancels: Cancel[] = [];
  readonly #forgetMs: number;
  #isPolling = false;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer ends, as performance.now(). */
  #pollsAt = Infinity;

  /** @param forgetMs 10 seconds unless told */
  constructor(store: Store, log: Log, forgetMs = FORGET_MS) {
    this.#store = store;
    this.#log = log;
    this.#forgetMs = forgetMs;
  }

  /** How many are looked for. */
  get size(): number {
    return this.#waited.size;
  }

  /** @param row of an execution that this node does not have; undefined: it has ended */
  find(row: ExecutionRow): ActiveExecution | undefined {
    const found = this.#waited.get(row.id)?.executions.at(-1);
    if (found !== undefined || this.#store.node === null || isEnded(row.status)) return found;
    const execution = new ActiveExecution(row, undefined, null);
    this.await(execution);
    return execution;
  }

  /**
   * Ends it as ENDED_CANCELLED; the node that has it sees so at its next look.
   *
   * @returns false where nobody waits for it here, or it had ended
   * @throws StoreError where that may not be written
   */
  async cancel(id: string, reason: string): Promise<boolean> {
    return this.#waited.has(id) && (await this.#cancel(id, reason));
  }

  /** As `cancel`, however long it cannot be written. */
  insistCancel(id: string, reason: string): void {
    if (this.#waited.has(id)) this.#insist(id, reason);
  }

  #insist(id: string, reason: string): void {
    this.#cancel(id, reason).catch((error: unknown) => {
      this.#log.warn({ execution: id, error: String(error) }, "Cannot cancel an execution yet");
      setTimeout(() => this.#insist(id, reason), RETRY_MS).unref();
    });
  }

  /** What is cancelled in one turn is one unit: thousands may be, and other changes wait behind them. */
  #cancel(id: string, reason: string): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const statement = cancelUnended(this.#store, id, reason, now());
    if (this.#cancels.push({ id, statement, resolve, reject }) === 1) this.#commitSoon();
    return promise;
  }

  #commitSoon(): void {
    setImmediate(() => {
      // In the order in which others lock them: the oldest first.
      const cancels = this.#cancels.splice(0, PAGE).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      if (this.#cancels.length > 0) this.#commitSoon();
      this.#commit(cancels).catch((error: unknown) => {
        // Its node may write some of them at that moment, in another order.
        if (cancels.length > 1) return this.#commit(cancels).catch(rejectAll);
        return rejectAll(error);
      });

      function rejectAll(error: unknown): void {
        for (const { reject } of cancels) reject(error);
      }
    });
  }

  async #commit(cancels: readonly Cancel[]): Promise<void> {
    const counts = await this.#store.commit(cancels.map(({ statement }) => statement));
    cancels.forEach(({ resolve }, at) => resolve((counts[at] ?? 0) > 0));
  }

  /** Settles it with the ending that is written elsewhere. */
  await(execution: ActiveExecution): void {
    const waited = this.#waited.get(execution.id) ?? this.#add(execution);
    if (!waited.executions.includes(execution)) waited.executions.push(execution);
  }

  #add(execution: ActiveExecution): Waited {
    const since = performance.now();
    const dueAt = since + untilNextPoll(0);
    const waited: Waited = { executions: [execution], since, wantedAt: since, dueAt };
    this.#waited.set(execution.id, waited);
    this.#pollAt(dueAt);
    return waited;
  }

  /** Unless it polls sooner. */
  #pollAt(at: number): void {
    if (this.#isPolling || this.#pollsAt <= at) return;
    clearTimeout(this.#timer);
    this.#pollsAt = at;
    this.#timer = setTimeout(() => void this.#poll(), at - performance.now()).unref();
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    try {
      this.#forgetUnwanted();
      const ids = this.#listDue(performance.now());
      for (let at = 0; at < ids.length; at += PAGE)
        await this.#settleEnded(ids.slice(at, at + PAGE));
    } catch (error) {
      this.#log.debug({ error: String(error) }, "Cannot look for endings; tried again");
    }
    this.#isPolling = false;
    this.#pollsAt = Infinity;
    let next = Infinity;
    for (const { dueAt } of this.#waited.values()) next = Math.min(next, dueAt);
    if (next < Infinity) this.#pollAt(Math.max(next, performance.now() + LEAST_MS));
  }

  #listDue(at: number): string[] {
    const ids: string[] = [];
    for (const [id, waited] of this.#waited) {
      if (waited.dueAt > at + TOGETHER_MS) continue;
      waited.dueAt = at + untilNextPoll(at - waited.since);
      ids.push(id);
    }
    return ids;
  }

  #forgetUnwanted(): void {
    const at = performance.now();
    for (const [id, waited] of this.#waited) {
      if (waited.executions.some(isWanted)) waited.wantedAt = at;
      else if (at - waited.wantedAt > this.#forgetMs) this.#waited.delete(id);
    }
  }

  async #settleEnded(ids: readonly string[]): Promise<void> {
    const rows = await findExecutions(this.#store, ids);
    const found = new Map(rows.map((row) => [row.id, row]));
    await Promise.all(ids.map((id) => this.#settle(id, found.get(id))));
  }

  async #settle(id: string, row: ExecutionRow | undefined): Promise<void> {
    if (row !== undefined && row.ended_at === null) return;
    const outcome =
      row === undefined
        ? decide(id, "ENDED_ERROR", "Its record is gone")
        : readOutcome(row, await findPayload(this.#store, id));
    const waited = this.#waited.get(id);
    this.#waited.delete(id);
    if (outcome !== null)
      for (const execution of waited?.executions ?? []) execution.settle(outcome);
  }
}

/**
 * What is short is told soon, and what is long costs little: an ending is known a quarter as late
 * again as it came, or a quarter of a second.
 *
 * @param waitedMs how long somebody has waited
 * @returns milliseconds
 */
export function untilNextPoll(waitedMs: number): number {
  return Math.min(MOST_MS, Math.max(LEAST_MS, waitedMs / 4));
}

/** Whether a request or a parent waits for it. */
function isWanted({ watchers, isAwaited }: ActiveExecution): boolean {
  return watchers > 0 || isAwaited;
}
