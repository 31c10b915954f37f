import { parentPort, type MessagePort } from "node:worker_threads";
import type { Database, Statement as Prepared } from "better-sqlite3";
import { AppliedLedger } from "./applied-ledger.ts";
import { toUnitError } from "./error.ts";
import type { StoreErrorKind, UnitError } from "../store-error.ts";
import { GO_ON } from "./go-on.ts";
import { defineRanks } from "./nearest-rank.ts";
import { openConnection, type SqliteFile } from "./connection.ts";
import type { StatementText } from "../statement.ts";
import type { StoreSize } from "../store.ts";
import type {
  Answered,
  ApplyRequest,
  Closed,
  CloseRequest,
  CommitRequest,
  CommitResult,
  MaintainRequest,
  OpenRequest,
  ReadAnswer,
  ReadRequest,
  SyncRequest,
} from "./thread-protocol.ts";

/** Entry of the store's own threads: an fsync or a long list never stops the HTTP loop. */

type WriterRequest = CommitRequest | ApplyRequest | SyncRequest | MaintainRequest | CloseRequest;
type Serve<Request> = (request: Request) => void;

function writeCommits(db: Database, port: MessagePort, file: SqliteFile): Serve<WriterRequest> {
  const known: KnownStatement[] = [];
  const ledger = new AppliedLedger(db, file);
  return (request) => {
    if ("prepared" in request) {
      for (const text of request.prepared) known[text.number as number] = { text, prepared: null };
      return port.postMessage(commit(db, request, known));
    }
    if ("apply" in request) return answer(port, () => ledger.apply(request.apply));
    if ("sync" in request) return answer(port, () => ledger.sync());
    if ("maintain" in request) return answer(port, () => maintain(db));
    ledger.close();
    close(db, port);
  };
}

interface KnownStatement {
  readonly text: StatementText;
  /** Prepared at its first use: while the file cannot be read, preparing fails as well. */
  prepared: Prepared | null;
}

/** Pages given back at once: a few milliseconds, during which commits wait. */
const VACUUM_PAGES = 500;

/** Fewer free pages are left for what comes next, and given back once a minute. */
const MANY_PAGES = 4096;

function maintain(db: Database): StoreSize {
  db.pragma(`incremental_vacuum(${VACUUM_PAGES})`);
  // Passive: waits for nobody. Without readers it lets the WAL start again from its beginning.
  const [wal] = db.pragma("wal_checkpoint(PASSIVE)") as { log: number; checkpointed: number }[];
  const page = db.pragma("page_size", { simple: true }) as number;
  const free = db.pragma("freelist_count", { simple: true }) as number;
  const all = db.pragma("page_count", { simple: true }) as number;
  // What a long read, as of a backup, keeps from the file would make the WAL grow.
  const isRead = wal === undefined || wal.checkpointed < wal.log;
  return { used: (all - free) * page, free: free * page, more: free > MANY_PAGES && !isRead };
}

/**
 * One transaction for all units. Where one of them fails, none is kept and each is tried in a
 * transaction of its own, so that a fault costs nobody but its unit.
 */
function commit(
  db: Database,
  request: CommitRequest,
  known: readonly KnownStatement[],
): CommitResult {
  const { sizes } = request;
  const rows = new Rows(db, request, known);
  try {
    db.transaction(() => sizes.forEach((size) => rows.write(size))).immediate();
    return { changes: rows.changes, errors: null };
  } catch (error) {
    const found = toUnitError(error);
    // Locked by another process: each would wait for it again, one after the other.
    if (sizes.length === 1 || /^SQLITE_(BUSY|LOCKED)/.test(found.code))
      return { changes: [], errors: new Map(sizes.map((_, index) => [index, found])) };
    return commitAlone(db, sizes, new Rows(db, request, known));
  }
}

function commitAlone(db: Database, sizes: readonly number[], rows: Rows): CommitResult {
  const errors = new Map<number, UnitError>();
  const alone = db.transaction((size: number) => rows.write(size));
  sizes.forEach((size, index) => {
    const begun = rows.position();
    try {
      alone.immediate(size);
    } catch (error) {
      errors.set(index, toUnitError(error));
      rows.skip(begun, size);
    }
  });
  return { changes: rows.changes, errors };
}

/** Walks the flat values of a commit, statement by statement. */
class Rows {
  readonly changes: number[] = [];
  readonly #db: Database;
  readonly #values: readonly unknown[];
  readonly #once: readonly KnownStatement[];
  readonly #known: readonly KnownStatement[];
  #at = 0;

  constructor(db: Database, { values, once }: CommitRequest, known: readonly KnownStatement[]) {
    this.#db = db;
    this.#values = values;
    this.#once = once.map((text) => ({ text, prepared: null }));
    this.#known = known;
  }

  /** Runs the next statements. @throws UnmetError, or SQLite's error */
  write(size: number): void {
    for (let left = size; left > 0; left -= 1) {
      const number = this.#values[this.#at] as number;
      const statement = (
        number < 0 ? this.#once[-1 - number] : this.#known[number]
      ) as KnownStatement;
      const { text, prepared } = statement;
      const run = prepared ?? (statement.prepared = this.#db.prepare(text.sql));
      const { changes } = run.run(this.#next());
      if (changes === 0 && text.expect !== null) throw new UnmetError(text.expect);
      this.changes.push(changes);
    }
  }

  /** Where the next unit begins, in the values and in the changes. */
  position(): readonly [number, number] {
    return [this.#at, this.changes.length];
  }

  /** Passes over a unit that failed somewhere in it. */
  skip([at, changes]: readonly [number, number], size: number): void {
    this.#at = at;
    this.changes.length = changes;
    for (let left = size; left > 0; left -= 1) {
      this.#next();
      this.changes.push(0);
    }
  }

  #next(): unknown[] {
    const begin = this.#at + 2;
    this.#at = begin + (this.#values[this.#at + 1] as number);
    return this.#values.slice(begin, this.#at);
  }
}

/** A statement that had to change a row changed none. */
class UnmetError extends Error {
  readonly kind: StoreErrorKind = "expected";
  readonly code: string;

  constructor(code: string) {
    super(`No row was changed: ${code}`);
    this.code = code;
  }
}

function answer(port: MessagePort, act: () => unknown): void {
  try {
    const answered: Answered = { answer: act() };
    port.postMessage(answered);
  } catch (error) {
    const answered: Answered = { error: toUnitError(error) };
    port.postMessage(answered);
  }
}

function attempt<T>(act: () => T): T | UnitError {
  try {
    return act();
  } catch (error) {
    return toUnitError(error);
  }
}

function answerReads(
  db: Database,
  port: MessagePort,
  stopped: Int32Array,
): Serve<ReadRequest | CloseRequest> {
  const watch = new ReadWatch(stopped);
  // Not deterministic: SQLite would ask once for all rows.
  db.function(GO_ON, { deterministic: false }, () => watch.goOn());
  defineRanks(db);
  return (request) => {
    if ("close" in request) return close(db, port);
    watch.begin(request);
    port.postMessage(read(db, request));
  };
}

function read(db: Database, { id, sql, parameters }: ReadRequest): ReadAnswer {
  const rows = attempt(() => db.prepare(sql).all(...parameters) as Record<string, unknown>[]);
  return Array.isArray(rows) ? { id, rows } : { id, error: rows };
}

/** Rows between two looks at the clock. */
const ROWS = 1024;

/** Ends a read that takes too long, or that nobody waits for. */
class ReadWatch {
  readonly #stopped: Int32Array;
  #id = 0;
  #until = 0;
  #rows = 0;

  constructor(stopped: Int32Array) {
    this.#stopped = stopped;
  }

  begin({ id, limitMs }: ReadRequest): void {
    this.#id = id;
    this.#until = performance.now() + limitMs;
  }

  /** Asked at each row. */
  goOn(): 1 {
    if ((this.#rows += 1) % ROWS === 0) this.#check();
    return 1;
  }

  #check(): void {
    if (Atomics.load(this.#stopped, 0) === this.#id)
      throw new ReadEndedError("READ_STOPPED", "other");
    if (performance.now() > this.#until) throw new ReadEndedError("READ_TOO_LONG", "too_long");
  }
}

class ReadEndedError extends Error {
  readonly kind: StoreErrorKind;
  readonly code: string;

  constructor(code: string, kind: StoreErrorKind) {
    super(`The list was not read to its end: ${code}`);
    this.kind = kind;
    this.code = code;
  }
}

function close(db: Database | null, port: MessagePort): void {
  db?.close();
  const answer: Closed = { closed: true };
  port.postMessage(answer);
}

function open({ role, file, stopped }: OpenRequest, port: MessagePort): Serve<never> {
  const db = openConnection(file);
  return role === "writer"
    ? writeCommits(db, port, file)
    : answerReads(db, port, stopped as Int32Array);
}

const port = parentPort as MessagePort;
let serve: Serve<never> | null = null;
port.on("message", (request: OpenRequest | CloseRequest) => {
  if (serve !== null) serve(request as never);
  else if ("close" in request) close(null, port);
  else serve = open(request, port);
});
