import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { backupTo, restoreFrom } from "../../src/server/store/sqlite/backup.ts";
import { inspectDatabase } from "../../src/server/store/sqlite/damage.ts";
import { fillOldStore, makeOldStore } from "./old-store.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-restore-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a restore that is killed at the last moment leaves the database that was there", async () => {
  const file = { path: join(folder, "flowhook.db"), durability: "full", addon: null } as const;
  await makeOldStore(file.path, (db) => fillOldStore(db, 10));
  const backup = join(folder, "backup.db");
  await backupTo(file, backup);
  const script = join(import.meta.dirname, "killed-restore.ts");
  const child = spawn(process.execPath, ["--import", "tsx", script, file.path, backup]);
  const [, signal] = (await once(child, "close")) as [unknown, string];
  assert.equal(signal, "SIGKILL");
  // A start would else make a new one, without a word.
  assert.deepEqual(inspectDatabase(file), ["0001-first", "0002-key-use"]);
  const old = await restoreFrom(file, backup);
  assert.ok(old !== null);
  assert.deepEqual(inspectDatabase({ ...file, path: old }), ["0001-first", "0002-key-use"]);
  assert.deepEqual(inspectDatabase(file), ["0001-first", "0002-key-use"]);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith(".restoring")),
    [],
  );
});

test("of two backups to one path the second replaces nothing", async () => {
  const file = { path: join(folder, "twice.db"), durability: "full", addon: null } as const;
  await makeOldStore(file.path, (db) => fillOldStore(db, 10));
  const backup = join(folder, "twice-backup.db");
  const told = await Promise.allSettled([backupTo(file, backup), backupTo(file, backup)]);
  const refused = told.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
  assert.deepEqual(refused, [`Error: The file "${backup}" is there already`]);
  assert.deepEqual(inspectDatabase({ ...file, path: backup }), ["0001-first", "0002-key-use"]);
  const names = readdirSync(folder).filter((name) => name.startsWith("twice-backup.db"));
  assert.deepEqual(names, ["twice-backup.db"]);
});

/** What a process leaves that is killed while it commits: the pages of before, to be put back. */
function leaveJournal(path: string, journal: string): void {
  const db = new Database(path);
  db.pragma("cache_size = 1");
  db.exec("begin; update execution set flow = flow || '-changed'; delete from execution_log");
  copyFileSync(`${path}-journal`, journal);
  db.exec("rollback");
  db.close();
}

test("a journal that a killed restore has left changes nothing of the next one", async () => {
  const file = { path: join(folder, "hot.db"), durability: "full", addon: null } as const;
  await makeOldStore(file.path, (db) => fillOldStore(db, 500));
  const [one, other] = [join(folder, "hot-one.db"), join(folder, "hot-other.db")];
  await backupTo(file, one);
  copyFileSync(one, other);
  leaveJournal(one, `${file.path}.restoring-journal`);
  const db = new Database(other);
  db.exec("update execution set flow = 'other'");
  db.close();
  await restoreFrom(file, other);
  const restored = new Database(file.path, { readonly: true });
  const flows = restored.prepare("select distinct flow from execution").pluck().all();
  restored.close();
  assert.deepEqual(flows, ["other"]);
});
