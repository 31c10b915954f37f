import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { newExecutionId } from "../../src/shared/id.ts";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import type { ExecutionRow } from "../../src/server/store/execution-row.ts";
import { endExecution, insertExecution } from "../../src/server/store/executions.ts";
import { WEBHOOK_DEFAULTS } from "../../src/server/store/webhook-columns.ts";
import { findWebhook, insertWebhook } from "../../src/server/store/webhooks.ts";

/**
 * What one call costs the store alone: bytes of the WAL, and CPU of both sides, by how many calls
 * share a commit. Run by hand: `node --import tsx scripts/bench/store.ts [ROWS]`, with so many
 * ended executions in the store before.
 */

const BATCHES = [1, 8, 32, 500];
const CALLS = 12_000;
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");

const INPUT = JSON.stringify({
  method: "POST",
  path: null,
  headers: { host: "127.0.0.1:8080", "content-type": "application/json", "content-length": "210" },
  query: {},
  json: { event: "order.created", id: 12345, customer: { name: "Ada", email: "ada@example.org" } },
});
const OUTPUT = JSON.stringify({ ok: true, echo: JSON.parse(INPUT) });
const ID = "01990000-0000-4000-8000-000000000001";

function toRow(): ExecutionRow {
  const at = Date.now();
  return {
    id: newExecutionId(),
    status: "RUNNING",
    status_message: null,
    webhook_id: ID,
    webhook: "echo",
    flow: "echo",
    flow_version: "a".repeat(64),
    is_productive: 1,
    is_async: 0,
    project_id: ID,
    role_id: null,
    acts_for: null,
    created_by: null,
    parent_id: null,
    replay_of: null,
    address: null,
    verified: null,
    node: null,
    created_at: at,
    started_at: at,
    ended_at: null,
  };
}

function begin(row: ExecutionRow) {
  const input = { input_value: INPUT, raw_body_at: 90, raw_body: null, target: "/webhook/echo" };
  return insertExecution(row, input);
}

function end({ id }: ExecutionRow) {
  const ending = { status: "ENDED_SUCCESS" as const, status_message: null, output_value: OUTPUT };
  return endExecution({ id, ...ending, response: null, ended_at: Date.now() });
}

/** Begins of one batch and ends of the one before, each in a commit of its own, as calls come. */
async function call(store: Store, count: number, batch: number): Promise<void> {
  let before: ExecutionRow[] = [];
  for (let done = 0; done < count; done += batch) {
    const rows = Array.from({ length: batch }, toRow);
    await Promise.all(rows.map((row) => store.commit(begin(row))));
    await Promise.all(before.map((row) => store.commit(end(row))));
    before = rows;
  }
  await Promise.all(before.map((row) => store.commit(end(row))));
}

/** Microseconds of CPU that each thread has used. */
function cpuOf(): Map<string, number> {
  const tasks = readdirSync("/proc/self/task");
  return new Map(
    tasks.map((task) => {
      const [ns = "0"] = readFileSync(`/proc/self/task/${task}/schedstat`, "utf8").split(" ");
      return [task, Number(ns) / 1000];
    }),
  );
}

async function measure(store: Store, path: string, batch: number): Promise<string> {
  // As long as it reads, the WAL cannot begin anew: its growth is what was written.
  const reader = new Database(path, { readonly: true });
  reader.exec("begin");
  reader.prepare("select count(*) from migration").get();
  const wal = () => statSync(`${path}-wal`).size;
  const [size, cpu] = [wal(), cpuOf()];
  await call(store, CALLS, batch);
  const grown = (wal() - size) / CALLS / 1024;
  const used = [...cpuOf()].map(([task, us]) => [task, us - (cpu.get(task) ?? 0)] as const);
  const main = used.find(([task]) => task === String(process.pid))?.[1] ?? 0;
  const rest = Math.max(
    ...used.filter(([task]) => task !== String(process.pid)).map(([, us]) => us),
  );
  reader.close();
  const us = (all: number): string => (all / CALLS).toFixed(1);
  return `batch ${batch}: WAL ${grown.toFixed(1)} KB, store thread ${us(rest)} us, main ${us(main)} us`;
}

async function measureFind(store: Store): Promise<string> {
  const count = 1_000_000;
  const { user, system } = process.cpuUsage();
  for (let n = 0; n < count; n += 1) await findWebhook(store, "echo");
  const used = process.cpuUsage({ user, system });
  return `find of a webhook: ${((used.user + used.system) / count).toFixed(2)} us`;
}

async function addWebhook(store: Store): Promise<void> {
  const texts = { id: ID, name: "echo", description: "", flow: "echo", role_id: null };
  const flags = { is_enabled: 1, is_productive: 1, require_login: 0 };
  const keys = { key_hash: null, previous_key_hash: null, previous_key_until: null };
  const made = { created_by: ID, created_at: 1, modified_by: ID, modified_at: 1 };
  const place = { project_id: null, bundle_id: null, execution_location: "flow" as const };
  await store.commit([
    insertWebhook(store, { ...texts, ...flags, ...keys, ...made, ...place, ...WEBHOOK_DEFAULTS }),
  ]);
}

const folder = mkdtempSync(join(tmpdir(), "flowhook-store-"));
try {
  const path = join(folder, "store.db");
  const store = await openSqliteStore({ path, durability: "normal", addon: null, thread });
  const rows = Number(process.argv[2] ?? 100_000);
  await call(store, rows, 500);
  await addWebhook(store);
  await store.maintain();
  for (const batch of BATCHES) console.log(await measure(store, path, batch));
  console.log(await measureFind(store));
  await store[Symbol.asyncDispose]();
  console.log(`${(statSync(path).size / (rows + BATCHES.length * CALLS)).toFixed(0)} bytes a row`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
