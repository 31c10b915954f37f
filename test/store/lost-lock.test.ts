import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

for (const at of [0, 1])
  test(`without lock ${at} a service writes nothing over what another one has recorded`, async () => {
    const dataDir = join(folder, String(at));
    const path = join(dataDir, "flowhook.db");
    const options = { path, durability: "full", addon: null, thread } as const;
    const lock = takeLock({ dataDir, database: path }, null);
    const told = new EventEmitter();
    const onLost = (error: Error | null): void => void told.emit("lost", error?.message);
    const store = await openSqliteStore({ ...options, locks: lock.paths, onLost });
    const [first, other] = [newExecutionId(), newExecutionId()];
    assert.equal(await record(store, first), null);
    const lost = once(told, "lost");
    rmSync(lock.paths[at] as string);
    assert.match(String(await lost), /lock(\.db)?" was moved, deleted or replaced/);
    assert.equal(store.ledger.isWritable, false);
    {
      await using second = await openSqliteStore(options);
      assert.equal(await record(second, other), null);
      assert.ok(await second.settled());
      const before = ledgerPaths(path).map((file) => readFileSync(file));
      assert.ok((await record(store, newExecutionId())) instanceof StoreError);
      await store[Symbol.asyncDispose]();
      lock.release();
      assert.deepEqual(
        ledgerPaths(path).map((file) => readFileSync(file)),
        before,
      );
      for (const id of [first, other])
        assert.equal((await findExecution(second, id))?.status, "PENDING");
    }
  });
