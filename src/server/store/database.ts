import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Database, Statement as Prepared } from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { now } from "../../shared/clock.ts";
import { StartError } from "../../shared/errors.ts";
import { ledgerPaths } from "../../shared/ledger-paths.ts";
import { readFileSizes, type FileSizes } from "./file-sizes.ts";
import { learnKeys } from "./execution-key.ts";
import { isDamage, toUnitError } from "./sqlite-error.ts";
import { StoreError } from "./store-error.ts";
import { KeptRows, type Kept } from "./kept-rows.ts";
import { migrate, refuseNewer } from "./migrate.ts";
import { Ledger } from "./ledger.ts";
import { moveLedger } from "./ledger-segment.ts";
import { openReader, ReaderDialect } from "./reader.ts";
import type { Schema } from "./schema.ts";
import { inspectDatabase, openConnection, type Durability, type SqliteFile } from "./sqlite.ts";
import type { Statement, StoreSize, Unit } from "./thread-protocol.ts";
import { openWriter, type Writer } from "./writer.ts";

/**
 * The store: reads of single rows in the caller's thread, lists in readers' threads, and every
 * write through the committing writer's.
 */
export interface Store {
  /** Few rows, answered at once; also builds the statements of a unit. */
  readonly rows: Kysely<Schema>;
  /** The first row of a prepared statement: what each call asks. */
  find<Row>(statement: Statement): Promise<Row | undefined>;
  /**
   * A row of a table that changes seldom; see kept-rows.ts.
   *
   * @param ask reads it where it is not kept
   */
  findKept<Row extends object>(
    kept: Kept,
    name: string,
    ask: (name: string) => Statement,
  ): Promise<Readonly<Row> | undefined>;
  /** Lists, statistics and exports, answered by the readers' threads; see reading.ts. */
  readonly lists: Kysely<Schema>;
  /**
   * Resolves after the commit with the rows changed by each statement.
   *
   * @throws StoreError where nothing of the unit was committed
   */
  commit(unit: Unit): Promise<readonly number[]>;
  /** What the life of executions is written to first. */
  readonly ledger: Pick<Ledger, "append" | "backlog" | "beforeWrite" | "hasRoom" | "next" | "room">;
  /**
   * Before executions are read: resolves once the tables have all that the ledger has now.
   *
   * @returns whether they have: not where the store cannot be written just now
   */
  settled(): Promise<boolean>;
  /** Gives free pages back to the file system and keeps the WAL small; see store-thread.ts. */
  maintain(): Promise<StoreSize>;
  /** What was written since the start, of its tables and of the ledger. */
  counts(): { commits: number; units: number };
  /** Of its files, and of the disk that they are on. */
  fileSizes(): Promise<FileSizes>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface StoreOptions {
  /** The database file; its folder is made when missing. */
  readonly path: string;
  readonly durability: Durability;
  readonly addon: string | null;
  /** Entry of the store's threads. */
  readonly thread: string;
  /** Longest read of a list, in milliseconds. */
  readonly listMs?: number;
  /** The service may have it open too: the ledger is left to it, and executions are not read. */
  readonly isBeside?: boolean;
  /** Something is wrong with the ledger. @param isLost nobody knows any more what the disk has */
  readonly onDamage?: (error: Error, isLost: boolean) => void;
  /** Takes a line of what a start that takes long is doing. */
  readonly tell?: (line: string) => void;
}

/** Opens the database file, brings its tables up to date, and starts the threads. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, durability, addon, thread, listMs, tell = () => {} } = options;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file: SqliteFile = { path, durability, addon };
  const applied = inspectDatabase(file);
  refuseNewer(applied);
  // A new database has no ledger yet: what lies there is that of one that was taken away.
  if (applied.length === 0) moveLedger(path, `${path}.before-${now()}`);
  await using opened = new AsyncDisposableStack();
  const connection = openConnection(file);
  opened.defer(() => void connection.close());
  const rows = new Kysely<Schema>({ dialect: new SqliteDialect({ database: connection }) });
  opened.defer(() => rows.destroy());
  await migrate(rows, applied, path, tell);
  const reader = opened.use(openReader(thread, { role: "reader", file }, listMs));
  const writer = opened.use(await openWriter(thread, { role: "writer", file }));
  const isBeside = options.isBeside === true;
  const ledger = isBeside
    ? NO_LEDGER
    : await recoverLedger(path, () => openLedger(connection, file, writer, options.onDamage));
  opened.defer(() => ledger.close());
  opened.defer(learnKeys(connection));
  const settled = (): Promise<boolean> => ledger.settled();
  const lists = new Kysely<Schema>({ dialect: new ReaderDialect(reader, settled) });
  const find = openFinder(connection);
  const kept = new KeptRows();
  const disposal = opened.move();
  return {
    rows,
    lists,
    find: async <Row>(statement: Statement) => find(statement) as Row | undefined,
    findKept: async <Row extends object>(
      table: Kept,
      name: string,
      ask: (name: string) => Statement,
    ) => kept.find(table, name, () => find(ask(name)) as Row | undefined),
    commit(unit) {
      const committed = writer.commit(unit);
      if (unit.every(({ text }) => text.changes === null)) return committed;
      return committed.finally(() => {
        for (const { text } of unit) if (text.changes !== null) kept.forget(text.changes);
      });
    },
    ledger,
    settled,
    maintain: () => writer.maintain(),
    counts() {
      const [{ commits, units }, { rows, records }] = [writer.counts(), ledger.counts()];
      return { commits: commits + rows, units: units + records };
    },
    fileSizes: () => readFileSizes(path),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}

/** Of a store whose ledger another process writes. */
const NO_LEDGER: Pick<Ledger, keyof Ledger> = {
  next: 0,
  hasRoom: false,
  backlog: { rows: 0, ratio: 0 },
  append() {
    throw new Error("The ledger belongs to the service");
  },
  beforeWrite: () => {},
  room: async () => false,
  settled: async () => true,
  counts: () => ({ rows: 0, records: 0 }),
  async recover() {},
  async close() {},
};

/** @throws StartError where a file of the ledger is damaged; it stays as it is */
async function recoverLedger(path: string, open: () => Ledger): Promise<Ledger> {
  try {
    const ledger = open();
    await ledger.recover();
    return ledger;
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new StartError(
      `Cannot read the ledger of the database, "${ledgerPaths(path).join('" and "')}": ` +
        `${(error as Error).message}. Both files were left as they are: the last executions are in ` +
        `them. Restore a backup with: flowhook restore FILE. Or keep both files elsewhere, and ` +
        `start without what they hold`,
    );
  }
}

function openLedger(
  connection: Database,
  file: SqliteFile,
  writer: Writer,
  onDamage: StoreOptions["onDamage"] = (error) => {
    throw error;
  },
): Ledger {
  return new Ledger({
    file,
    applied: connection.prepare("select applied from ledger").pluck().get() as number,
    apply: (through) => writer.apply(through),
    empty: (segment) => writer.empty(segment),
    onDamage,
  });
}

/** SQLite parses each prepared statement once. The finder throws StoreError. */
function openFinder(connection: Database): (statement: Statement) => unknown {
  const known: Prepared[] = [];
  return ({ text: { sql, number }, parameters }) => {
    try {
      if (number === null) return connection.prepare(sql).get(...parameters);
      const prepared = (known[number] ??= connection.prepare(sql));
      return prepared.get(...parameters);
    } catch (error) {
      throw new StoreError(toUnitError(error));
    }
  };
}
