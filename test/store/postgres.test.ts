import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { newExecutionId, newId } from "../../src/shared/id.ts";
import { listLog } from "../../src/server/store/execution-lists.ts";
import type { ExecutionRow, PayloadInput } from "../../src/server/store/execution-row.ts";
import { connectionsByMonth } from "../../src/server/store/connection-usage.ts";
import { findExecution, findInput, findPayload } from "../../src/server/store/executions.ts";
import type { LedgerRecord } from "../../src/server/store/ledger-record.ts";
import {
  deletePeople,
  insertProject,
  insertRole,
  insertUserRole,
} from "../../src/server/store/people.ts";
import { BEGIN_ROW } from "../../src/server/store/postgres/begin-batch.ts";
import { END_ROW, LOG_ROW, MOVE_ROW } from "../../src/server/store/postgres/batches.ts";
import { CLAIM_ROW } from "../../src/server/store/postgres/claim-batch.ts";
import { toRowBytes, type RowType } from "../../src/server/store/postgres/row-bytes.ts";
import { toUnitError } from "../../src/server/store/postgres/error.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import { readFor } from "../../src/server/store/reading.ts";
import { countExecutions } from "../../src/server/store/retention.ts";
import type { Store } from "../../src/server/store/store.ts";
import { listSettings, putSetting, updateNamed } from "../../src/server/store/workspace.ts";
import { cancelUnended } from "../../src/server/store/unended.ts";
import { poll } from "../blackbox/scenario.ts";
import { sql } from "kysely";
import { INPUT, newRow, toId } from "./rows.ts";
import { openStoreOf, testStores, urlOf } from "./stores.ts";
import { POSTGRES_THREAD } from "./postgres-thread.ts";

/** What both stores do alike with records and errors, and what PostgreSQL does in its own way. */

const PENDING = { status: "PENDING" as const, started_at: null, ended_at: null };

function begin(row: ExecutionRow, input: Partial<PayloadInput> = {}): LedgerRecord {
  const { input_value: _, ...rest } = { ...INPUT, ...input };
  return { kind: "begin", row, input: rest, month: "2026-11" };
}

function append(store: Store, record: LedgerRecord, text: string | null = null): Promise<void> {
  return new Promise((resolve, reject) =>
    store.ledger.append(record, text, {
      applied: resolve,
      overtaken: () => resolve(),
      failed: reject,
    }),
  );
}

testStores("an execution is recorded, started and ended, with its log", async (open) => {
  await using store = await open("life.db");
  const row = newRow(newExecutionId(), PENDING);
  const { id } = row;
  const raw_body = "a: \0 b\n";
  await Promise.all([
    append(store, begin(row, { raw_body }), '{"n":1}'),
    append(store, { kind: "start", ids: [id], at: 7 }),
  ]);
  assert.deepEqual(await findExecution(store, id), { ...row, status: "RUNNING", started_at: 7 });
  assert.deepEqual(await findInput(store, id).then((input) => input?.raw_body), raw_body);
  const line = { at: 8, level: "info" as const, text: "a line" };
  const end = { status: "ENDED_SUCCESS" as const, status_message: null, ended_at: 9 };
  await Promise.all([
    append(store, { kind: "log", id, lines: [line, { ...line, text: "another" }] }),
    append(store, { kind: "end", id, ...end, response: null }, '"done"'),
  ]);
  assert.deepEqual((await findPayload(store, id))?.output_value, '"done"');
  const texts = (await listLog(store, id, { after: 0, limit: 9 })).map(({ text }) => text);
  assert.deepEqual(texts, ["a line", "another"]);
  await append(store, { kind: "end", id, ...end, status: "ENDED_ERROR", response: null }, '"late"');
  assert.equal((await findExecution(store, id))?.status, "ENDED_SUCCESS");
  assert.equal((await findPayload(store, id))?.output_value, '"done"');
});

testStores(
  "what waits again is PENDING, and what begins and ends together is written once",
  async (open) => {
    await using store = await open("together.db");
    const [one, two] = [newRow(newExecutionId(), PENDING), newRow(newExecutionId(), PENDING)];
    const end = { kind: "end" as const, status: "ENDED_ERROR" as const, status_message: "gone" };
    await Promise.all([
      append(store, begin(one), "1"),
      append(store, begin(two), "2"),
      append(store, { ...end, id: two.id, ended_at: 5, response: null }),
    ]);
    assert.equal((await findExecution(store, two.id))?.status_message, "gone");
    await append(store, { kind: "start", ids: [one.id], at: 7 });
    await append(store, { kind: "wait", ids: [one.id], at: 7 });
    assert.deepEqual(await findExecution(store, one.id), one);
    assert.deepEqual(await connectionsByMonth(store), new Map([["2026-11", 2]]));
  },
);

testStores("errors of a unit have kinds", async (open) => {
  await using store = await open("kinds.db");
  const at = { created_at: 1, modified_at: 1 };
  const project = { id: "p", name: "shop", description: "", ...at };
  await store.commit([insertProject(store, project)]);
  await assert.rejects(store.commit([insertProject(store, { ...project, id: "q" })]), {
    kind: "unique",
  });
  await store.commit([
    insertRole(store, { id: "r", name: "r", permissions: "[]", propagate: 0, ...at }),
  ]);
  await assert.rejects(store.commit([insertUserRole(store, "nobody", "r")]), { kind: "reference" });
  const setting = { name: "s", value: "1", ...at };
  await store.commit([putSetting(setting)]);
  const stale = [insertProject(store, { ...project, id: "t", name: "t" })];
  const seen = { name: "s", modified_at: 99 };
  const change = { value: "2", modified_at: 100 };
  await assert.rejects(store.commit([...stale, updateNamed(store, "setting", seen, change)]), {
    kind: "expected",
    code: "changed_meanwhile",
  });
  const gone = [deletePeople(store, "project", project)];
  await store.commit(gone);
  await assert.rejects(store.commit(gone), { code: "changed_meanwhile" });
});

testStores("names are in the order of their characters, on each store", async (open) => {
  await using store = await open("names.db");
  const names = ["Z", "a", "ä", "_", "10", "9", "b-1", "b1"];
  await store.commit(
    names.map((name) => putSetting({ name, value: "0", created_at: 1, modified_at: 1 })),
  );
  const { rows } = await listSettings(store, { after: undefined, limit: 20, descending: false });
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["10", "9", "Z", "_", "a", "b-1", "b1", "ä"],
  );
});

test("postgres: a record that cannot be written costs no other, and one that is there is written", async () => {
  await using store = await openStoreOf("postgres", "alone.db");
  const row = newRow(toId(Date.UTC(2026, 5, 1), 1), PENDING);
  await append(store, begin(row), "1");
  const other = newRow(toId(Date.UTC(2026, 5, 1), 2), PENDING);
  const third = newRow(newExecutionId(), PENDING);
  const results = await Promise.allSettled([
    append(store, begin(other), "2"),
    append(store, begin(third), "3"),
    // The answer of the first try was lost.
    append(store, begin(row), "1"),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled"],
  );
  assert.equal(await countExecutions(store), 2);
  assert.deepEqual(await connectionsByMonth(store), new Map([["2026-11", 2]]));
});

test("postgres: the tables may be in a schema of any name", async () => {
  const url = await urlOf("schema.db");
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`create schema "Flow Hook.1"; alter database
    "${new URL(url).pathname.slice(1)}" set search_path = "Flow Hook.1"`);
  await client.end();
  await using store = await openStoreOf("postgres", "schema.db");
  await append(store, begin(newRow(newExecutionId(), PENDING)), "1");
  assert.equal(await countExecutions(store), 1);
});

test("postgres: bytes are read as they were, whatever form of them the database is set to", async () => {
  const url = await urlOf("escape.db");
  const client = new pg.Client(url);
  await client.connect();
  const database = new URL(url).pathname.slice(1);
  await client.query(`alter database "${database}" set bytea_output = escape`);
  await client.end();
  await using store = await openStoreOf("postgres", "escape.db");
  const row = newRow(newExecutionId(), PENDING);
  await append(store, begin(row, { raw_body: "a=\\1&ä=\0" }), "1");
  assert.equal((await findInput(store, row.id))?.raw_body, "a=\\1&ä=\0");
});

test("postgres: what is acknowledged is on disk, also where the database is set to tell before", async () => {
  const name = "asynchronous.db";
  const url = await urlOf(name);
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`alter database "${new URL(url).pathname.slice(1)}"
    set synchronous_commit = off`);
  for (const [durability, setting] of [
    ["full", "on"],
    ["normal", "off"],
  ] as const) {
    const lines: string[] = [];
    await using store = await openPostgresStore({
      url,
      durability,
      connections: 8,
      name: "t",
      tell: (line) => lines.push(line),
      thread: POSTGRES_THREAD,
      node: { name: "n", version: "0", leaseMs: 15_000, folderId: newId(), folderPlace: "" },
    });
    assert.equal(lines.join().includes("synchronous_commit = off"), durability === "full");
    await client.query(`create table if not exists seen (setting text);
      create or replace function see() returns trigger language plpgsql as $$ begin
        insert into seen values (current_setting('synchronous_commit')); return new; end $$;
      create or replace trigger see before insert on execution for each row execute function see();
      create or replace trigger see before insert on setting for each row execute function see();
      truncate seen`);
    await append(store, begin(newRow(newExecutionId(), PENDING)), "1");
    await store.commit([
      putSetting({ name: durability, value: "0", created_at: 1, modified_at: 1 }),
    ]);
    const { rows } = await client.query<{ setting: string }>("select distinct setting from seen");
    assert.deepEqual(rows, [{ setting }]);
  }
  await client.end();
});

test("postgres: what begins, starts and ends is found by its key, in tables that were empty", async () => {
  const name = "keys.db";
  const store = await openStoreOf("postgres", name);
  const end = { kind: "end" as const, status: "ENDED_ERROR" as const, status_message: "gone" };
  // A statement gets the plan that is kept after five uses.
  for (let count = 0; count < 20; count += 1) {
    const row = newRow(newExecutionId(), PENDING);
    await append(store, begin(row), "1");
    await append(store, { kind: "start", ids: [row.id], at: 7 });
    await append(store, { ...end, id: row.id, ended_at: 9, response: null });
  }
  // What a connection has read is counted once it has ended, a moment after the store was closed.
  await store[Symbol.asyncDispose]();
  await using again = await openStoreOf("postgres", name);
  for (let changed = 0, read = 0; changed < 40; assert.equal(read, 0))
    ({ changed, read } = await countsOf(again));
});

test("postgres: what begins and what ends is one commit, in which each holds by itself", async () => {
  await using store = await openStoreOf("postgres", "commit.db");
  const at = Date.UTC(2026, 5, 1);
  const [one, two, three] = [1, 2, 3].map((n) => newRow(toId(at + n, n), PENDING));
  const end = { kind: "end" as const, status: "ENDED_SUCCESS" as const, status_message: null };
  const endOf = (row?: ExecutionRow) =>
    append(store, { ...end, id: row?.id ?? "", ended_at: 9, response: null }, '"done"');
  const commits = () => store.counts().commits;
  await Promise.all([append(store, begin(one!), "1"), append(store, begin(two!), "2")]);
  const before = commits();
  await Promise.all([endOf(one), append(store, begin(three!), "3")]);
  assert.equal(commits(), before + 1);
  assert.equal((await findPayload(store, one!.id))?.output_value, '"done"');
  assert.equal((await findExecution(store, three!.id))?.status, "PENDING");
  // Another execution has its key, and one of those that end has ended otherwise.
  const taken = newRow(toId(at + 3, 4), PENDING);
  await store.commit([cancelUnended(store, three!.id, "cancelled", 8)]);
  const results = await Promise.allSettled([
    append(store, begin(taken), "4"),
    endOf(two),
    endOf(three),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled"],
  );
  assert.equal((await findExecution(store, two!.id))?.status, "ENDED_SUCCESS");
  assert.equal((await findExecution(store, three!.id))?.status, "ENDED_CANCELLED");
});

async function countsOf(store: Store): Promise<{ changed: number; read: number }> {
  const { rows } = await sql<{ changed: number; read: number }>`select n_tup_upd as changed,
      seq_tup_read as read from pg_stat_user_tables where relname = 'execution'`.execute(
    store.rows,
  );
  return rows[0] ?? { changed: 0, read: 0 };
}

test("postgres: a list that takes too long is given up, and one that nobody waits for is stopped", async () => {
  await using store = await openStoreOf("postgres", "slow.db");
  const slow = () => sql`select pg_sleep(60)`.execute(store.lists);
  const controller = new AbortController();
  const stopped = readFor({ user_id: "u", signal: controller.signal }, slow);
  const begun = performance.now();
  setTimeout(() => controller.abort(), 200);
  await assert.rejects(stopped, { code: "overloaded" });
  assert.ok(performance.now() - begun < 20_000, "not the minute that it takes");
  await assert.rejects(slow(), { kind: "too_long" });
});

test("postgres: what nobody waits for is not read later, and stops no other list", async () => {
  const name = "stopped.db";
  // One connection is for lists, and one for all else, which also stops them.
  await using store = await openStoreOf("postgres", name, 6);
  const locks = new pg.Client(await urlOf(name));
  await locks.connect();
  await locks.query("create sequence listed");
  await locks.query("select pg_advisory_lock(1), pg_advisory_lock(2)");
  const gone = new AbortController();
  const listed = sql<{ at: number }>`select nextval('listed') as at, pg_advisory_xact_lock(2)`;
  const list = (user_id: string, signal = gone.signal) =>
    readFor({ user_id, signal }, () => listed.execute(store.lists));
  const untilRead = (count: number) =>
    poll(`${count} to wait for locks`, async () => {
      const { rows } = await locks.query<{ of: number }>(
        "select count(*)::int as of from pg_stat_activity where wait_event = 'advisory' and datname = current_database()",
      );
      return rows[0]?.of === count || null;
    });
  const row = sql`select pg_advisory_xact_lock(1)`.execute(store.rows);
  const lists = ["one", "two"].map((user) => assert.rejects(list(user), { code: "overloaded" }));
  await untilRead(2);
  gone.abort();
  await Promise.all(lists);
  await locks.query("select pg_advisory_unlock(2)");
  await untilRead(1);
  await locks.query("select pg_advisory_lock(2)");
  const next = list("three", new AbortController().signal);
  await untilRead(2);
  // Now the first is told to stop, which has ended.
  await locks.query("select pg_advisory_unlock(1)");
  await row;
  await sql`select 1`.execute(store.rows);
  await locks.query("select pg_advisory_unlock(2)");
  assert.deepEqual(
    (await next).rows.map((read) => read.at),
    [2],
  );
  await locks.end();
});

test("postgres: a transaction that was left idle too long is tried again later", async () => {
  const client = new pg.Client(await urlOf("idle.db"));
  await client.connect();
  const ended = new Promise((resolve) => client.on("error", resolve));
  await client.query("set idle_in_transaction_session_timeout = 1; begin");
  assert.equal(toUnitError(await ended).kind, "unavailable");
});

const SAMPLE_ROW: RowType = {
  name: "sample_row",
  columns: { number: "bigint", label: "text", content: "bytea" },
};

test("postgres: lists of rows arrive as they were, whatever is in them", async () => {
  const client = new pg.Client({ connectionString: await urlOf("lists.db") });
  await client.connect();
  await client.query("create type sample_row as (number bigint, label text, content bytea)");
  const { rows: types } = await client.query("select 'sample_row'::regtype::oid as oid");
  const oid: number = types[0].oid;
  const numbers = [0, 1, -1, 255, 2 ** 31, -(2 ** 31), 2 ** 32, -(2 ** 32) - 1, null];
  const bounds = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  const texts = [
    "",
    "NULL",
    null,
    '"{},\\',
    "\ta b\n",
    "ä€😀",
    "x".repeat(70_000),
    "a\0",
    "\ud800",
  ];
  const bytes = [Buffer.from([0, 255, 92]), Buffer.alloc(0), null];
  const sent = [
    ...[...numbers, ...bounds].map((number) => ({ number })),
    ...texts.map((label) => ({ label })),
    ...bytes.map((content) => ({ content })),
    { number: 7, label: "seven", content: Buffer.from("7") },
  ];
  const { rows } = await client.query<Record<string, unknown>>({
    text: "select number::text, label, content from unnest($1::sample_row[])",
    values: [toRowBytes({ type: SAMPLE_ROW, rows: sent }, oid)],
  });
  const none = await client.query({
    text: "select from unnest($1::sample_row[])",
    values: [toRowBytes({ type: SAMPLE_ROW, rows: [] }, oid)],
  });
  await client.end();
  const read = (text: string | null = null) =>
    text?.replace("\0", "\u{fffd}").toWellFormed() ?? text;
  const expected = sent.map(
    (row: { number?: number | null; label?: string | null; content?: unknown }) => ({
      number: row.number === null || row.number === undefined ? null : String(row.number),
      label: read(row.label),
      content: row.content ?? null,
    }),
  );
  assert.deepEqual(rows, expected);
  assert.equal(none.rowCount, 0);
});

test("postgres: the types of rows in the database have the columns that are sent", async () => {
  await using store = await openStoreOf("postgres", "types.db");
  assert.ok(store);
  const client = new pg.Client({ connectionString: await urlOf("types.db") });
  await client.connect();
  const { rows } = await client.query<{ name: string; columns: string }>(
    `select typname as name, (select string_agg(attname || ' ' || format_type(atttypid, null), ', '
      order by attnum) from pg_attribute where attrelid = typrelid) as columns
    from pg_type where typtype = 'c' and typname like '%\\_row'`,
  );
  await client.end();
  const found = Object.fromEntries(rows.map(({ name, columns }) => [name, columns]));
  const sent = [BEGIN_ROW, END_ROW, MOVE_ROW, LOG_ROW, CLAIM_ROW].map(({ name, columns }) => [
    name,
    Object.entries(columns)
      .map((column) => column.join(" "))
      .join(", "),
  ]);
  assert.deepEqual(found, Object.fromEntries(sent));
});

test("postgres: a service writes on, though a dump was restored meanwhile", async () => {
  const url = await urlOf("restored.db");
  await using store = await openStoreOf("postgres", "restored.db");
  await append(store, begin(newRow(newExecutionId(), PENDING)));
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ name: string; columns: string }>(
    `select typname as name, string_agg(attname || ' ' || format_type(atttypid, null), ', '
        order by attnum) as columns
      from pg_type join pg_attribute on attrelid = typrelid
      where typtype = 'c' and typname like '%\\_row' group by typname`,
  );
  assert.ok(rows.length >= 5);
  const drop = async () => {
    for (const { name } of rows) await client.query(`drop type ${name}`);
  };
  const create = async () => {
    for (const { name, columns } of rows) await client.query(`create type ${name} as (${columns})`);
  };
  const write = async () => {
    const row = newRow(newExecutionId(), PENDING);
    await append(store, begin(row));
    assert.equal((await findExecution(store, row.id))?.status, "PENDING");
  };
  try {
    await drop();
    await create();
    await write();
    await drop();
    const written = write();
    await create();
    await written;
  } finally {
    await client.end();
  }
});

test("postgres: a value that is not of its column's type is refused before it is sent", () => {
  for (const row of [{ number: 1.5 }, { number: "1" }, { label: 1 }, { content: "a" }])
    assert.throws(
      () => toRowBytes({ type: SAMPLE_ROW, rows: [row] }, 1),
      /A column of (bigint|text|bytea) cannot hold/,
    );
});

test("postgres: a text with U+0000 is no error, wherever it comes from", async () => {
  await using store = await openStoreOf("postgres", "zero.db");
  const setting = { name: "s", value: '"a\0b"', created_at: 1, modified_at: 1 };
  await store.commit([putSetting(setting)]);
  const { rows } = await listSettings(store, { after: "a\0", limit: 9, descending: false });
  assert.deepEqual(rows, [{ ...setting, value: '"a\u{fffd}b"' }]);
  // Half of a character is none either.
  for (const status_message of ["\0", "\ud800"]) {
    const row = newRow(newExecutionId(), { ...PENDING, status_message });
    await append(store, begin(row), "1");
    assert.equal((await findExecution(store, row.id))?.status_message, "\u{fffd}");
  }
});
