import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { newExecutionId } from "../../src/shared/id.ts";
import { ledgerPaths } from "../../src/shared/ledger-paths.ts";
import { findExecution } from "../../src/server/store/executions.ts";
import { takeLock } from "../../src/server/store/sqlite/lock.ts";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { StoreError } from "../../src/server/store/store-error.ts";
import { INPUT, newRow } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-lost-lock-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
after(() => rmSync(folder, { recursive: true, force: true }));

/** Records an execution. @returns why it was not; null: it is on disk */
function record({ ledger }: Store, id: string): Promise<StoreError | null> {
  const { input_value, ...input } = INPUT;
  const row = newRow(id, { status: "PENDING", started_at: null, ended_at: null });
  return new Promise((resolve) => {
    const events = { synced: () => resolve(null), failed: resolve };
    ledger.append({ kind: "begin", row, input, month: null }, input_value, events);
  });
}

interface Held {
  readonly store: Store;
  readonly path: string;
  readonly locks: readonly string[];
  /** Resolves with why the files are not to be used. */
  readonly lost: Promise<string>;
  release(): void;
}

async function openHeld(name: string): Promise<Held> {
  const dataDir = join(folder, name);
  const path = join(dataDir, "flowhook.db");
  const lock = takeLock({ dataDir, database: path }, null);
  const told = new EventEmitter();
  const lost = once(told, "lost").then(String);
  const onLost = (error: Error | null): void => void told.emit("lost", error?.message);
  const store = await openSqliteStore({ ...optionsOf(path), locks: lock.paths, onLost });
  return { store, path, locks: lock.paths, lost, release: () => lock.release() };
}

const optionsOf = (path: string) => ({ path, durability: "full", addon: null, thread }) as const;
const readLedger = (path: string) => ledgerPaths(path).map((file) => readFileSync(file));

for (const at of [0, 1])
  test(`without lock ${at} a service writes nothing over what another one has recorded`, async () => {
    const { store, path, locks, lost, release } = await openHeld(String(at));
    const [first, other] = [newExecutionId(), newExecutionId()];
    assert.equal(await record(store, first), null);
    rmSync(locks[at] as string);
    assert.match(await lost, /lock(\.db)?" was moved, deleted or replaced/);
    assert.equal(store.ledger.isWritable, false);
    {
      await using second = await openSqliteStore(optionsOf(path));
      assert.equal(await record(second, other), null);
      assert.ok(await second.settled());
      const before = readLedger(path);
      assert.ok((await record(store, newExecutionId())) instanceof StoreError);
      await store[Symbol.asyncDispose]();
      release();
      assert.deepEqual(readLedger(path), before);
      for (const id of [first, other])
        assert.equal((await findExecution(second, id))?.status, "PENDING");
    }
  });

test("nor where the WAL is gone with it: the ledger is still there for another one", async () => {
  const { store, path, locks, lost, release } = await openHeld("wal");
  try {
    assert.equal(await record(store, newExecutionId()), null);
    assert.ok(await store.settled());
    const before = readLedger(path);
    for (const file of [...locks, `${path}-wal`, `${path}-shm`]) rmSync(file);
    assert.match(await lost, /lock(\.db)?" was moved, deleted or replaced/);
    assert.ok((await record(store, newExecutionId())) instanceof StoreError);
    assert.deepEqual(readLedger(path), before);
  } finally {
    await store[Symbol.asyncDispose]();
    release();
  }
});

test("what has begun in a folder that was moved as a whole is written on", async () => {
  const { store, path, lost, release } = await openHeld("moved");
  try {
    renameSync(dirname(path), `${dirname(path)}.away`);
    assert.match(await lost, /flowhook\.db" was moved, deleted or replaced/);
    assert.equal(store.ledger.isWritable, false);
    assert.equal(await record(store, newExecutionId()), null);
  } finally {
    await store[Symbol.asyncDispose]();
    release();
  }
});
