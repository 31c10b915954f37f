import { setImmediate as turn } from "node:timers/promises";
import { sql, type Kysely } from "kysely";
import { firstKeyOf, keyOf } from "../../../shared/id.ts";
import type { Progress } from "./migration.ts";

/**
 * Executions get an integer key, made from their id, which their parts and indexes carry instead
 * of 36 characters; what they answered gets a table of its own.
 *
 * Every row is moved, page by page, so that the file grows by one page of them alone.
 */
export async function up(db: Kysely<unknown>, progress: Progress): Promise<void> {
  await setAside(db);
  await createTables(db);
  const { rows } = await sql<{
    total: number;
  }>`select count(*) as total from old_execution`.execute(db);
  const total = rows[0]?.total ?? 0;
  if (total > 0) await moveAll(db, (count) => progress(count, total));
  for (const table of ["execution", "execution_payload", "execution_log"])
    await db.schema.dropTable(`old_${table}`).execute();
  await createIndexes(db);
}

/** Of SQLite: a database of PostgreSQL was never in the state before. */
async function moveAll(db: Kysely<unknown>, tell: (count: number) => void): Promise<void> {
  await sql`create temporary table moving
    (id text primary key, key integer not null, parent_key integer) without rowid`.execute(db);
  const done = await moveInOrder(db, tell);
  await moveRest(db, (count) => tell(done + count));
  await moveSequence(db);
  await db.schema.dropTable("temp.moving").execute();
}

/** The index of log lines stays: they are looked up by it. */
async function setAside(db: Kysely<unknown>): Promise<void> {
  for (const index of ["webhook", "flow", "failed", "unended"])
    await db.schema.dropIndex(`execution_${index}`).execute();
  for (const table of ["execution", "execution_payload", "execution_log"])
    await db.schema.alterTable(table).renameTo(`old_${table}`).execute();
}

async function createTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable("execution")
    .addColumn("key", "integer", (c) => c.primaryKey())
    .addColumn("id", "text", (c) => c.notNull())
    .addColumn("status", "text", (c) => c.notNull())
    .addColumn("status_message", "text")
    .addColumn("webhook_id", "text")
    .addColumn("webhook", "text")
    .addColumn("flow", "text", (c) => c.notNull())
    .addColumn("flow_version", "text")
    .addColumn("is_productive", "integer", (c) => c.notNull())
    .addColumn("is_async", "integer", (c) => c.notNull())
    .addColumn("project_id", "text", (c) => c.notNull())
    .addColumn("role_id", "text")
    .addColumn("acts_for", "text")
    .addColumn("created_by", "text")
    .addColumn("parent_id", "text")
    .addColumn("parent_key", "bigint")
    .addColumn("replay_of", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("started_at", "bigint")
    .addColumn("ended_at", "bigint")
    .execute();
  await schema
    .createTable("execution_moved")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("key", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("execution_input")
    .addColumn("execution_key", "integer", (c) => c.primaryKey())
    .addColumn("input_value", "text", (c) => c.notNull())
    .addColumn("raw_body_at", "integer")
    .addColumn("raw_body", "text")
    .addColumn("target", "text")
    .execute();
  await schema
    .createTable("execution_output")
    .addColumn("execution_key", "integer", (c) => c.primaryKey())
    .addColumn("output_value", "text")
    .addColumn("response", "text")
    .execute();
  await schema
    .createTable("execution_log")
    .addColumn("seq", "integer", (c) => c.primaryKey().autoIncrement())
    .addColumn("execution_key", "bigint", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("level", "text", (c) => c.notNull())
    .addColumn("text", "text", (c) => c.notNull())
    .execute();
}

/**
 * What lists filter by; each entry carries the key of its row. Few rows are unended, have failed
 * or have a parent, so that these three cost a call that succeeds next to nothing.
 */
async function createIndexes(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  for (const column of ["webhook", "flow"])
    await schema.createIndex(`execution_${column}`).on("execution").columns([column]).execute();
  await schema
    .createIndex("execution_failed")
    .on("execution")
    .columns(["key"])
    .where("status" as never, "in", ["ENDED_CANCELLED", "ENDED_ERROR", "ENDED_TIMEOUT"] as never)
    .execute();
  await schema
    .createIndex("execution_unended")
    .on("execution")
    .columns(["status"])
    .where("ended_at" as never, "is", null)
    .execute();
  await schema
    .createIndex("execution_parent")
    .on("execution")
    .columns(["parent_key"])
    .where("parent_key" as never, "is not", null)
    .execute();
  await schema
    .createIndex("execution_log_execution")
    .on("execution_log")
    .columns(["execution_key"])
    .execute();
}

interface Old {
  readonly id: string;
  readonly parent_id: string | null;
  readonly created_at: number;
}

interface Move {
  readonly id: string;
  readonly key: number;
  readonly parent_key: number | null;
}

const PAGE = 5000;

/** Leaves room for the keys that come after it; a clock was set to the year 2089. */
const LAST_KEY = Number.MAX_SAFE_INTEGER - 2 ** 40;

/** Those whose ids are in the order of their keys: nearly all. @returns how many were moved */
async function moveInOrder(db: Kysely<unknown>, tell: (count: number) => void): Promise<number> {
  let [count, after, latest] = [0, "", Number.NEGATIVE_INFINITY];
  for (;;) {
    const { rows } = await sql<Old>`select id, parent_id, created_at from old_execution
      where id > ${after} order by id limit ${PAGE}`.execute(db);
    const moves: Move[] = [];
    for (const { id, parent_id } of rows) {
      const key = keyOf(id);
      if (key === null || key > LAST_KEY) continue;
      // Two of one millisecond and counter: the second gets the next key that is free.
      latest = Math.max(key, latest + 1);
      moves.push({ id, key: latest, parent_key: parent_id === null ? null : keyOf(parent_id) });
    }
    await move(db, moves);
    tell((count += moves.length));
    await turn();
    if (rows.length < PAGE) return count;
    after = rows.at(-1)?.id ?? "";
  }
}

/** Those that Flowhook has not made: beside what was created at that time. */
async function moveRest(db: Kysely<unknown>, tell: (count: number) => void): Promise<void> {
  for (let count = 0; ;) {
    const { rows } = await sql<Old>`select id, parent_id, created_at from old_execution
      order by created_at, id limit ${PAGE}`.execute(db);
    for (const { id, parent_id, created_at } of rows) {
      const key = await findFree(db, Math.min(firstKeyOf(created_at), LAST_KEY));
      await move(db, [{ id, key, parent_key: parent_id === null ? null : keyOf(parent_id) }]);
    }
    tell((count += rows.length));
    await turn();
    if (rows.length < PAGE) break;
  }
  await sql`update execution set parent_key =
      (select key from execution_moved where execution_moved.id = parent_id)
    where parent_id in (select id from execution_moved)`.execute(db);
}

async function findFree(db: Kysely<unknown>, key: number): Promise<number> {
  for (let free = key; ; free += 1) {
    const { rows } = await sql`select key from execution where key = ${free}`.execute(db);
    if (rows.length === 0) return free;
  }
}

async function move(db: Kysely<unknown>, moves: readonly Move[]): Promise<void> {
  await sql`delete from moving`.execute(db);
  await sql`insert into moving (id, key, parent_key)
    select value ->> 'id', value ->> 'key', value ->> 'parent_key'
    from json_each(${JSON.stringify(moves)})`.execute(db);
  const elsewhere = moves.filter(({ id, key }) => keyOf(id) !== key);
  for (const { id, key } of elsewhere)
    await sql`insert into execution_moved (id, key) values (${id}, ${key})`.execute(db);
  await sql`insert into execution (key, id, status, status_message, webhook_id, webhook, flow,
      flow_version, is_productive, is_async, project_id, role_id, acts_for, created_by, parent_id,
      parent_key, replay_of, created_at, started_at, ended_at)
    select moving.key, old.id, status, status_message, webhook_id, webhook, flow, flow_version,
      is_productive, is_async, project_id, role_id, acts_for, created_by, parent_id,
      moving.parent_key, replay_of, created_at, started_at, ended_at
    from moving join old_execution as old on old.id = moving.id order by moving.id`.execute(db);
  await sql`insert into execution_input (execution_key, input_value, raw_body_at, raw_body, target)
    select moving.key, input_value, raw_body_at, raw_body, target
    from moving join old_execution_payload as old on old.execution_id = moving.id
    order by moving.id`.execute(db);
  await sql`insert into execution_output (execution_key, output_value, response)
    select moving.key, output_value, response
    from moving join old_execution_payload as old on old.execution_id = moving.id
    where output_value is not null or response is not null
    order by moving.id`.execute(db);
  await sql`insert into execution_log (seq, execution_key, at, level, text)
    select seq, moving.key, at, level, text
    from moving join old_execution_log as old on old.execution_id = moving.id
    order by moving.id, seq`.execute(db);
  await sql`delete from old_execution_log
    where execution_id in (select id from moving)`.execute(db);
  await sql`delete from old_execution_payload
    where execution_id in (select id from moving)`.execute(db);
  await sql`delete from old_execution where id in (select id from moving)`.execute(db);
}

/** The number of a log line is never used again, also where the latest lines are gone. */
async function moveSequence(db: Kysely<unknown>): Promise<void> {
  await sql`delete from sqlite_sequence where name = 'execution_log'`.execute(db);
  await sql`update sqlite_sequence set name = 'execution_log'
    where name = 'old_execution_log'`.execute(db);
}
