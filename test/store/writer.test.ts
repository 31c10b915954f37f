import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";
import { startWriter } from "../../src/server/store/sqlite/writer.ts";
import type { Store } from "../../src/server/store/store.ts";
import { StoreError } from "../../src/server/store/store-error.ts";
import { connectionsByMonth, countConnection } from "../../src/server/store/connection-usage.ts";
import { toStatement } from "../../src/server/store/prepared.ts";
import type { Unit } from "../../src/server/store/statement.ts";
import { WEBHOOK_DEFAULTS } from "../../src/server/store/webhook-columns.ts";
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  touchKey,
  updateWebhook,
  type WebhookRow,
} from "../../src/server/store/webhooks.ts";
import { findSetting, insertSetting } from "../../src/server/store/workspace.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-store-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
const open = (name: string): Promise<Store> =>
  openSqliteStore({ path: join(folder, name), durability: "full", addon: null, thread });
after(() => rmSync(folder, { recursive: true, force: true }));

const setting = (store: Store, name: string): Unit => [
  insertSetting(store, { name, value: "1", created_at: 1, modified_at: 1 }),
];

test("a sync that has failed is told at once: the next one would succeed", async () => {
  const file = join(folder, "unsynced.mjs");
  writeFileSync(
    file,
    `import { parentPort } from "node:worker_threads";
    const error = (code) => ({ kind: "unavailable", code, message: "disk I/O error" });
    const codes = ["SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"];
    parentPort.on("message", (request) => {
      if ("sync" in request) parentPort.postMessage({ error: error(codes.shift()) });
      if ("close" in request) parentPort.postMessage({ closed: true });
    });`,
  );
  await using writer = startWriter(file);
  const told: string[] = [];
  writer.onUnsynced = ({ code }) => told.push(code);
  await assert.rejects(writer.sync(), { code: "SQLITE_IOERR_WRITE" });
  assert.deepEqual(told, []);
  await assert.rejects(writer.sync(), { code: "SQLITE_IOERR_FSYNC" });
  assert.deepEqual(told, ["SQLITE_IOERR_FSYNC"]);
});

test("a sync that has failed ends the service, and of a command beside it its act alone", async () => {
  const failed = new StoreError({
    kind: "unavailable",
    code: "SQLITE_IOERR_FSYNC",
    message: "EIO",
  });
  for (const isBeside of [false, true]) {
    const told: [Error, boolean][] = [];
    const writer = startWriter(thread);
    const path = join(folder, "unsynced.db");
    const file = { path, durability: "full", addon: null, thread } as const;
    const onDamage = (error: Error, isLost: boolean) => void told.push([error, isLost]);
    await using _store = await openSqliteStore({ ...file, writer, isBeside, onDamage });
    writer.onUnsynced(failed);
    assert.deepEqual(told, isBeside ? [] : [[failed, true]]);
  }
});

test("units that arrive together share commits, and each is there afterwards", async () => {
  await using store = await open("a.db");
  const names = Array.from({ length: 500 }, (_, number) => `s${number}`);
  await Promise.all(names.map((name) => store.commit(setting(store, name))));
  const { commits, units } = store.counts();
  assert.equal(units, 500);
  assert.ok(commits < 50, `${commits} commits`);
  assert.ok(await findSetting(store, "s499"));
});

test("a thread that was started and opens nothing closes", async () => {
  const writer = startWriter(thread);
  await writer[Symbol.asyncDispose]();
  await writer[Symbol.asyncDispose]();
});

test("a unit that fails costs no other unit of its commit", async () => {
  await using store = await open("b.db");
  const results = await Promise.allSettled([
    store.commit(setting(store, "x")),
    store.commit([...setting(store, "y"), ...setting(store, "x")]),
    store.commit(setting(store, "z")),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.equal(await findSetting(store, "y"), undefined);
  assert.ok(await findSetting(store, "z"));
});

test("a statement that had to change a row fails its unit with its code", async () => {
  await using store = await open("c.db");
  const [insert] = setting(store, "x");
  assert.ok(insert);
  const none = updateNothing(store, "not_there");
  await assert.rejects(store.commit([insert, none]), { code: "not_there" });
  assert.equal(await findSetting(store, "x"), undefined);
});

test("of a commit with one unit that fails, each other tells its own rows", async () => {
  await using store = await open("d.db");
  const none = updateNothing(store);
  const two = [...setting(store, "a"), ...setting(store, "b"), none];
  const results = await Promise.allSettled([
    store.commit(two),
    store.commit([...setting(store, "c"), ...setting(store, "a"), ...setting(store, "d")]),
    store.commit([none]),
    store.commit(setting(store, "e")),
  ]);
  const told = results.map((one) => (one.status === "fulfilled" ? one.value : "failed"));
  assert.deepEqual(told, [[1, 1, 0], "failed", [0], [1]]);
});

test("a kept row is read again once a commit has written to its table", async () => {
  await using store = await open("e.db");
  const row = toWebhook("orders");
  assert.equal(await findWebhook(store, "orders"), undefined);
  await store.commit([insertWebhook(store, row)]);
  assert.equal((await findWebhook(store, "orders"))?.is_enabled, 0);
  await store.commit([updateWebhook(store, row.id, 1, { is_enabled: 1 })]);
  assert.equal((await findWebhook(store, "orders"))?.is_enabled, 1);
  await store.commit([touchKey(store, row.id, { key_used_at: 7 })]);
  assert.equal((await findWebhook(store, "orders"))?.key_used_at, 7);
  await store.commit([deleteWebhook(store, row)]);
  assert.equal(await findWebhook(store, "orders"), undefined);
});

test("a prepared statement crosses once, however often and beside what it is used", async () => {
  await using store = await open("f.db");
  for (let round = 0; round < 3; round += 1) {
    const month = { month: `2026-0${round + 1}` };
    const results = await Promise.allSettled([
      store.commit([countConnection(month), ...setting(store, `a${round}`)]),
      store.commit([...setting(store, `b${round}`), countConnection(month)]),
      store.commit([
        countConnection(month),
        ...setting(store, `c${round}`),
        updateNothing(store, "nothing_found"),
      ]),
    ]);
    const told = results.map((one) => (one.status === "fulfilled" ? one.value : one.reason.code));
    assert.deepEqual(told, [[1, 1], [1, 1], "nothing_found"]);
    assert.equal(await findSetting(store, `c${round}`), undefined);
    assert.equal((await connectionsByMonth(store)).get(month.month), 2);
  }
});

function updateNothing(store: Store, expect: string | null = null) {
  const query = store.rows.updateTable("setting").set({ value: "2" }).where("name", "=", "none");
  return toStatement(query, { expect });
}

function toWebhook(name: string): WebhookRow {
  return {
    id: `id of ${name}`,
    name,
    description: "",
    flow: name,
    role_id: null,
    project_id: null,
    bundle_id: null,
    is_enabled: 0,
    is_productive: 1,
    require_login: 0,
    key_hash: null,
    previous_key_hash: null,
    previous_key_until: null,
    key_used_at: null,
    previous_key_used_at: null,
    ...WEBHOOK_DEFAULTS,
    execution_location: "flow",
    created_by: "nobody",
    created_at: 1,
    modified_by: "nobody",
    modified_at: 1,
  };
}
