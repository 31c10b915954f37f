import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import pg from "pg";
import { MOVED_TABLES } from "../../src/server/store/move-source.ts";
import { openMoveTarget } from "../../src/server/store/postgres/move-target.ts";
import { openMoveSource } from "../../src/server/store/sqlite/move-source.ts";
import { findExecution, findPayload, insertExecution } from "../../src/server/store/executions.ts";
import { insertAudit, listAudit } from "../../src/server/store/workspace.ts";
import { fillOldStore, makeOldStore } from "./old-store.ts";
import { INPUT, newRow, toId } from "./rows.ts";
import { openStoreOf, pathOf, urlOf } from "./stores.ts";

/** What a move takes from SQLite into PostgreSQL, row by row. */

/** What each store makes or knows by itself; some only nodes have, and no schema names. */
const OWN = [
  "attempt",
  "awaited",
  "flow_file",
  "flow_offers",
  "flow_version",
  "key_check",
  "ledger",
  "migration",
  "node",
  "node_flow",
  "rate_bucket",
  "refused_call",
];

async function query<Row extends object>(name: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(await urlOf(name));
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function moveTo(name: string): Promise<string[]> {
  const lines: string[] = [];
  const tell = (line: string): void => void lines.push(line);
  const file = { path: pathOf(name), durability: "normal", addon: null } as const;
  await using target = await openMoveTarget({ url: await urlOf(name), name: "test" }, tell);
  using source = await openMoveSource(file, tell);
  await target.fill(source, "check");
  return lines;
}

test("each table is moved, or is what each store makes by itself", async () => {
  await using _sqlite = await openStoreOf("sqlite", "schema");
  await using _postgres = await openStoreOf("postgres", "schema");
  const file = new Database(pathOf("schema"), { readonly: true });
  const inFile = file
    .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    .pluck()
    .all() as string[];
  file.close();
  const inDatabase = await query<{ name: string }>(
    "schema",
    "select tablename as name from pg_tables where schemaname = current_schema()",
  );
  const names = new Set([...inFile, ...inDatabase.map(({ name }) => name)]);
  assert.deepEqual([...names].toSorted(), [...MOVED_TABLES, ...OWN].toSorted());
});

const TEXTS = [
  "",
  "\\N",
  "\\.",
  "a\tb\\tc\nd\\ne\r\nf\b\f\v",
  "\\\\",
  "null",
  "\u0000 and \u0001\u007f\u0080\u2028\ufeff",
  "Grüße 漢字 😀",
  "x".repeat(100_000),
  `${"\\".repeat(65_535)}\n`,
];

test("texts and bytes are what they were, whatever is in them, and the database is set to", async () => {
  const database = new URL(await urlOf("texts")).pathname.slice(1);
  for (const setting of ["bytea_output = escape", "quote_all_identifiers = on"])
    await query("texts", `alter database "${database}" set ${setting}`);
  const ids = TEXTS.map((_, n) => toId(1_700_000_000_000, n, n));
  {
    await using store = await openStoreOf("sqlite", "texts");
    for (const [n, text] of TEXTS.entries()) {
      const row = newRow(ids[n] as string, { status_message: text, created_at: 2 ** 52 + n });
      const input = { ...INPUT, raw_body: text, raw_body_at: null };
      const output = { output_value: text, response: null, ...ENDED, id: row.id };
      await store.commit(insertExecution(row, input, output));
    }
  }
  await moveTo("texts");
  await using store = await openStoreOf("postgres", "texts");
  for (const [n, text] of TEXTS.entries()) {
    const id = ids[n] as string;
    // No text of PostgreSQL holds U+0000; a body is bytes there.
    const stored = text.replaceAll("\0", "\ufffd");
    const execution = await findExecution(store, id);
    assert.equal(execution?.status_message, stored);
    assert.equal(execution.created_at, 2 ** 52 + n);
    const payload = await findPayload(store, id);
    assert.equal(payload?.raw_body, text);
    assert.equal(payload.raw_body_at, null);
    assert.equal(payload.output_value, stored);
  }
});

const ENDED = { status: "ENDED_SUCCESS", status_message: null, ended_at: 1 } as const;

test("numbers go on after the largest that was ever given", async () => {
  const entry = { ...ENTRY, at: 1 };
  {
    await using store = await openStoreOf("sqlite", "numbers");
    for (let n = 0; n < 5; n += 1) await store.commit([insertAudit(store, entry)]);
  }
  const file = new Database(pathOf("numbers"));
  file.exec("delete from audit where seq > 2");
  file.close();
  await moveTo("numbers");
  await using store = await openStoreOf("postgres", "numbers");
  await store.commit([insertAudit(store, entry)]);
  const listed = await listAudit(store, { before: null, limit: 10 });
  assert.deepEqual(
    listed.map(({ seq }) => seq),
    [6, 2, 1],
  );
});

const ENTRY = {
  user_id: null,
  user_name: null,
  address: "::1",
  action: "x",
  target: null,
  result: "200",
  members: "[]",
  changes: null,
  node: null,
};

test("the store of an older release is moved as a start would have brought it up to date", async () => {
  const path = pathOf("old");
  const strange = "nobody's";
  await makeOldStore(path, (db) => {
    fillOldStore(db, 3000);
    db.prepare(
      `insert into execution (id, status, flow, is_productive, is_async, project_id, created_at)
        values (?, 'RUNNING', 'f', 1, 1, 'p', 1)`,
    ).run(strange);
    db.prepare("insert into execution_payload (execution_id, input_value) values (?, '1')").run(
      strange,
    );
  });
  const before = new Database(path, { readonly: true });
  const lines = await moveTo("old");
  assert.deepEqual(
    before.prepare("select name from migration").pluck().all(),
    ["0001-first", "0002-key-use"],
    "the store itself stays as it was",
  );
  before.close();
  assert.match(lines.join("\n"), /is copied to ".*old\.moving"/);
  await using store = await openStoreOf("postgres", "old");
  const moved = await findExecution(store, strange);
  assert.equal(moved?.status_message, "interrupted by a restart");
  const [row] = await query<{ count: string }>("old", "select count(*) from execution_input");
  assert.equal(Number(row?.count), 3001);
});
