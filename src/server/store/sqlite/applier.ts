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
import { isDamage, isPassingError } from "./error.ts";
import { gatherRecords, type Begun, type Later } from "../gathered-records.ts";
import type { LedgerEntry } from "../ledger-record.ts";
import type { LedgerRow } from "./ledger-row.ts";
import type { Statement, Unit } from "../statement.ts";
import type { Applied } from "./thread-protocol.ts";

/** Applied in one transaction at most: while it lasts, other writes wait. */
const MOST_ROWS = 400;
/** In bytes. */
const MOST_SIZE = 8 * 1024 * 1024;

/**
 * Makes rows of the store from what the ledger holds, with its position in the same transaction:
 * each record takes effect once.
 */
export class Applier {
  readonly #db: Database;
  readonly #prepared = new Map<string, Prepared>();
  readonly #savePosition: Prepared;
  readonly #placed: Prepared;

  constructor(db: Database) {
    this.#db = db;
    learnMoved(db);
    this.#savePosition = db.prepare("update ledger set applied = ?");
    this.#placed = db.prepare("select applied from ledger").pluck();
  }

  /** Number of the last row that was applied. */
  get position(): number {
    return this.#placed.get() as number;
  }

  /**
   * Applies the first of some rows: as many as one transaction takes.
   *
   * @param next the rows after a position, in their order
   * @throws {Error} of SQLite, where the store cannot be written now, or is damaged: nothing was applied
   */
  apply(next: (position: number) => Iterable<LedgerRow>): Applied {
    const { position } = this;
    const rows = takeSome(next(position));
    const applied = rows.at(-1)?.seq ?? position;
    if (applied === position) return { applied, skipped: [] };
    return { applied, skipped: [...listGaps(position, rows), ...this.#applyRows(rows, applied)] };
  }

  /** Applies all of them. @returns why records were passed over */
  applyAll(next: (position: number) => Iterable<LedgerRow>): string[] {
    const skipped: string[] = [];
    for (let isRest = true; isRest;) {
      const { position } = this;
      const done = this.apply(next);
      skipped.push(...done.skipped);
      isRest = done.applied > position;
    }
    return skipped;
  }

  /** @returns why records were passed over: one that cannot be applied keeps no other back */
  #applyRows(rows: readonly LedgerRow[], position: number): string[] {
    const entries = rows.flatMap((row) => row.entries);
    try {
      this.#db
        .transaction(() => {
          for (const unit of toUnits(entries)) this.#write(unit);
          this.#savePosition.run(position);
        })
        .immediate();
      return [];
    } catch (error) {
      if (isOfStore(error)) throw error;
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
            if (isOfStore(error)) throw error;
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

/** Whether no record is the reason: nothing is passed over for it. */
function isOfStore(error: unknown): boolean {
  return isPassingError(error) || isDamage(error);
}

/** After a power cut rows may be there without those before them, of which nobody was told. */
export function listGaps(position: number, rows: readonly Pick<LedgerRow, "seq">[]): string[] {
  return rows.flatMap(({ seq }, at) => {
    const before = rows[at - 1]?.seq ?? position;
    if (seq === before + 1) return [];
    return (
      `rows ${before + 1} to ${seq - 1} of the ledger are not there, or damaged; after a power cut ` +
      `they may be rows of which nobody was told`
    );
  });
}

function takeSome(next: Iterable<LedgerRow>): LedgerRow[] {
  const rows: LedgerRow[] = [];
  let size = 0;
  for (const row of next) {
    rows.push(row);
    size += row.size;
    if (rows.length >= MOST_ROWS || size >= MOST_SIZE) break;
  }
  return rows;
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
