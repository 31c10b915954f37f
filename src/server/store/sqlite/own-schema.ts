import type { Database } from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { StartError } from "../../../shared/errors.ts";
import { apply } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { openDatabase } from "./connection.ts";

/**
 * What a database may hold: what its migrations make. A trigger runs with each write, and a view
 * or a column that computes itself says what whoever wrote it likes.
 */

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  /** Null for the index of a unique column, which SQLite makes itself. */
  readonly sql: string | null;
}

/** What ANALYZE leaves, for the planner alone. */
const STATISTICS = /^sqlite_stat[14]$/;

/** What Litestream makes in a database that it replicates; each as it makes it. */
const OF_LITESTREAM: ReadonlyMap<string, string> = new Map([
  ['table "_litestream_lock"', "create table _litestream_lock (id integer)"],
  ['table "_litestream_seq"', "create table _litestream_seq (id integer primary key, seq integer)"],
]);

/**
 * @param applied names of the migrations that the database has
 * @throws StartError naming what no migration makes, what is otherwise, and what is missing
 */
export async function requireOwnSchema(
  db: Database,
  applied: readonly string[],
  addon: string | null,
): Promise<void> {
  const errors = await compareSchema(db, applied, addon);
  if (errors.length === 0) return;
  throw new StartError(
    `The backup has another schema than Flowhook makes: ${errors.join(", ")}. It was not ` +
      `restored: whoever wrote it could act as any user`,
  );
}

/** What no migration makes, what is otherwise, and what is missing, each in a few words. */
export async function compareSchema(
  db: Database,
  applied: readonly string[],
  addon: string | null,
): Promise<string[]> {
  const expected = await listExpected(applied, addon);
  const found = listObjects(db);
  const strange = [...found]
    .filter(([title, sql]) => !expected.has(title) && OF_LITESTREAM.get(title) !== sql)
    .map(([title]) => title);
  const missing = [...expected].filter(([title]) => !found.has(title)).map(([title]) => title);
  const changed = [...found]
    .filter(([title, sql]) => expected.has(title) && expected.get(title) !== sql)
    .map(([title]) => title);
  return [
    ...strange.map((title) => `found the ${title}`),
    ...changed.map((title) => `found another ${title}`),
    ...missing.map((title) => `missed the ${title}`),
  ];
}

/** The same migrations, in memory. */
async function listExpected(
  applied: readonly string[],
  addon: string | null,
): Promise<Map<string, string>> {
  const database = openDatabase(":memory:", addon);
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) });
  try {
    await apply(db, applied);
    return listObjects(database);
  } finally {
    await db.destroy();
  }
}

/** Each object by type and name, with its definition. */
function listObjects(db: Database): Map<string, string> {
  const rows = db.prepare("select type, name, sql from sqlite_master").all() as SchemaObject[];
  const own = rows.filter(({ type, name }) => type !== "table" || !STATISTICS.test(name));
  return new Map(own.map(({ type, name, sql }) => [`${type} "${name}"`, toPlain(sql)]));
}

/** Quotes, case and space say nothing; releases may differ in them. */
function toPlain(sql: string | null): string {
  return (sql ?? "")
    .replace(/["`[\]]/g, "")
    .replace(/\s+/g, " ")
    .toLowerCase();
}
