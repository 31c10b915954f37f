import type { EndedRow } from "./executions.ts";
import type { ExecutionRow } from "./execution-row.ts";
import type { BeginRecord, EndRecord, LedgerEntry, LogRecord } from "./ledger-record.ts";

/** An execution that has begun in a list of records: it is written once, as it is after them. */
export interface Begun {
  readonly row: { -readonly [Name in keyof ExecutionRow]: ExecutionRow[Name] };
  readonly begin: BeginRecord;
  readonly input_value: string;
  output: EndedRow | null;
}

/** What becomes of executions that have begun before. */
export type Later =
  | { readonly kind: "end"; readonly ended: EndedRow }
  | { readonly kind: "log"; readonly record: LogRecord }
  | Move;

/** It is handed to a thread, or waits again. */
export interface Move {
  readonly kind: "move";
  readonly id: string;
  /** When it was handed to a thread; null: it waits. */
  readonly at: number | null;
  /** Where it waits again: when it was handed over before. */
  readonly undone: number | null;
}

/** What a list of records comes to. */
export interface GatheredRecords {
  readonly begun: readonly Begun[];
  /** In their order, after the executions that have begun. */
  readonly later: readonly Later[];
}

export function gatherRecords(entries: readonly LedgerEntry[]): GatheredRecords {
  const begun = new Map<string, Begun>();
  const later: Later[] = [];
  for (const { record, text } of entries) {
    if (record.kind === "begin") {
      const row = { ...record.row };
      begun.set(row.id, { row, begin: record, input_value: text ?? "null", output: null });
    } else if (record.kind === "end") {
      const found = begun.get(record.id);
      const ended = toEnded(record, text);
      if (found === undefined) later.push({ kind: "end", ended });
      else end(found, ended);
    } else if (record.kind === "log") later.push({ kind: "log", record });
    else
      for (const id of record.ids) {
        const at = record.kind === "start" ? record.at : null;
        const undone = record.kind === "wait" ? (record.at ?? null) : null;
        const found = begun.get(id);
        if (found === undefined) later.push({ kind: "move", id, at, undone });
        else if (found.row.ended_at === null) move(found, at);
      }
  }
  return { begun: [...begun.values()], later };
}

function toEnded(record: EndRecord, output_value: string | null): EndedRow {
  const { id, status, status_message, ended_at, response } = record;
  return { id, status, status_message, ended_at, output_value, response };
}

function end(execution: Begun, ended: EndedRow): void {
  const { row } = execution;
  if (row.ended_at !== null) return;
  row.status = ended.status;
  row.status_message = ended.status_message;
  row.ended_at = ended.ended_at;
  execution.output = ended;
}

function move({ row }: Begun, at: number | null): void {
  row.status = at === null ? "PENDING" : "RUNNING";
  row.started_at = at;
}
