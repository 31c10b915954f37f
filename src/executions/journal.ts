import { setTimeout as wait } from "node:timers/promises";
import { now } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { LogLine } from "../runner/protocol.ts";
import type { Store } from "../store/database.ts";
import {
  endExecution,
  findPayload,
  insertExecution,
  insertLogLine,
  putBackExecution,
  runExecution,
  type ExecutionRow,
} from "../store/executions.ts";
import { StoreFault, toRefusal } from "../store/fault.ts";
import type { Statement } from "../store/thread-protocol.ts";
import { refuseConnection } from "./allowance.ts";
import { openChanges, type Changes } from "./changes.ts";
import type { Input } from "./input.ts";
import type { Outcome } from "./outcome.ts";

/** How long to wait before an ending that could not be written is tried again. */
const RETRY_MS = 1000;

/** Writes the life of executions, and tells whoever looks on once it is committed. */
export class Journal {
  readonly changes: Changes = openChanges();
  readonly #store: Store;
  readonly #log: Log;
  #is_closing = false;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Records a new execution, with its connection where it counts as one.
   *
   * @throws Refusal allowance_used, store_unavailable: then there is no record
   */
  async begin(row: ExecutionRow, input: Input, connection: Statement | null): Promise<void> {
    const unit = insertExecution(row, input);
    try {
      await this.#store.commit(connection === null ? unit : [connection, ...unit]);
    } catch (fault) {
      const is_used = fault instanceof StoreFault && fault.code === "allowance_used";
      throw is_used ? refuseConnection() : toRefusal(fault);
    }
    this.changes.publish(row.id, "status");
  }

  /**
   * PENDING becomes RUNNING, however long the store cannot be written to.
   *
   * @throws StoreFault not_pending, and where the service stops before it could be written
   */
  async run(id: string): Promise<void> {
    while (!(await this.#isMarked(id))) await wait(RETRY_MS);
    this.changes.publish(id, "status");
  }

  async #isMarked(id: string): Promise<boolean> {
    try {
      await this.#store.commit([runExecution({ id, started_at: now() })]);
      return true;
    } catch (fault) {
      if (this.#is_closing || !isPassing(fault)) throw fault;
      return false;
    }
  }

  /** The service stops: what cannot be marked now stays PENDING for the next start. */
  close(): void {
    this.#is_closing = true;
  }

  /** RUNNING, but never handed to a thread: PENDING again, for the next start. */
  async putBack(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#store.commit(ids.map((id) => putBackExecution({ id }))).catch((fault: unknown) => {
      // The next start ends them as interrupted; the stop goes on.
      this.#log.error({ fault: String(fault) }, "Cannot put back what waits for a thread");
    });
  }

  /** The input of an execution that was recorded before; undefined where it is gone. */
  readInput(id: string): Promise<Input | undefined> {
    return findPayload(this.#store, id);
  }

  /** Writes an ending, however long the store cannot be written to. */
  async end(outcome: Outcome): Promise<void> {
    const { id, status, status_message, output_value, warnings } = outcome;
    if (warnings.length > 0)
      this.addLog(
        id,
        warnings.map((text) => ({ at: now(), level: "warn", text })),
      );
    const response = outcome.response === null ? null : JSON.stringify(outcome.response);
    const ended_at = now();
    const unit = endExecution({ id, status, status_message, output_value, response, ended_at });
    while (!(await this.#isWritten(id, unit))) await wait(RETRY_MS);
    this.changes.publish(id, "status");
  }

  async #isWritten(id: string, unit: readonly Statement[]): Promise<boolean> {
    try {
      await this.#store.commit(unit);
      return true;
    } catch (fault) {
      this.#log.error({ execution: id, fault: String(fault) }, "Cannot write an ending");
      return !isPassing(fault);
    }
  }

  addLog(id: string, lines: readonly LogLine[]): void {
    if (lines.length === 0) return;
    const unit = lines.map((line) => insertLogLine({ execution_id: id, ...line }));
    this.#store.commit(unit).then(
      () => this.changes.publish(id, "log"),
      (fault: unknown) => {
        this.#log.warn({ execution: id, fault: String(fault) }, "Cannot write log lines");
      },
    );
  }
}

/** Whether the store can be written to again once its disk or its lock is free. */
function isPassing(fault: unknown): boolean {
  return fault instanceof StoreFault && fault.isUnavailable;
}
