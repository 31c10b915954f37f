import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Database, Statement as Prepared } from "better-sqlite3";
import { Kysely } from "kysely";
import { StartError } from "../../../shared/errors.ts";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { readFileSizes } from "./file-sizes.ts";
import type { Store } from "../store.ts";
import { learnKeys } from "./taken-keys.ts";
import { isDamage, toUnitError } from "./error.ts";
import { StoreError } from "../store-error.ts";
import { KeptRows, type Kept } from "../kept-rows.ts";
import { refuseNewer } from "../migrate.ts";
import { migrateFile } from "./migrate-file.ts";
import { Applier } from "./applier.ts";
import { syncTables } from "./applied-ledger.ts";
import { hasEarlier, readEarlier, removeEarlier } from "./earlier-ledger.ts";
import { SQLITE_DIALECT } from "./dialect.ts";
import { FileDialect } from "./file-dialect.ts";
import { fileAt } from "./file-place.ts";
import type { DataLock } from "./lock.ts";
import { SqliteLedger } from "./ledger.ts";
import type { Write } from "./ledger-file.ts";
import { takeOverLinked } from "./left-ledger.ts";
import { OpenFiles } from "./open-files.ts";
import { arePartedAt, keepApart, listLogs, PartedNote } from "./parted-logs.ts";
import { openReader, ReaderDialect } from "./reader.ts";
import type { Schema } from "../schema.ts";
import { openConnection, type Durability, type SqliteFile } from "./connection.ts";
import { explainOpening, inspectDatabase, toOpeningError } from "./damage.ts";
import type { Statement } from "../statement.ts";
import { startWriter, type Writer } from "./writer.ts";

export interface SqliteOptions {
  /** The database file, or a link to it; its folder is made when missing. */
  readonly path: string;
  readonly durability: Durability;
  readonly addon: string | null;
  /** Entry of the store's threads. */
  readonly thread: string;
  /** Where its thread was started before. */
  readonly writer?: Writer;
  /** Longest read of a list, in milliseconds. */
  readonly listMs?: number;
  /** The service may have it open too: the ledger is left to it, and executions are not read. */
  readonly isBeside?: boolean;
  /** Nothing is to be written: tables of an earlier version are refused. */
  readonly isReading?: boolean;
  /** Files that keep other services out, as long as they are there. */
  readonly locks?: readonly string[];
  /** Keeps it out while the tables are brought up to date. @throws TakenError where it is there */
  readonly takeLock?: () => DataLock;
  /** Writes the ledger's rows, where the file system does not do so itself. */
  readonly write?: Write;
  /** Something is wrong with the ledger. @param isLost nobody knows any more what the disk has */
  readonly onDamage?: (error: Error, isLost: boolean) => void;
  /** @param error why nothing can be recorded from now on; null: it can be again */
  readonly onRoom?: (error: Error | null) => void;
  /** @param error why the tables lack what is recorded from now on; null: they get it again */
  readonly onFailing?: (error: Error | null) => void;
  /** @param error why nothing is taken from now on: its files are gone; null: they are back */
  readonly onLost?: (error: Error | null) => void;
  /** Aborted once nobody wants it any more, while its tables are brought up to date. */
  readonly stopping?: AbortSignal;
  /** Takes a line of what a start that takes long is doing. */
  readonly tell?: (line: string) => void;
  /** Takes a line of what was found and somebody should know. */
  readonly warn?: (line: string) => void;
}

/**
 * Opens the database file, brings its tables up to date, and starts the threads: rows are read in
 * the caller's thread, lists in readers' threads, and every write goes through the writer's.
 *
 * @throws the reason of `stopping`
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { durability, addon, thread, listMs, tell = () => {} } = options;
  const path = fileAt(options.path);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file: SqliteFile = { path, durability, addon };
  const applied = inspectWithLogs(file, options);
  refuseNewer(applied);
  await using opened = new AsyncDisposableStack();
  const connection = explainOpening(path, () => openConnection(file));
  opened.defer(() => void connection.close());
  const rows = new Kysely<Schema>({ dialect: new FileDialect(connection) });
  opened.defer(() => rows.destroy());
  await migrateFile(rows, applied, connection, { ...options, tell }).catch((error: unknown) => {
    throw toOpeningError(path, error);
  });
  const reader = opened.use(openReader(thread, file, listMs));
  const writer = opened.use(options.writer ?? startWriter(thread));
  openWriter(writer, file, options);
  const { files, note } = watchFiles(path, options.onLost, opened);
  const ledger =
    options.isBeside === true
      ? NO_LEDGER
      : await recoverLedger({ connection, file, writer, files, note }, options);
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
    dialect: SQLITE_DIALECT,
    find: async <Row>(statement: Statement) => find(statement) as Row | undefined,
    findKept: async <Row extends object>(
      table: Kept,
      name: string,
      ask: (name: string) => Statement,
    ) => kept.find(table, name, () => find(ask(name)) as Row | undefined),
    commit: openCommit(writer, files, kept),
    ledger,
    node: null,
    settled,
    maintain: () => writer.maintain(),
    counts() {
      const [{ commits, units }, { rows, records }] = [writer.counts(), ledger.counts()];
      return { commits: commits + rows, units: units + records };
    },
    fileSizes: () => readFileSizes(path),
    shared: null,
    awaySince: null,
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}

/**
 * Looks at the file before anything writes to it. What lies beside one that is new, or beside another
 * one than it belongs to, is kept elsewhere.
 *
 * @returns names of the migrations in it
 */
function inspectWithLogs(file: SqliteFile, options: SqliteOptions): string[] {
  if (arePartedAt(file.path)) keepLogs(file.path, options);
  const applied = explainOpening(file.path, () => inspectDatabase(file));
  if (applied.length === 0) keepLogs(file.path, options);
  return applied;
}

function keepLogs(path: string, { path: link, takeLock, warn }: SqliteOptions): void {
  const names = [...new Set([path, link])];
  if (!names.some((name) => arePartedAt(name) || listLogs(name).length > 0)) return;
  // A command leaves them to a service that runs, which has them open.
  const lock = takeLock?.();
  try {
    for (const kept of names.map(keepApart)) if (kept !== null) warn?.(kept);
  } finally {
    lock?.release();
  }
}

/** To a command, beside a service, its own error is told. */
function openWriter(writer: Writer, file: SqliteFile, { onDamage, isBeside }: SqliteOptions): void {
  writer.open(file);
  if (onDamage !== undefined && isBeside !== true)
    writer.onUnsynced = (error) => onDamage(error, true);
}

/** The last time that it is known where they are is before their connections close. */
function watchFiles(
  path: string,
  onLost: SqliteOptions["onLost"],
  opened: AsyncDisposableStack,
): Pick<Opened, "files" | "note"> {
  const note = new PartedNote(path);
  const files = new OpenFiles((error) => {
    note.update();
    onLost?.(error);
  });
  opened.defer(() => {
    files.close();
    note.update();
  });
  return { files, note };
}

/** What a unit changes is not kept any longer. */
function openCommit(writer: Writer, files: OpenFiles, kept: KeptRows): Store["commit"] {
  return async (unit) => {
    if (files.error !== null) throw files.error;
    const changed = unit.flatMap(({ text }) => text.changes ?? []);
    return writer.commit(unit).finally(() => {
      for (const table of changed) kept.forget(table);
    });
  };
}

/** Of a store whose ledger another process writes. */
const NO_LEDGER: Pick<SqliteLedger, keyof SqliteLedger> = {
  next: 0,
  hasRoom: false,
  isWritable: false,
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

interface Opened {
  readonly connection: Database;
  readonly file: SqliteFile;
  readonly writer: Writer;
  readonly files: OpenFiles;
  readonly note: PartedNote;
}

/** @throws StartError where a file of the ledger is damaged; it stays as it is */
async function recoverLedger(
  { connection, file, writer, files, note }: Opened,
  { path: link, write, locks = [], onRoom, onFailing, onDamage = fail }: SqliteOptions,
): Promise<SqliteLedger> {
  try {
    const skipped = [
      ...takeOverLinked(connection, file, link),
      ...takeOverEarlier(connection, file),
    ];
    for (const why of skipped) onDamage(new Error(why), false);
    const ledger = new SqliteLedger({
      file,
      applied: connection.prepare("select applied from ledger").pluck().get() as number,
      apply: (through) => writer.apply(through),
      syncTables: () => writer.sync(),
      isLost: () => files.error !== null,
      isUnlocked: () => files.isUnlocked,
      onDamage,
      ...(onRoom === undefined ? {} : { onRoom }),
      ...(onFailing === undefined ? {} : { onFailing }),
      ...(write === undefined ? {} : { write }),
    });
    await ledger.recover();
    files.watch(file.path, `${file.path}-wal`, ...ledgerPaths(file.path));
    files.watchLocks(...locks);
    note.watch();
    return ledger;
  } catch (error) {
    const isFolder = (error as NodeJS.ErrnoException).code === "EISDIR";
    if (!isDamage(error) && !isFolder) throw toOpeningError(file.path, error);
    // Of the tables, which its records were to be written to.
    if (error instanceof StoreError)
      throw new StartError(
        `Cannot write to the database "${file.path}": ${error.message}. It was left as it is, and so ` +
          `was its ledger, which has the last executions. Restore a backup with: flowhook restore FILE`,
      );
    throw new StartError(
      `Cannot read the ledger of the database, "${ledgerPaths(file.path).join('" and "')}": ` +
        `${(error as Error).message}. Both files were left as they are: the last executions are in ` +
        `them. Restore a backup with: flowhook restore FILE. Or keep both files elsewhere, and ` +
        `start without what they hold`,
    );
  }
}

/** Takes what release 0.1 has left in its ledger. @returns why records were passed over */
function takeOverEarlier(connection: Database, file: SqliteFile): string[] {
  if (!hasEarlier(file.path)) return [];
  const skipped = new Applier(connection).applyAll((position) => readEarlier(file, position));
  syncTables(connection, file.durability);
  removeEarlier(file.path);
  return skipped;
}

function fail(error: Error): never {
  throw error;
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
