import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../../shared/log.ts";
import type { LogLine } from "../../shared/wire/protocol.ts";
import type { Store } from "../store/store.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findInput } from "../store/executions.ts";
import {
  isPassing,
  newUnavailable,
  toRequestError,
  type StoreError,
} from "../store/store-error.ts";
import type { RecordEvents } from "../store/ledger.ts";
import type { BeginRecord, LedgerRecord, StartRecord } from "../store/ledger-record.ts";
import type { ActiveExecution } from "./active.ts";
import { Changes } from "./changes.ts";
import type { Input } from "./input.ts";
import type { Outcome } from "./outcome.ts";
import { openRareLine } from "../../shared/rare-line.ts";
import { toStorable } from "../store/storable-text.ts";
import { UnwrittenLines } from "./unwritten-lines.ts";

/** How long to wait before what could not be written or read is tried again. */
const RETRY_MS = 1000;

/** Writes the life of executions to the ledger, and tells whoever looks on. */
export class Journal {
  readonly changes = new Changes();
  readonly #store: Store;
  readonly #log: Log;
  readonly #unwritten = new UnwrittenLines();
  readonly #tellLeft: ReturnType<typeof openRareLine>;
  /** The service stops: what has not begun is not tried again. */
  isClosing = false;
  /** It has stopped: nor is what has ended. */
  isStopped = false;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
    this.#tellLeft = openRareLine(log, "warn");
  }

  /**
   * Resolves once there is room for new executions.
   *
   * @throws RequestError store_unavailable
   */
  async requireRoom(): Promise<void> {
    const { ledger } = this.#store;
    if (!ledger.hasRoom && !(await ledger.room())) throw toRequestError(newUnavailable(BEHIND));
  }

  /**
   * Records a new execution.
   *
   * @returns number of the ledger's row, which is written at the end of this turn
   */
  begin(
    row: ExecutionRow,
    input: Input,
    more: BeginMembers,
    events: Omit<RecordEvents, "failed"> & { refused(refused: unknown): void },
  ): number {
    const { input_value, ...rest } = input;
    const record = { kind: "begin", row, input: rest, ...more } as const;
    return this.#store.ledger.append(record, input_value, {
      ...events,
      written: () => {
        events.written?.();
        this.changes.publish(row.id, "status");
        for (const id of more.replaces ?? []) this.changes.publish(id, "status");
      },
      failed: (error) => events.refused(toRequestError(error)),
    });
  }

  /**
   * Records that executions are handed to a thread.
   *
   * @param members with a time that is later than any handing over of theirs before
   * @param row of the ledger, that of their records: then one cannot be without the other. Where
   *   they were recorded before, it has to be on disk that they were handed over: nothing runs twice
   */
  start(members: StartMembers, row: number | null, events: StartEvents): void {
    const record: LedgerRecord = { kind: "start", ...members };
    const { overtaken, heldBack } = events;
    const started = (): void => {
      events.started();
      for (const id of members.ids) this.changes.publish(id, "status");
    };
    const failed = (error: StoreError): void => {
      this.#log.error({ error: String(error) }, "Cannot write that executions run");
      setTimeout(() => events.failed(), RETRY_MS).unref();
    };
    const isTogether = row !== null && row === this.#store.ledger.next;
    const told = isTogether ? { written: started } : { synced: started };
    this.#store.ledger.append(record, null, { ...told, overtaken, heldBack, failed });
  }

  /**
   * It was handed to a thread, has not begun, and waits again.
   *
   * @param isWaiting whether it still does: told later, it would undo that it runs
   */
  wait(
    { id, recordedStart }: Pick<ActiveExecution, "id" | "recordedStart">,
    isWaiting: () => boolean,
  ): void {
    const events = { written: () => this.changes.publish(id, "status") };
    const undone = recordedStart === null ? {} : { at: recordedStart };
    this.#insist({ kind: "wait", ids: [id], ...undone }, null, events, isWaiting);
  }

  /** Writes an ending, however long it cannot be written. */
  end(
    outcome: Outcome,
    ended_at: number,
    events: Pick<RecordEvents, "synced" | "applied" | "overtaken">,
  ): void {
    const { id, status, status_message, output_value, warnings } = outcome;
    if (warnings.length > 0)
      this.addLog(
        id,
        warnings.map((text) => ({ at: ended_at, level: "warn", text })),
      );
    const response = outcome.response === null ? null : JSON.stringify(outcome.response);
    const record = { kind: "end", id, status, status_message, ended_at, response } as const;
    this.#insist(record, output_value, {
      ...events,
      synced: () => {
        events.synced?.();
        this.changes.publish(id, "status");
      },
    });
  }

  /** What runs on while the service ends says nothing any more: its execution is interrupted. */
  addLog(id: string, lines: readonly LogLine[]): void {
    if (lines.length === 0 || this.isStopped) return;
    const storable = lines.map((line) => ({ ...line, text: toStorable(line.text) }));
    if (this.#unwritten.has(id)) this.#unwritten.add(id, storable);
    else this.#appendLog(id, storable);
  }

  #appendLog(id: string, lines: readonly LogLine[]): void {
    this.#store.ledger.append({ kind: "log", id, lines }, null, {
      written: () => this.changes.publish(id, "log"),
      failed: (error) => {
        if (this.isStopped || !isPassing(error))
          return this.#tellLeft({ execution: id, error: String(error) }, "Cannot write log lines");
        this.#unwritten.add(id, lines);
        setTimeout(() => this.#appendUnwritten(id), RETRY_MS).unref();
      },
    });
  }

  #appendUnwritten(id: string): void {
    const lines = this.#unwritten.take(id);
    if (lines.length > 0) this.#appendLog(id, lines);
  }

  /**
   * The input of an execution that was recorded before, however long it cannot be read; undefined
   * where it is gone.
   *
   * @throws StoreError where the service stops before it could be read
   */
  async readInput(id: string): Promise<Input | undefined> {
    for (;;)
      try {
        return await findInput(this.#store, id);
      } catch (error) {
        if (this.isClosing || !isPassing(error)) throw error;
        await wait(RETRY_MS);
      }
  }

  #insist(
    record: LedgerRecord,
    text: string | null,
    events: Omit<RecordEvents, "failed">,
    isWanted = (): boolean => true,
  ): void {
    // Whoever reads that an execution has ended finds its log.
    if (record.kind === "end") this.#appendUnwritten(record.id);
    this.#store.ledger.append(record, text, {
      ...events,
      failed: (error) => {
        this.#log.error({ record: record.kind, error: String(error) }, "Cannot write a record");
        setTimeout(() => {
          if (!this.isStopped && isWanted()) this.#insist(record, text, events, isWanted);
        }, RETRY_MS).unref();
      },
    });
  }
}

/** What is recorded of a new execution beside its row and its input. */
export type BeginMembers = Pick<BeginRecord, "month" | "claims" | "replaces" | "limited">;

/** Executions that are handed to a thread together. */
export type StartMembers = Pick<StartRecord, "ids" | "at" | "limited">;

/** Whether runs may be handed over. */
export interface StartEvents {
  /** Before `started`: these have ended, or are another node's. */
  overtaken(ids: readonly string[]): void;
  /** Before `started`: as many of their webhook run as may, and these wait on. */
  heldBack(ids: readonly string[]): void;
  started(): void;
  /** It could not be written, for some time. */
  failed(): void;
}

/** Of new executions: what the ledger holds is not in the tables, and is too much. */
const BEHIND = "The ledger waits for the database, or its files are gone";
