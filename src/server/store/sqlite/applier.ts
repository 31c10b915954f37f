import type { Database, Statement as Prepared } from "better-sqlite3";
import { putClaim } from "../claims.ts";
import { learnMoved } from "./taken-keys.ts";
import { countConnection } from "../connection-usage.ts";
import {
  endExecution,
  insertExecution,
  insertLogLine,
  requeueExecution,
  runExecution,
} from "../executions.ts";
import { isPassingError } from "./error.ts";
import { gatherRecords, type Begun, type Later } from "../gathered-records.ts";
import type { LedgerEntry } from "../ledger-record.ts";
import { decodeRow } from "./ledger-row.ts";
import type { LedgerSegment, NumberedRow } from "./ledger-segment.ts";
import type { Statement, Unit } from "../statement.ts";
import type { Applied } from "./thread-protocol.ts";

/** Applied in one transaction at most: while it lasts, other writes wait. */
const MOST_ROWS = 400;
const MOST_LENGTH = 8 * 1024 * 1024;

/**
 * Makes rows of the store from what the ledger holds, with its position in the same transaction:
 * each record takes effect once.
 */
export class Applier {
  readonly #db: Database;
  readonly #segments: readonly LedgerSegment[];
  readonly #prepared = new Map<string, Prepared>();
  readonly #savePosition: Prepared;
  readonly #placed: Prepared;

  constructor(db: Database, segments: readonly LedgerSegment[]) {
    this.#db = db;
    this.#segments = segments;
    learnMoved(db);
    this.#savePosition = db.prepare("update ledger set applied = ?");
    this.#placed = db.prepare("select applied from ledger").pluck();
  }

  /**
   * Applies the next rows, up to one: as many as one transaction takes.
   *
   * @throws {Error} of SQLite, where the store cannot be written now: nothing was applied
   */
  apply(through: number): Applied {
    const before = this.#position;
    const rows = this.#read(before, through);
    const applied = rows.at(-1)?.seq ?? before;
    return { applied, skipped: rows.length === 0 ? [] : this.#applyRows(rows, applied) };
  }

  get #position(): number {
    return this.#placed.get() as number;
  }

  /** Whether the row that comes next is there, up to one. */
  hasNext(through: number): boolean {
    const next = this.#position + 1;
    return next <= through && this.#segments.some((segment) => segment.has(next));
  }

  #read(after: number, through: number): NumberedRow[] {
    const rows: NumberedRow[] = [];
    let length = 0;
    for (const segment of this.#inOrder())
      for (const row of segment.read(after, through)) {
        rows.push(row);
        length += row.head.length + row.texts.length;
        if (rows.length >= MOST_ROWS || length >= MOST_LENGTH) return rows;
      }
    return rows;
  }

  /** The file that was written last comes last. */
  #inOrder(): readonly LedgerSegment[] {
    return this.#segments.toSorted((a, b) => (a.last ?? 0) - (b.last ?? 0));
  }

  /** @returns why records were passed over: one that cannot be applied keeps no other back */
  #applyRows(rows: readonly NumberedRow[], position: number): string[] {
    const entries = rows.flatMap(decodeRow);
    try {
      this.#db
        .transaction(() => {
          for (const unit of toUnits(entries)) this.#write(unit);
          this.#savePosition.run(position);
        })
        .immediate();
      return [];
    } catch (error) {
      if (isPassingError(error)) throw error;
      return this.#applyAlone(entries, position);
    }
  }

  #applyAlone(entries: readonly LedgerEntry[], position: number): string[] {
    const skipped: string[] = [];
    const attempt = this.#db.transaction((unit: Unit) => this.#write(unit));
    this.#db
      .transaction(() => {
        for (const entry of entries)
          try {
            for (const unit of toUnits([entry])) attempt(unit);
          } catch (error) {
            if (isPassingError(error)) throw error;
            skipped.push(`${entry.record.kind}: ${String(error)}`);
          }
        this.#savePosition.run(position);
      })
      .immediate();
    return skipped;
  }

  /** A statement that finds nothing to change ends its unit: an ended status never changes. */
  #write(unit: Unit): void {
    for (const { text, parameters } of unit) {
      const { changes } = this.#prepare(text.sql).run(...parameters);
      if (changes === 0 && text.expect !== null) return;
    }
  }

  #prepare(sql: string): Prepared {
    const found = this.#prepared.get(sql);
    if (found !== undefined) return found;
    const prepared = this.#db.prepare(sql);
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

/** The statements that a list of records comes to. */
function* toUnits(entries: readonly LedgerEntry[]): Generator<Unit> {
  const { begun, later } = gatherRecords(entries);
  for (const execution of begun) yield* toInserts(execution);
  for (const one of later) yield toUnit(one);
}

function toUnit(later: Later): Unit {
  if (later.kind === "end") return endExecution(later.ended);
  if (later.kind === "move") return [moveTo(later.id, later.at)];
  const { id, lines } = later.record;
  return lines.map((line) => insertLogLine({ executionId: id, ...line }));
}

function moveTo(id: string, at: number | null): Statement {
  return at === null ? requeueExecution({ id }) : runExecution({ id, started_at: at });
}

function* toInserts({ row, begin, input_value, output }: Begun): Generator<Unit> {
  yield insertExecution(row, { ...begin.input, input_value }, output);
  for (const claim of begin.claims ?? []) yield [putClaim({ ...claim, executionId: row.id })];
  if (begin.month !== null) yield [countConnection({ month: begin.month })];
}
