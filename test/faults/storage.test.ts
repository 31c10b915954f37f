import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import Database from "better-sqlite3";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { NODE, ROOT } from "../blackbox/target.ts";
import { poll } from "../blackbox/scenario.ts";
import { isMountable, mountDisk, unmountDisk } from "./disk.ts";
import { openHouse, type House } from "./house.ts";
import { keyOf } from "../../src/shared/id.ts";
import { ledgerPaths } from "../../src/shared/ledger-paths.ts";
import { busyFactor, figure, INTERRUPTED, quantile, ROWS } from "./sizes.ts";

/** Faults of the disk and of the database file. */

/** Fills what is left of a disk with one file. */
function fillDisk(folder: string): void {
  const file = join(folder, "filler");
  for (let piece = 65_536; piece >= 512;) {
    try {
      writeFileSync(file, Buffer.alloc(piece), { flag: "a" });
    } catch {
      piece /= 2;
    }
  }
}

describe("storage", () => {
  const skip = isMountable() ? false : "a small disk cannot be mounted here";

  test("a full disk answers 503, and is used again once there is room", { skip }, async () => {
    await using stack = new AsyncDisposableStack();
    let disk = "";
    const house = stack.use(
      await openHouse({
        config: { DATA_DIR: "./disk", SYNC_MODE: "hold" },
        flows: ["echo"],
        prepare: async (directory) => {
          disk = join(directory, "disk");
          await mkdir(disk);
          assert.ok(mountDisk(disk, "size=24m"));
        },
      }),
    );
    stack.defer(() => unmountDisk(disk));
    // The house is closed first: its files lie on the disk.
    stack.defer(() => house.stop().then(() => undefined));
    await house.createWebhook("echo", "echo", { is_productive: true });
    assert.equal((await house.call("echo")).status, 200);
    fillDisk(disk);
    const statuses = await overwhelm(house);
    const refused = statuses.filter((status) => status === 503).length;
    figure("disk full: bytes left", statfsSync(disk).bavail * statfsSync(disk).bsize, "bytes");
    figure("disk full: calls answered 503", `${refused} of ${statuses.length}`);
    assert.deepEqual(new Set(statuses), new Set([503]));
    await house.assertAlive();
    assert.equal((await house.api("GET", "/execution")).status, 200, "reading goes on");
    const begun = performance.now();
    await rm(join(disk, "filler"));
    await poll("the service to write again", async () =>
      (await house.call("echo")).status === 200 ? true : null,
    );
    figure("disk full: freed until the next answer", performance.now() - begun, "ms");
    assert.equal(await integrity(join(disk, "flowhook.db")), "ok");
  });

  test(
    "a disk that is full when an execution ends: the ending is written later",
    { skip },
    async () => {
      await using stack = new AsyncDisposableStack();
      let disk = "";
      const house = stack.use(
        await openHouse({
          config: { DATA_DIR: "./disk" },
          flows: ["sleep"],
          prepare: async (directory) => {
            disk = join(directory, "disk");
            await mkdir(disk);
            assert.ok(mountDisk(disk, "size=24m"));
          },
        }),
      );
      stack.defer(() => unmountDisk(disk));
      stack.defer(() => house.stop().then(() => undefined));
      await house.createWebhook("sleep", "sleep", { is_productive: true });
      const ids: string[] = [];
      // More than run at the same time: some wait, and their turn comes while the disk is full.
      for (let n = 0; n < 30; n += 1) ids.push((await house.call("sleep", "?async&ms=400")).text);
      fillDisk(disk);
      await overwhelm(house, "sleep");
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await house.assertAlive();
      await rm(join(disk, "filler"));
      const rows = await poll("all to end", async () => {
        const found = await Promise.all(ids.map((id) => statusOf(house, id)));
        return found.every((status) => status.startsWith("ENDED_")) ? found : null;
      });
      const succeeded = rows.filter((status) => status === "ENDED_SUCCESS").length;
      figure("disk full at the end: acknowledged, then run to success", `${succeeded} of 30`);
      assert.equal(succeeded, 30);
    },
  );

  test("a database that another process has locked: calls go on beside it", async () => {
    await using house = await openHouse({ config: { SYNC_MODE: "hold" }, flows: ["echo"] });
    await house.createWebhook("echo", "echo", { is_productive: true });
    const holder = await lockDatabase(join(house.data, "flowhook.db"));
    using _ = { [Symbol.dispose]: () => void holder.kill() };
    const begun = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => house.call("echo")));
    const took = performance.now() - begun;
    const live = await timed(() => house.assertAlive());
    figure("locked database: 20 calls at once answered after", took, "ms");
    figure("locked database: a health check meanwhile", live, "ms");
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const ids = answers.map(({ headers }) => headers["flowhook-execution-id"] ?? "");
    const [first = ""] = ids;
    assert.equal((await house.api("GET", `/execution/${first}`)).status, 503, "it is not denied");
    const leg = (id: string) => house.call("echo", `?__wait_execution_id=${id}`, { method: "GET" });
    assert.equal((await leg(first)).status, 200, "its own service knows how it ended");
    assert.equal((await leg(crypto.randomUUID())).status, 503, "nor is another");
    assert.equal((await house.api("GET", "/execution")).status, 200, "what is there can be read");
    holder.stdin?.end();
    await once(holder, "exit");
    await poll("all to be in it", async () => {
      const found = await Promise.all(ids.map((id) => house.api("GET", `/execution/${id}`)));
      return found.every(({ status }) => status === 200) ? true : null;
    });
    for (const id of ids) assert.equal(await statusOf(house, id), "ENDED_SUCCESS");
    await house.assertAlive();
  });

  test("a ledger that another process has locked", async () => {
    await using house = await openHouse({ config: { SYNC_MODE: "hold" }, flows: ["echo"] });
    await house.createWebhook("echo", "echo", { is_productive: true });
    const files = ledgerPaths(join(house.data, "flowhook.db"));
    const holders = await Promise.all(files.map(lockDatabase));
    const begun = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => house.call("echo")));
    const took = performance.now() - begun;
    figure("locked ledger: 20 calls at once answered after", took, "ms");
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([503]));
    assert.match(answers[0]?.headers["retry-after"] ?? "", /^\d+$/);
    assert.ok(took < 10_000, "nobody waits for the lock");
    for (const holder of holders) holder.stdin?.end();
    await Promise.all(holders.map((holder) => once(holder, "exit")));
    await poll("the lock to be gone", async () =>
      (await house.call("echo")).status === 200 ? true : null,
    );
    const { text } = await house.api("GET", "/execution");
    const { items } = JSON.parse(text) as { items: { status: string }[] };
    assert.deepEqual(
      items.map(({ status }) => status),
      ["ENDED_SUCCESS"],
      "what was refused is not there",
    );
    await house.assertAlive();
  });

  test("a second instance on the same data folder", async () => {
    await using house = await openHouse();
    const second = await run(house, ["serve"]);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /Another service runs on the data folder/);
    await house.assertAlive();
    await house.kill();
    const took = await house.start();
    figure("start after SIGKILL", took, "ms");
  });
});

/** Calls with bodies that no free page takes. */
async function overwhelm(house: House, webhook = "echo"): Promise<number[]> {
  const body = JSON.stringify({ text: "x".repeat(200_000) });
  const call = { method: "POST", headers: { "content-type": "application/json" }, body };
  const statuses: number[] = [];
  // A WAL that starts again from its beginning still has room in itself.
  for (let n = 0; n < 60 && statuses.at(-1) !== 503; n += 1)
    statuses.push((await house.call(webhook, "?async", call)).status);
  const first = statuses.indexOf(503);
  assert.ok(first >= 0, `the disk never was full: ${statuses.join(" ")}`);
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => house.call(webhook, "", call)),
  );
  return answers.map(({ status }) => status);
}

/** @returns status of the execution; of the answer, where the store cannot tell just now */
async function statusOf(house: House, id: string): Promise<string> {
  const { status, text } = await house.api("GET", `/execution/${id}`);
  return status === 200 ? (JSON.parse(text) as { status: string }).status : String(status);
}

async function integrity(path: string): Promise<unknown> {
  const db = new Database(path, { readonly: true });
  try {
    return db.pragma("integrity_check(1)", { simple: true });
  } finally {
    db.close();
  }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await act();
  return performance.now() - begun;
}

function run(house: House, args: readonly string[]): Promise<Finished> {
  return runCommand(house.target, args, { cwd: house.directory });
}

/** A process that holds the write lock until its standard input ends. */
async function lockDatabase(path: string): Promise<ChildProcess> {
  const code = `
    const Database = require("better-sqlite3");
    const db = new Database(${JSON.stringify(path)});
    db.exec("BEGIN EXCLUSIVE");
    process.stdout.write("locked");
    process.stdin.resume().on("end", () => process.exit());
  `;
  const child = spawn(NODE, ["-e", code], { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

const UNUSABLE: readonly { name: string; says: RegExp; spoil(path: string): Promise<void> }[] = [
  {
    name: "is no database",
    says: /is not a database.*left as it is.*restore/s,
    spoil: (path) => writeFile(path, "this is no database, ".repeat(1000)),
  },
  {
    name: "is cut in half",
    says: /left as it is.*restore/s,
    async spoil(path) {
      await truncate(path, (await stat(path)).size / 2);
    },
  },
  {
    name: "has a page of noise",
    says: /left as it is.*restore/s,
    async spoil(path) {
      const bytes = await readFile(path);
      bytes.fill(0xa5, 4096 * 3, 4096 * 6);
      await writeFile(path, bytes);
    },
  },
  {
    name: "was written by a newer version",
    says: /newer version/,
    spoil: async (path) => change(path, "insert into migration values ('9999-later', 0)"),
  },
  {
    name: "is of another program",
    says: /none of Flowhook/,
    async spoil(path) {
      await rm(path);
      change(path, "create table other (id integer)");
    },
  },
];

function change(path: string, sql: string): void {
  const db = new Database(path);
  db.exec(sql);
  db.close();
}

describe("database files that cannot be used", () => {
  for (const { name, says, spoil } of UNUSABLE) {
    test(`a database that ${name} stops the start and stays as it is`, async () => {
      await using house = await openHouse();
      await house.stop();
      const path = join(house.data, "flowhook.db");
      await spoil(path);
      const before = await hashOf(path);
      const finished = await run(house, ["serve"]);
      assert.equal(finished.code, 1, finished.stderr);
      assert.match(finished.stderr, says);
      assert.doesNotMatch(finished.stderr, /^\s+at /m, "no stack");
      assert.equal(await hashOf(path), before);
    });
  }
});

async function hashOf(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

describe("much in the store", () => {
  test("start after a crash with many rows", async () => {
    await using house = await openHouse({ flows: ["echo"] });
    await house.createWebhook("echo", "echo", { is_productive: true });
    await house.stop();
    insertRows(join(house.data, "flowhook.db"), ROWS, INTERRUPTED);
    const took = await house.start();
    figure("start after a crash: rows", ROWS);
    figure("start after a crash: interrupted", INTERRUPTED);
    figure("start after a crash: ready after", took, "ms");
    const interrupted = readInterrupted(join(house.data, "flowhook.db"));
    assert.equal(interrupted, INTERRUPTED);
    assert.ok(took <= 2000 * busyFactor(), `it took ${took} ms`);
    const calls: number[] = [];
    for (let n = 0; n < 20; n += 1) calls.push(await timed(() => house.call("echo", "?async")));
    figure("start after a crash: an acknowledgement then, median", quantile(calls, 0.5), "ms");
  });

  test("retention by age, count and bytes", async () => {
    const limits: readonly [string, Record<string, number>, (db: Database.Database) => boolean][] =
      [
        ["age", { RETENTION_DAYS: 20 }, (db) => oldest(db) > Date.now() - 20.1 * DAY_MS],
        [
          "count",
          { RETENTION_MAX_EXECUTIONS: 100, RETENTION_DAYS: 3650 },
          (db) => count(db) <= 100,
        ],
        [
          "bytes",
          { RETENTION_MAX_BYTES: 1_000_000, RETENTION_DAYS: 3650 },
          (db) => used(db) <= 1e6,
        ],
      ];
    for (const [name, config, isKept] of limits) {
      await using house = await openHouse({ config });
      await house.stop();
      const path = join(house.data, "flowhook.db");
      insertRows(path, 3000, 0, 30 * DAY_MS);
      const before = (await stat(path)).size;
      await house.start();
      await poll(`retention by ${name}`, async () => {
        const db = new Database(path, { readonly: true });
        const done = isKept(db);
        db.close();
        return done ? true : null;
      });
      await house.assertAlive();
      await house.stop();
      const db = new Database(path, { readonly: true });
      figure(`retention by ${name}: kept of 3000`, count(db));
      db.close();
      figure(`retention by ${name}: file`, `${before} to ${(await stat(path)).size} bytes`);
    }
  });

  test("the WAL stays small while readers read", async () => {
    await using house = await openHouse({ flows: ["echo"] });
    await house.createWebhook("echo", "echo", { is_productive: true });
    await house.stop();
    insertRows(join(house.data, "flowhook.db"), 20_000, 0);
    await house.start();
    const stop = new AbortController();
    const readers = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) await house.api("GET", "/execution?text=nothing-has-this");
    });
    const body = JSON.stringify({ text: "x".repeat(400_000) });
    const call = { method: "POST", headers: { "content-type": "application/json" }, body };
    let largest = 0;
    let sent = 0;
    for (let n = 0; n < 60; n += 1) {
      await Promise.all(Array.from({ length: 6 }, () => house.call("echo", "?async", call)));
      sent += 6 * body.length;
      largest = Math.max(largest, (await stat(join(house.data, "flowhook.db-wal"))).size);
    }
    stop.abort();
    await Promise.all(readers);
    figure("the WAL while readers read: bodies sent", sent / 2 ** 20, "MB");
    figure("the WAL while readers read: largest", largest / 2 ** 20, "MB");
    assert.ok(largest < 128 * 2 ** 20, `it grew to ${largest} bytes`);
  });

  test("a backup of a service under load, restored", async () => {
    await using house = await openHouse({ flows: ["echo"] });
    await house.createWebhook("echo", "echo", { is_productive: true });
    const ids: string[] = [];
    const stop = new AbortController();
    const callers = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) ids.push((await house.call("echo", "?async")).text);
    });
    await poll("some calls", async () => (ids.length > 50 ? true : null));
    const before = [...ids];
    const saved = await run(house, ["backup", "saved.db"]);
    stop.abort();
    await Promise.all(callers);
    assert.equal(saved.code, 0, saved.stderr);
    await house.stop();
    await writeFile(join(house.data, "flowhook.db"), "lost");
    for (const end of ["-wal", "-shm"])
      await rm(join(house.data, `flowhook.db${end}`), { force: true });
    const restored = await run(house, ["restore", "saved.db"]);
    assert.equal(restored.code, 0, restored.stderr);
    await house.start();
    const kept = readIds(join(house.data, "flowhook.db"));
    const missing = before.filter((id) => !kept.has(id));
    figure("backup under load: acknowledged before it", before.length);
    figure("backup under load: missing after restore", missing.length);
    assert.deepEqual(missing, []);
    const left = await readdir(house.directory);
    assert.ok(!left.some((name) => name.includes(".partial")));
  });
});

const DAY_MS = 86_400_000;

/**
 * Ended executions, and interrupted ones, as an earlier run of the service has left them.
 *
 * @param span_ms how long ago the oldest was created
 */
function insertRows(path: string, ended: number, running: number, span_ms = 5 * DAY_MS): void {
  const db = new Database(path);
  db.pragma("synchronous = OFF");
  const project = db.prepare("select id from project").pluck().get() as string;
  const row = db.prepare(
    `insert into execution (key, id, status, flow, webhook, is_productive, is_async, project_id,
      created_at, started_at, ended_at) values (?, ?, ?, 'echo', 'echo', 1, 1, ?, ?, ?, ?)`,
  );
  const part = (table: string, column: string) =>
    db.prepare(`insert into ${table} (execution_key, ${column}) values (?, ?)`);
  const given = part("execution_input", "input_value");
  const answered = part("execution_output", "output_value");
  const input = JSON.stringify({ text: "x".repeat(400) });
  const start = Date.now() - span_ms;
  db.transaction(() => {
    for (let n = 0; n < ended + running; n += 1) {
      const at = Math.floor(start + (n / (ended + running)) * span_ms);
      const id = toId(at, n);
      const key = keyOf(id);
      const is_ended = n < ended;
      row.run(
        key,
        id,
        is_ended ? "ENDED_SUCCESS" : "RUNNING",
        project,
        at,
        at,
        is_ended ? at : null,
      );
      given.run(key, input);
      if (is_ended) answered.run(key, input);
    }
  })();
  db.close();
}

/** A UUID version 7 of a time, told apart by a number. */
function toId(at: number, n: number): string {
  const time = at.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
}

function readInterrupted(path: string): number {
  const db = new Database(path, { readonly: true });
  const sql = "select count(*) from execution where status_message = 'interrupted by a restart'";
  const found = db.prepare(sql).pluck().get() as number;
  db.close();
  return found;
}

function readIds(path: string): Set<string> {
  const db = new Database(path, { readonly: true });
  const ids = new Set(db.prepare("select id from execution").pluck().all() as string[]);
  db.close();
  return ids;
}

function count(db: Database.Database): number {
  return db.prepare("select count(*) from execution").pluck().get() as number;
}

function oldest(db: Database.Database): number {
  return db.prepare("select min(created_at) from execution").pluck().get() as number;
}

function used(db: Database.Database): number {
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
}
