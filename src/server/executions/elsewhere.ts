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

  /** Settles it with the ending that is written elsewhere. */
  await(execution: ActiveExecution): void {
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
      const rows = await findExecutions(this.#store, [...this.#followed.keys()]);
      const found = new Map(rows.map((row) => [row.id, row]));
      await Promise.all(waiting.map((execution) => this.#settle(execution, found)));
    } catch (error) {
      this.#log.debug({ error: String(error) }, "Cannot look for endings; tried again");
    }
    this.#isPolling = false;
    if (this.#followed.size > 0) this.#pollSoon();
  }

  async #settle(
    execution: ActiveExecution,
    found: ReadonlyMap<string, ExecutionRow>,
  ): Promise<void> {
    const row = found.get(execution.id);
    if (row !== undefined && row.ended_at === null) return;
    const outcome = await this.#read(execution.id, row);
    this.#followed.delete(execution.id);
    if (outcome !== null) execution.settle(outcome);
  }

  async #read(id: string, row: ExecutionRow | undefined): Promise<Outcome | null> {
    if (row === undefined) return decide(id, "ENDED_ERROR", "Its record is gone");
    return readOutcome(row, await findPayload(this.#store, id));
  }
}
