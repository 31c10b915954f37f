import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecutions, findPayload } from "../store/executions.ts";
import { cancelUnended } from "../store/unended.ts";
import type { Store } from "../store/store.ts";
import { newActive, type ActiveExecution } from "./active.ts";
import { isEnded } from "../../shared/contract/status.ts";
import { decide, readOutcome, type Outcome } from "./outcome.ts";

/** How often endings are looked for while somebody waits for one, in milliseconds. */
const POLL_MS = 250;
/** Executions read at once: a statement has at most 65535 parameters. */
const PAGE = 500;

/** Executions that other nodes have, as long as somebody waits for them here: one look for all. */
export class Elsewhere {
  readonly #store: Store;
  readonly #log: Log;
  readonly #followed = new Map<string, ActiveExecution>();
  #isPolling = false;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** @param row of an execution that this node does not have; undefined: it has ended */
  follow(row: ExecutionRow): ActiveExecution | undefined {
    const found = this.#followed.get(row.id);
    if (found !== undefined || this.#store.node === null || isEnded(row.status)) return found;
    const execution = newActive(row, undefined, null);
    this.await(execution);
    return execution;
  }

  /** Ends it as ENDED_CANCELLED; the node that has it sees so at its next look. */
  cancel(id: string, reason: string): boolean {
    if (!this.#followed.has(id)) return false;
    const cancelled = this.#store.commit([cancelUnended(this.#store, id, reason, now())]);
    cancelled.catch((error: unknown) =>
      this.#log.error({ execution: id, error: String(error) }, "Cannot cancel an execution"),
    );
    return true;
  }

  /** Settles it with the ending that is written elsewhere, and who was waited for before it. */
  await(execution: ActiveExecution): void {
    const before = this.#followed.get(execution.id);
    if (before !== undefined && before !== execution)
      execution.ended.then((outcome) => before.settle(outcome)).catch(() => {});
    this.#followed.set(execution.id, execution);
    if (!this.#isPolling) this.#pollSoon();
  }

  #pollSoon(): void {
    this.#isPolling = true;
    setTimeout(() => void this.#poll(), POLL_MS).unref();
  }

  async #poll(): Promise<void> {
    try {
      const waiting = [...this.#followed.values()];
      for (let at = 0; at < waiting.length; at += PAGE)
        await this.#settleEnded(waiting.slice(at, at + PAGE));
    } catch (error) {
      this.#log.debug({ error: String(error) }, "Cannot look for endings; tried again");
    }
    this.#isPolling = false;
    if (this.#followed.size > 0) this.#pollSoon();
  }

  async #settleEnded(waiting: readonly ActiveExecution[]): Promise<void> {
    const rows = await findExecutions(
      this.#store,
      waiting.map(({ id }) => id),
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    await Promise.all(waiting.map((execution) => this.#settle(execution, found)));
  }

  async #settle(
    execution: ActiveExecution,
    found: ReadonlyMap<string, ExecutionRow>,
  ): Promise<void> {
    const row = found.get(execution.id);
    if (row !== undefined && row.ended_at === null) return;
    const outcome = await this.#read(execution.id, row);
    if (this.#followed.get(execution.id) === execution) this.#followed.delete(execution.id);
    if (outcome !== null) execution.settle(outcome);
  }

  async #read(id: string, row: ExecutionRow | undefined): Promise<Outcome | null> {
    if (row === undefined) return decide(id, "ENDED_ERROR", "Its record is gone");
    return readOutcome(row, await findPayload(this.#store, id));
  }
}
