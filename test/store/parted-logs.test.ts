import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { newExecutionId } from "../../src/shared/id.ts";
import { backupTo, restoreFrom } from "../../src/server/store/sqlite/backup.ts";
import { findExecution } from "../../src/server/store/executions.ts";
import { openSqliteStore, type SqliteOptions } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { INPUT, newRow } from "./rows.ts";

/** A database that leaves its WAL and its ledger, and another one that finds them beside it. */

const folder = mkdtempSync(join(tmpdir(), "flowhook-parted-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
after(() => rmSync(folder, { recursive: true, force: true }));

/** The path of a database that is alone in its folder. */
function newPath(name: string): string {
  mkdirSync(join(folder, name));
  return join(folder, name, "flowhook.db");
}

const toFile = (path: string) => ({ path, durability: "full", addon: null }) as const;
const open = (path: string, more: Partial<SqliteOptions> = {}): Promise<Store> =>
  openSqliteStore({ ...toFile(path), thread, ...more });

/** Records executions, and has them in the tables. @returns their ids */
async function record({ ledger, settled }: Store, count: number): Promise<string[]> {
  const { input_value, ...input } = INPUT;
  const ids = Array.from({ length: count }, () => newExecutionId());
  for (const id of ids) {
    const row = newRow(id, { status: "PENDING", started_at: null, ended_at: null });
    const failed = (error: Error): void => assert.ifError(error);
    ledger.append({ kind: "begin", row, input, month: null }, input_value, { failed });
  }
  assert.ok(await settled());
  return ids;
}

async function countFound(store: Store, ids: readonly string[]): Promise<number> {
  const found = await Promise.all(ids.map((id) => findExecution(store, id)));
  return found.filter((one) => one !== undefined).length;
}

/** Of a database that was moved away, put where its WAL and its ledger were kept. */
async function countAtName(path: string, kept: string | undefined, ids: readonly string[]) {
  assert.ok(kept !== undefined, "the place is told");
  renameSync(`${path}.away`, kept);
  await using old = await open(kept);
  return countFound(old, ids);
}

function assertWhole(path: string): void {
  const db = new Database(path, { readonly: true });
  assert.equal(db.pragma("integrity_check(1)", { simple: true }), "ok");
  db.close();
}

/** What has the ending of a WAL, or of a ledger, under the name that it was kept as. */
const listKept = (path: string): string[] =>
  readdirSync(join(path, "..")).filter((name) => /\.before-\d+-(wal|ledger-\d)$/.test(name));

/** A store whose database another one has replaced, with what each of both has. */
async function replaceUnder(path: string) {
  const told = new EventEmitter();
  const store = await open(path, { onLost: (error) => told.emit("lost", error) });
  const before = await record(store, 20);
  await backupTo(toFile(path), `${path}.backup`);
  const later = await record(store, 200);
  const lost = once(told, "lost");
  renameSync(path, `${path}.away`);
  renameSync(`${path}.backup`, path);
  return { store, before, later, lost };
}

test("a database that replaced one under its service is used as it is once that has stopped", async () => {
  const path = newPath("stopped");
  const { store, before, later } = await replaceUnder(path);
  await store[Symbol.asyncDispose]();
  await assert.rejects(backupTo(toFile(path), `${path}.copy`), {
    message: /its WAL and its ledger are of the file that was there\. Move that file back, or stop/,
  });
  const warned: string[] = [];
  {
    await using next = await open(path, { warn: (line) => warned.push(line) });
    assert.deepEqual([await countFound(next, before), await countFound(next, later)], [20, 0]);
    await record(next, 5);
  }
  assertWhole(path);
  assert.equal(warned.length, 1);
  const [, kept] = /put it at "(.+?)"/.exec(warned[0] ?? "") ?? [];
  assert.equal(await countAtName(path, kept, [...before, ...later]), 220);
});

test("so is one that replaced it under a service that was killed", async () => {
  const path = newPath("killed");
  const { store, before, later, lost } = await replaceUnder(path);
  await lost;
  // What a kill leaves: the same files, which nobody closes.
  const left = newPath("killed-left");
  for (const name of readdirSync(join(path, "..")).filter((name) => !name.endsWith(".away")))
    renameSync(join(path, "..", name), join(left, "..", name));
  await using _ = store;
  {
    await using next = await open(left);
    assert.deepEqual([await countFound(next, before), await countFound(next, later)], [20, 0]);
  }
  assertWhole(left);
  assert.ok(listKept(left).some((name) => name.endsWith("-wal")));
});

test("a restore lays nothing of the one that was there over the one in its place", async () => {
  const path = newPath("restored");
  const { store, before, later } = await replaceUnder(path);
  await store[Symbol.asyncDispose]();
  copyFileSync(path, `${path}.good`);
  const told: string[] = [];
  const replaced = await restoreFrom(toFile(path), `${path}.good`, (line) => told.push(line));
  assert.match(told.join("\n"), /^What lay beside ".*" is of .* kept as ".*\.before-\d+-wal"/);
  for (const one of [path, replaced as string]) {
    assertWhole(one);
    await using found = await open(one);
    assert.deepEqual([await countFound(found, before), await countFound(found, later)], [20, 0]);
  }
});

test("a restore where no database is says where what lay there is kept", async () => {
  const path = newPath("none");
  const store = await open(path);
  const ids = await record(store, 50);
  await backupTo(toFile(path), `${path}.good`);
  renameSync(path, `${path}.away`);
  await store[Symbol.asyncDispose]();
  rmSync(`${path}-parted`);
  const told: string[] = [];
  const replaced = await restoreFrom(toFile(path), `${path}.good`, (line) => told.push(line));
  assert.equal(replaced, null);
  const kept = /with DATABASE_URL: sqlite:(.+) it is whole$/.exec(told.join("\n"))?.[1];
  assert.equal(await countAtName(path, kept, ids), 50);
});

test("one that is moved back after its service has stopped has all that it had", async () => {
  const path = newPath("back");
  const store = await open(path);
  const ids = await record(store, 50);
  renameSync(path, `${path}.away`);
  await store[Symbol.asyncDispose]();
  renameSync(`${path}.away`, path);
  {
    await using again = await open(path, { warn: assert.fail });
    assert.equal(await countFound(again, ids), 50);
  }
  assert.deepEqual(listKept(path), []);
  assert.deepEqual(
    readdirSync(join(path, "..")).filter((name) => name.endsWith("-parted")),
    [],
  );
});

test("a start without it keeps what lies there, and says where", async () => {
  const path = newPath("without");
  const store = await open(path);
  const ids = await record(store, 50);
  renameSync(path, `${path}.away`);
  await store[Symbol.asyncDispose]();
  const warned: string[] = [];
  {
    await using empty = await open(path, { warn: (line) => warned.push(line) });
    assert.equal(await countFound(empty, ids), 0);
  }
  const kept = /kept as "(.+?)-wal"/.exec(warned.join("\n"))?.[1];
  assert.equal(await countAtName(path, kept, ids), 50);
});

test("SQLite deletes no WAL beside a database that was emptied", async () => {
  const path = newPath("emptied");
  const store = await open(path);
  const ids = await record(store, 50);
  renameSync(path, `${path}.away`);
  await store[Symbol.asyncDispose]();
  writeFileSync(path, "");
  const warned: string[] = [];
  await using empty = await open(path, { warn: (line) => warned.push(line) });
  assert.equal(await countFound(empty, ids), 0);
  assert.match(warned.join("\n"), /flowhook\.db\.before-\d+-wal"/);
});
