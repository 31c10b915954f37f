import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { openRuntime } from "../../src/assets/runtime.ts";
import { loadConfig } from "../../src/server/config/load.ts";
import { openStore } from "../../src/server/open-store.ts";
import { keyOf } from "../../src/shared/id.ts";
import { StartError } from "../../src/shared/errors.ts";
import { restoreFrom } from "../../src/server/store/sqlite/backup.ts";
import { takeLock, TakenError } from "../../src/server/store/sqlite/lock.ts";
import { openSqliteStore, type SqliteOptions } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { listExecutions, listLog } from "../../src/server/store/execution-lists.ts";
import {
  countAncestors,
  endExecution,
  findExecution,
  findPayload,
  insertLogLine,
  runExecution,
} from "../../src/server/store/executions.ts";
import { listUnended } from "../../src/server/store/unended.ts";
import { deleteExecutions } from "../../src/server/store/retention.ts";
import { inspectDatabase } from "../../src/server/store/sqlite/damage.ts";
import { MIGRATIONS } from "../../src/server/store/migrations/migrations.ts";
import { isMountable, mountDisk, unmountDisk } from "../faults/disk.ts";
import { WEBHOOK_DEFAULTS } from "../../src/server/store/webhook-columns.ts";
import { insertAudit, listAudit } from "../../src/server/store/workspace.ts";
import { findWebhook, updateWebhook } from "../../src/server/store/webhooks.ts";

import { fillOldStore, makeOldStore } from "./old-store.ts";
import { toId } from "./rows.ts";

/** Migration 0003: each row of an older store, with its new key. */

const folder = mkdtempSync(join(tmpdir(), "flowhook-migration-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
after(() => rmSync(folder, { recursive: true, force: true }));

const told: string[] = [];
function open(path: string, more: Partial<SqliteOptions> = {}): Promise<Store> {
  const tell = (line: string) => void told.push(line);
  return openSqliteStore({ path, durability: "normal", addon: null, thread, tell, ...more });
}

/** What both schemas say of executions. */
interface Records {
  readonly executions: unknown[];
  readonly inputs: unknown[];
  readonly outputs: unknown[];
  readonly log: unknown[];
  readonly sequence: unknown;
}

const NARROW = `id, status, status_message, webhook_id, webhook, flow, flow_version, is_productive,
  is_async, project_id, role_id, acts_for, created_by, parent_id, replay_of, created_at, started_at,
  ended_at`;
const GIVEN = "input_value, raw_body_at, raw_body, target";

function readAll(path: string, sql: Record<Exclude<keyof Records, "sequence">, string>): Records {
  const db = new Database(path, { readonly: true });
  const all = (text: string) => db.prepare(text).all();
  const sequence = db
    .prepare("select seq from sqlite_sequence where name = 'execution_log'")
    .pluck()
    .get();
  const { executions, inputs, outputs, log } = sql;
  const records = {
    executions: all(executions),
    inputs: all(inputs),
    outputs: all(outputs),
    log: all(log),
    sequence,
  };
  db.close();
  return records;
}

const readOld = (path: string): Records =>
  readAll(path, {
    executions: `select ${NARROW} from execution order by id`,
    inputs: `select execution_id as id, ${GIVEN} from execution_payload order by 1`,
    outputs: `select execution_id as id, output_value, response from execution_payload
      where output_value is not null or response is not null order by 1`,
    log: "select seq, execution_id as id, at, level, text from execution_log order by seq",
  });

const readNew = (path: string): Records =>
  readAll(path, {
    executions: `select ${NARROW} from execution order by id`,
    inputs: `select id, ${GIVEN} from execution_input join execution on key = execution_key order by 1`,
    outputs: `select id, output_value, response from execution_output
      join execution on key = execution_key order by 1`,
    log: `select seq, id, at, level, text from execution_log join execution on key = execution_key
      order by seq`,
  });

function query<Row>(path: string, sql: string): Row[] {
  const db = new Database(path, { readonly: true });
  try {
    return db.prepare(sql).all() as Row[];
  } finally {
    db.close();
  }
}

test("every row is there afterwards, and nothing of the old tables", async () => {
  const path = join(folder, "rows.db");
  await makeOldStore(path, (db) => {
    fillOldStore(db, 12_345, 40);
    // The latest lines were deleted: their numbers are not used again.
    db.exec("delete from execution_log where seq > 2000");
  });
  const before = readOld(path);
  assert.equal(before.executions.length, 12_345);
  assert.equal(before.sequence, 2469);
  const store = await open(path);
  const [first] = await listExecutions(store, { limit: 1 });
  await store.commit([insertLogLine({ executionId: first!.id, at: 1, level: "info", text: "x" })]);
  assert.deepEqual(
    (await listLog(store, first!.id, { after: 2000, limit: 9 })).map(({ seq }) => seq),
    [2470],
  );
  await store[Symbol.asyncDispose]();
  const now = readNew(path);
  assert.deepEqual({ ...now, log: now.log.slice(0, -1), sequence: 2469 }, before);
  const keys = query<{ key: number; id: string }>(path, "select key, id from execution");
  for (const { key, id } of keys) assert.equal(key, keyOf(id));
  assert.deepEqual(query(path, "select * from execution_moved"), []);
  const tables = query<{ name: string }>(path, "select name from sqlite_master");
  assert.deepEqual(
    tables.filter(({ name }) => /old|moving|payload/.test(name)),
    [],
  );
  assert.deepEqual(query(path, "pragma integrity_check"), [{ integrity_check: "ok" }]);
  const [copy] = readdirSync(folder).filter((name) => name.startsWith("rows.db.before-0003"));
  assert.deepEqual(readOld(join(folder, copy!)), before, "and the copy is the store as it was");
  assert.match(told.join("\n"), /is copied to ".*rows\.db\.before-0003.*" first\n.*is up to date/);
});

const AT = Date.UTC(2026, 2, 1);
const V4 = "3f1c2f6e-9a3b-4c5d-8e7f-000000000001";
const LATE = "fff00000-0000-7000-8000-000000000001";
/** The ids, and which of them cannot have the key that is made from the id. */
const STRANGE: readonly (readonly [id: string, isMoved: boolean])[] = [
  [toId(AT, 1, 5), false],
  [toId(AT, 2, 5), true],
  [toId(AT, 3, 5), true],
  // Its own key was given to the one before.
  [toId(AT, 4, 6), true],
  [toId(AT, 5, 9), false],
  [toId(AT, 6, 4095), false],
  [toId(AT, 7, 4095), true],
  [toId(AT + 1, 8, 0), true],
  [toId(AT + 1, 9, 2), false],
  [V4, true],
  ["nobody's", true],
  [toId(AT, 10, 0xabc).toUpperCase(), true],
  [LATE, true],
];

test("ids that make no key, or that of another, are found all the same", async () => {
  const path = join(folder, "strange.db");
  const first = STRANGE[0]?.[0];
  await makeOldStore(path, (db) => {
    const row = db.prepare(`insert into execution (id, status, flow, is_productive, is_async,
      project_id, parent_id, created_at) values (?, ?, 'f', 1, 1, 'p', ?, ?)`);
    const payload = db.prepare(
      "insert into execution_payload (execution_id, input_value) values (?, ?)",
    );
    const line = db.prepare(
      "insert into execution_log (execution_id, at, level, text) values (?, 1, 'info', ?)",
    );
    for (const [n, [id]] of STRANGE.entries()) {
      row.run(id, n % 2 === 0 ? "PENDING" : "RUNNING", parentOf(id), id === LATE ? 2 ** 47 : AT);
      payload.run(id, JSON.stringify(id));
      line.run(id, `old line of ${id}`);
    }
  });
  const before = readOld(path);
  const store = await open(path);
  const moved = query<{ id: string }>(path, "select id from execution_moved").map(({ id }) => id);
  const expected = STRANGE.filter(([, isMoved]) => isMoved).map(([id]) => id);
  assert.deepEqual(moved.toSorted(), expected.toSorted());
  assert.deepEqual(readNew(path), before);
  await using _ = store;
  for (const [id] of STRANGE) {
    assert.equal((await findExecution(store, id))?.id, id);
    assert.equal((await findPayload(store, id))?.input_value, JSON.stringify(id));
    await store.commit([
      insertLogLine({ executionId: id, at: 2, level: "info", text: `new line of ${id}` }),
    ]);
    const lines = await listLog(store, id, { after: 0, limit: 9 });
    assert.deepEqual(
      lines.map(({ text }) => text),
      [`old line of ${id}`, `new line of ${id}`],
    );
    assert.equal(
      await countAncestors(store, id),
      id === first ? 0 : parentOf(id) === first ? 1 : 2,
    );
  }
  assert.equal(await findExecution(store, toId(AT, 99, 5)), undefined, "a foreign id");
  await resumeAll(store);
  for (const [id] of STRANGE) {
    assert.equal((await findExecution(store, id))?.status, "ENDED_SUCCESS");
    assert.equal((await findPayload(store, id))?.output_value, `"end of ${id}"`);
  }
  await listAll(store);
  const ids = STRANGE.map(([id]) => id);
  await store.commit(deleteExecutions(store, ids));
  for (const table of ["", "_input", "_output", "_log", "_moved"])
    assert.deepEqual(query(path, `select * from execution${table}`), [], table);
});

/** The first has none, the second the first, and the others one of these two. */
function parentOf(id: string): string | null {
  const n = STRANGE.findIndex(([other]) => other === id);
  if (n === 0) return null;
  return STRANGE[n === 1 ? 0 : n % 2]?.[0] ?? null;
}

/** As a start of the service does with what had not ended. */
async function resumeAll(store: Store): Promise<void> {
  const found: string[] = [];
  for (let after = ""; ;) {
    const rows = await listUnended(store, "PENDING", { after, limit: 2 });
    for (const { id } of rows) await store.commit([runExecution({ id, started_at: 3 })]);
    found.push(...rows.map(({ id }) => id));
    if (rows.length < 2) break;
    after = rows.at(-1)!.id;
  }
  assert.equal(new Set(found).size, 7);
  const running = await listUnended(store, "RUNNING", { after: "", limit: 50 });
  assert.equal(running.length, STRANGE.length);
  for (const { id } of running) {
    const end = {
      id,
      status: "ENDED_SUCCESS" as const,
      status_message: null,
      ended_at: 4,
      response: null,
    };
    await store.commit(endExecution({ ...end, output_value: `"end of ${id}"` }));
    await assert.rejects(store.commit(endExecution({ ...end, output_value: "2" })), {
      code: "already_ended",
    });
  }
}

/** Pages of two: each is there once. */
async function listAll(store: Store): Promise<void> {
  const found: string[] = [];
  for (let after: string | undefined; ;) {
    const rows = await listExecutions(store, { after, limit: 2 });
    found.push(...rows.map(({ id }) => id));
    if (rows.length < 2) break;
    after = rows.at(-1)!.id;
  }
  assert.deepEqual(found.toSorted(), STRANGE.map(([id]) => id).toSorted());
  const [first = "", second = ""] = STRANGE.map(([id]) => id);
  const of = async (parent_id: string) =>
    (await listExecutions(store, { parent_id, limit: 50 })).length;
  assert.deepEqual([await of(first), await of(second)], [7, 5]);
}

test("a start that is killed in the midst leaves the old store whole; the next begins again", async () => {
  const path = join(folder, "killed.db");
  await makeOldStore(path, (db) => fillOldStore(db, 20_000, 1600));
  const before = readOld(path);
  let written = 0;
  // While it is copied, and while rows are moved.
  const places = [
    [".before-0003-execution-key.partial", 2 ** 23],
    ["-wal", 2 ** 20],
    ["-wal", 2 ** 24],
  ] as const;
  for (const [beside, bytes] of places) {
    const script = join(import.meta.dirname, "killed-migration.ts");
    const child = spawn(process.execPath, ["--import", "tsx", script, path, beside, String(bytes)]);
    child.stdout.on("data", (bytes) => (written = Number(bytes)));
    const [, signal] = (await once(child, "close")) as [unknown, string];
    assert.equal(signal, "SIGKILL");
    const file = { path, durability: "full", addon: null } as const;
    assert.deepEqual(inspectDatabase(file), ["0001-first", "0002-key-use"]);
    assert.deepEqual(readOld(path), before);
  }
  const beside = () => readdirSync(folder).filter((name) => name.startsWith("killed.db.before"));
  assert.deepEqual(beside(), ["killed.db.before-0003-execution-key.partial"]);
  assert.ok(written > 2 ** 20, "some of the new rows were in the file already");
  await (await open(path))[Symbol.asyncDispose]();
  assert.deepEqual(readNew(path), before);
  const [copy, ...more] = beside();
  assert.deepEqual(more, []);
  assert.deepEqual(readOld(join(folder, copy!)), before);
});

test("a start that is stopped in the midst ends soon, and leaves the old store as it was", async () => {
  const path = join(folder, "stopped.db");
  await makeOldStore(path, (db) => fillOldStore(db, 20_000, 1600));
  const before = readOld(path);
  for (const when of ["it is copied", "rows are moved"]) {
    const stop = new AbortController();
    let hasBegun = false;
    const tell = (): void => {
      if (hasBegun) return;
      hasBegun = true;
      if (when === "it is copied") stop.abort();
      else stopWithRows(stop);
    };
    const { signal: stopping } = stop;
    const file = { path, durability: "full", addon: null } as const;
    const start = openSqliteStore({ ...file, thread, tell, stopping });
    const ended = start.then((store) => store[Symbol.asyncDispose]());
    await assert.rejects(ended, { name: "AbortError" }, when);
    assert.deepEqual(inspectDatabase(file), ["0001-first", "0002-key-use"]);
    assert.deepEqual(readOld(path), before);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("stopped.db.before")),
      [],
    );
  }
  await (await open(path))[Symbol.asyncDispose]();
  assert.deepEqual(readNew(path), before);

  /** Each page of them is a turn; the copy is there with its whole name only afterwards. */
  function stopWithRows(stop: AbortController): void {
    const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (wal > 2 ** 20) stop.abort();
    else setImmediate(() => stopWithRows(stop));
  }
});

test("a backup of an older release is restored, and brought up to date at the next start", async () => {
  const backup = join(folder, "backup.db");
  await makeOldStore(backup, (db) => {
    fillOldStore(db, 100, 10);
    db.exec("update execution set status = 'RUNNING', ended_at = null where rowid % 2 = 0");
  });
  const before = readOld(backup);
  const path = join(folder, "restored.db");
  await restoreFrom({ path, durability: "full", addon: null }, backup);
  await using store = await open(path);
  assert.deepEqual(await listUnended(store, "RUNNING", { after: "", limit: 9 }), []);
  const { inputs, outputs, log } = readNew(path);
  assert.deepEqual({ inputs, outputs, log }, pick(before));
  const error = await listExecutions(store, { text: "when the backup was made", limit: 100 });
  assert.equal(error.length, 50);
});

function pick({ inputs, outputs, log }: Records) {
  return { inputs, outputs, log };
}

test("a command changes no table of a service that runs an earlier version", async () => {
  const data = join(folder, "served");
  const path = join(data, "flowhook.db");
  mkdirSync(data);
  await makeOldStore(path, (db) => fillOldStore(db, 5, 0));
  const before = readOld(path);
  const lock = takeLock({ dataDir: data, database: path }, null);
  await assert.rejects(openBeside(data), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /is that of an earlier version, whose service runs/);
    return true;
  });
  assert.deepEqual(readOld(path), before);
  lock.release();
  await (await openBeside(data))[Symbol.asyncDispose]();
  const later = takeLock({ dataDir: data, database: path }, null);
  await (await openBeside(data))[Symbol.asyncDispose]();
  later.release();
});

/** As a command opens the store of a data folder. */
function openBeside(data: string, tell = (_line: string) => {}): Promise<Store> {
  const { config } = loadConfig({ env: { FLOWHOOK_DATA_DIR: data }, cwd: data, terminal: false });
  return openStore(config, openRuntime(data), { isBeside: true, tell });
}

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

test("the copy of an older store belongs to the service, also where root made it", async () => {
  const data = join(folder, "owned");
  const path = join(data, "flowhook.db");
  mkdirSync(data);
  await makeOldStore(path, (db) => fillOldStore(db, 5, 0));
  if (isRoot) for (const name of [data, path]) chownSync(name, NOBODY, NOBODY);
  await (await openBeside(data))[Symbol.asyncDispose]();
  const [copy = ""] = readdirSync(data).filter((name) => name.includes(".before-"));
  const { uid, gid, mode } = statSync(join(data, copy));
  assert.equal(mode & 0o777, 0o600);
  if (isRoot) assert.deepEqual([uid, gid], [NOBODY, NOBODY]);
});

test("of all who find an older store one brings it up to date, and keeps the others out", async () => {
  const data = join(folder, "at-once");
  const path = join(data, "flowhook.db");
  mkdirSync(data);
  await makeOldStore(path, (db) => fillOldStore(db, 5, 0));
  const seen: unknown[] = [];
  // As a service that starts in that moment.
  const start = (): void => {
    try {
      takeLock({ dataDir: data, database: path }, null).release();
      seen.push("started");
    } catch (error) {
      seen.push(error instanceof TakenError);
    }
  };
  const both = await Promise.allSettled([openBeside(data, start), openBeside(data)]);
  assert.deepEqual(new Set(seen), new Set([true]));
  for (const one of both)
    if (one.status === "fulfilled") await one.value[Symbol.asyncDispose]();
    else assert.match(String(one.reason), /is that of an earlier version, whose service runs/);
  const copies = readdirSync(data).filter((name) => name.includes(".before-"));
  assert.equal(copies.length, 1);
  const copy = { path: join(data, copies[0]!), durability: "full", addon: null } as const;
  assert.deepEqual(inspectDatabase(copy), ["0001-first", "0002-key-use"]);
  takeLock({ dataDir: data, database: path }, null).release();
});

test("permissions that nothing asks for are taken from the roles that had them", async () => {
  const path = join(folder, "roles.db");
  const all = [
    { permission: "bundle.write", project_id: null },
    { permission: "webhook.*", project_id: "p" },
    { permission: "workspace.write", project_id: null },
  ];
  await makeOldStore(path, (db) => {
    const role = db.prepare(
      "insert into role (id, name, propagate, permissions, created_at, modified_at) values (?, ?, 0, ?, 1, 1)",
    );
    role.run("a", "a", JSON.stringify(all));
    role.run("b", "b", '[{"permission":"*"}]');
  });
  await (await open(path))[Symbol.asyncDispose]();
  const roles = query<{ permissions: string }>(path, "select permissions from role order by id");
  assert.deepEqual(
    roles.map(({ permissions }) => JSON.parse(permissions)),
    [[all[1]], [{ permission: "*" }]],
  );
});

const skip = isMountable() ? false : "a small disk cannot be mounted here";

test(
  "a disk without room for it is refused at once, and nothing is changed",
  { skip },
  async () => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    assert.ok(mountDisk(disk, "size=8m"));
    try {
      const path = join(disk, "full.db");
      await makeOldStore(path, (db) => fillOldStore(db, 5000, 300));
      const before = readOld(path);
      await assert.rejects(open(path), (error) => {
        assert.ok(error instanceof StartError);
        assert.match(
          error.message,
          /it needs \d+ MB of free disk space in ".*", and there are \d+ MB/,
        );
        return true;
      });
      assert.deepEqual(readOld(path), before);
      assert.deepEqual(
        readdirSync(disk).filter((name) => /before|partial/.test(name)),
        [],
      );
    } finally {
      unmountDisk(disk);
    }
  },
);
test("a first start on a disk that is full says so", { skip }, async () => {
  const disk = join(folder, "small");
  mkdirSync(disk);
  // The tables fit into memory, and not onto the disk when they are committed.
  assert.ok(mountDisk(disk, "size=64k"));
  try {
    await assert.rejects(open(join(disk, "new.db")), (error) => {
      assert.ok(error instanceof StartError, String(error));
      assert.match(
        error.message,
        /^Cannot open the database ".+new\.db": database or disk is full\. Look at its disk$/,
      );
      return true;
    });
  } finally {
    unmountDisk(disk);
  }
});

test("webhooks of an older store answer as they did", async () => {
  const path = join(folder, "webhooks.db");
  await makeOldStore(path, (db) =>
    db.exec(`insert into webhook (id, name, description, flow, is_enabled, is_productive,
      require_login, sync_mode, execution_location, created_by, created_at, modified_by, modified_at)
      values ('w', 'old', 'd', 'echo', 1, 1, 0, 'hold', 'flow', 'u', 1, 'u', 2)`),
  );
  await using store = await open(path);
  const row = await findWebhook(store, "old");
  assert.ok(row !== undefined);
  assert.deepEqual(
    { ...row },
    {
      ...row,
      ...WEBHOOK_DEFAULTS,
      id: "w",
      description: "d",
      is_enabled: 1,
      sync_mode: "hold",
      execution_location: "flow",
      modified_at: 2,
    },
  );
  assert.deepEqual(
    Object.keys(WEBHOOK_DEFAULTS).filter((name) => !(name in row)),
    [],
  );
});

test("entries of an older audit stay, and say nothing of what changed", async () => {
  const path = join(folder, "audit.db");
  await makeOldStore(
    path,
    (db) => {
      const insert = db.prepare(`insert into audit (at, address, action, target, result, members)
        values (?, '::1', 'webhook.change', 'w', '200', '["flow"]')`);
      for (let at = 1; at <= 3000; at += 1) insert.run(at);
    },
    [...MIGRATIONS.keys()].filter((name) => name < "0011"),
  );
  await using store = await open(path);
  const entry = { at: 3, user_id: null, user_name: null, address: "::1", action: "role.change" };
  const changes = '[{"member":"name","from":"a","to":"b"}]';
  const row = { ...entry, target: "a", result: "200", members: "[]", changes, node: "n" };
  await store.commit([insertAudit(store, row)]);
  const rows = await listAudit(store, { before: null, limit: 5000 });
  assert.equal(rows.length, 3001);
  assert.deepEqual({ ...rows[0] }, { seq: 3001, ...row });
  assert.ok(rows.slice(1).every((old) => old.changes === null && old.members === '["flow"]'));
});

test("webhooks keep their members, and no page of another origin may read their answers", async () => {
  const path = join(folder, "cors.db");
  const before = [...MIGRATIONS.keys()].filter((name) => name < "0007");
  const members = {
    default_mode: "async",
    async_status: 202,
    methods: '["POST"]',
    idempotency: '{"from":"query:id"}',
    signature: '{"scheme":"github"}',
    signature_revision: 3,
  };
  await makeOldStore(
    path,
    (db) => {
      const insert = db.prepare(`insert into webhook (id, name, description, flow, is_enabled,
          is_productive, require_login, execution_location, default_mode, async_status, methods,
          idempotency, signature, signature_revision, created_by, created_at, modified_by, modified_at)
        values (@id, @name, 'd', 'echo', 1, 1, 0, 'flow', @default_mode, @async_status, @methods,
          @idempotency, @signature, @signature_revision, 'u', 1, 'u', 2)`);
      for (let n = 0; n < 500; n += 1) insert.run({ ...members, id: `id-${n}`, name: `old-${n}` });
    },
    before,
  );
  const store = await open(path);
  for (const n of [0, 499]) {
    const row = await findWebhook(store, `old-${n}`);
    assert.ok(row !== undefined);
    assert.deepEqual({ ...row }, { ...row, ...members, cors: null, response_headers: null });
  }
  const cors = '{"origins":["*"]}';
  await store.commit([updateWebhook(store, "id-7", 2, { cors, response_headers: '{"x":"y"}' })]);
  const changed = await findWebhook(store, "old-7");
  assert.deepEqual([changed?.cors, changed?.response_headers], [cors, '{"x":"y"}']);
  await store[Symbol.asyncDispose]();
  assert.deepEqual(
    query(
      path,
      "select count(*) as n from webhook where cors is null and response_headers is null",
    ),
    [{ n: 499 }],
  );
  assert.deepEqual(query(path, "pragma integrity_check"), [{ integrity_check: "ok" }]);
});

test("webhooks of the release before check their input in the run, as they did", async () => {
  const path = join(folder, "input-check.db");
  const applied = [...MIGRATIONS.keys()].filter((name) => name < "0009");
  await makeOldStore(
    path,
    (db) =>
      db.exec(`insert into webhook (id, name, description, flow, is_enabled, is_productive,
        require_login, execution_location, methods, limits, created_by, created_at, modified_by,
        modified_at) values ('w', 'old', 'd', 'echo', 1, 0, 1, 'flow', '["PUT"]', '{"a":1}', 'u', 1, 'u', 2)`),
    applied,
  );
  const [before] = query<Record<string, unknown>>(path, "select * from webhook");
  assert.equal("input_check" in before!, false);
  await using store = await open(path);
  const row = await findWebhook(store, "old");
  assert.deepEqual({ ...row }, { ...before, input_check: "run" });
});
