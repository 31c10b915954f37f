import type { LogLine } from "../../shared/contract/execution.ts";
import type { EndedStatus } from "../../shared/contract/status.ts";
import type { ClaimRow } from "./claim-row.ts";
import type { ExecutionRow, PayloadInput } from "./execution-row.ts";

/**
 * What the ledger holds of an execution's life. A later version reads what this one has left
 * behind: members have names, and keep them.
 */
export type LedgerRecord = BeginRecord | StartRecord | WaitRecord | EndRecord | LogRecord;

/** It is recorded, and waits for a thread. Its text is the input_value. */
export interface BeginRecord {
  readonly kind: "begin";
  readonly row: ExecutionRow;
  readonly input: Omit<PayloadInput, "input_value">;
  /** The month whose connections it counts to, as `2026-11`; null: to none. */
  readonly month: string | null;
  /** What no other execution is started for. */
  readonly claims?: readonly ClaimRow[];
  /** Executions that end with its begin, because it takes their place. */
  readonly replaces?: readonly string[];
  /** Its webhook limits its executions over all nodes; only where nodes share the store. */
  readonly limited?: LimitedBegin;
}

export interface LimitedBegin {
  /** Whether a thread is free for it at its node. */
  readonly hasThread: boolean;
}

/** They are handed to a thread. */
export interface StartRecord {
  readonly kind: "start";
  readonly ids: readonly string[];
  readonly at: number;
  /** Those whose webhook limits its executions over all nodes; only where nodes share the store. */
  readonly limited?: readonly LimitedStart[];
}

export interface LimitedStart {
  readonly id: string;
  readonly webhook_id: string;
}

/** They were handed to a thread, have not begun in it, and wait again. */
export interface WaitRecord {
  readonly kind: "wait";
  readonly ids: readonly string[];
  /** Of the start that it undoes; a ledger that an earlier version has left does not have it. */
  readonly at?: number;
}

/** Its text is the output_value, where there is one. */
export interface EndRecord {
  readonly kind: "end";
  readonly id: string;
  readonly status: EndedStatus;
  readonly status_message: string | null;
  readonly ended_at: number;
  readonly response: string | null;
}

/** Lines of its log. */
export interface LogRecord {
  readonly kind: "log";
  readonly id: string;
  readonly lines: readonly {
    readonly at: number;
    readonly level: LogLine["level"];
    readonly text: string;
  }[];
}

/** A record with its text, which is stored beside it: JSON is not escaped inside JSON. */
export interface LedgerEntry {
  readonly record: LedgerRecord;
  readonly text: string | null;
}

/**
 * Texts of a record, in UTF-16 units unless measured otherwise; bytes of a body as they are.
 *
 * @param measure one of its texts
 */
export function lengthOf({ record, text }: LedgerEntry, measure = unitsOf): number {
  const own = text === null ? 0 : measure(text);
  if (record.kind === "begin") return own + (record.input.raw_body?.length ?? 0);
  if (record.kind === "end") return record.response === null ? own : own + measure(record.response);
  if (record.kind !== "log") return own;
  return record.lines.reduce((sum, line) => sum + measure(line.text), own);
}

function unitsOf(text: string): number {
  return text.length;
}

/** Endings that a begin implies. */
export function listReplaced({ row, replaces = [] }: BeginRecord): LedgerEntry[] {
  return replaces.map((id) => ({
    record: {
      kind: "end",
      id,
      status: "ENDED_CANCELLED",
      status_message: toReplacedMessage(row.id),
      ended_at: row.created_at,
      response: null,
    },
    text: null,
  }));
}

/** Status message of an execution whose place a newer one of the same webhook takes. */
export function toReplacedMessage(by: string): string {
  return `Replaced by ${by}`;
}
