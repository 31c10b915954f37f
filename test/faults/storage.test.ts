import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import Database from "better-sqlite3";
import { send } from "../blackbox/client.ts";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { NODE, ROOT } from "../blackbox/target.ts";
import { poll } from "../blackbox/scenario.ts";
import { isMountable, mountDisk, unmountDisk } from "./disk.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { keyOf } from "../../src/shared/id.ts";
import { figure, INTERRUPTED, mostHere, quantile, ROWS } from "./sizes.ts";

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

/** A service whose data is on a disk of 24 MB. */
async function openOnDisk(
  stack: AsyncDisposableStack,
  options: Parameters<typeof openTestService>[0],
): Promise<{ service: TestService; disk: string }> {
  let disk = "";
  const service = stack.use(
    await openTestService({
      ...options,
      config: { DATA_DIR: "./disk" },
      prepare: async (directory) => {
        disk = join(directory, "disk");
        await mkdir(disk);
        assert.ok(mountDisk(disk, "size=24m"));
      },
    }),
  );
  stack.defer(() => unmountDisk(disk));
  return { service, disk };
}

/** Of the newest execution of the flow "logging", without what fills its lines. */
async function readLog(service: TestService): Promise<string[]> {
  const listed = await service.api("GET", "/execution?flow=logging");
  const [execution] = JSON.parse(listed.text).items;
  if (execution === undefined) return [];
  const { text } = await service.api("GET", `/execution/${execution.id}/log?limit=500`);
  return JSON.parse(text).items.map((line: { text: string }) => line.text.slice(0, 8).trimEnd());
}

describe("storage", () => {
  const skip = isMountable() ? false : "a small disk cannot be mounted here";

  test(
    "a first start without room leaves nothing, and starts once there is some",
    { skip },
    async () => {
      await using stack = new AsyncDisposableStack();
      const { service, disk } = await openOnDisk(stack, { flows: ["echo"], start: false });
      await writeFile(join(disk, ".filler"), Buffer.alloc(23.5 * 2 ** 20));
      const refused = await run(service, ["serve"]);
      assert.equal(refused.code, 1, refused.stderr);
      assert.match(refused.stderr, /^Cannot go on: ENOSPC.* Free some space on that disk/m);
      assert.deepEqual(await readdir(join(disk, "runtime")), []);
      await rm(join(disk, ".filler"));
      await service.start();
      await service.stop();
    },
  );

  test("a full disk answers 503, and is used again once there is room", { skip }, async () => {
    await using stack = new AsyncDisposableStack();
    let disk = "";
    const service = stack.use(
      await openTestService({
        config: { DATA_DIR: "./disk", SYNC_MODE: "hold" },
        flows: ["echo", "logging"],
        prepare: async (directory) => {
          disk = join(directory, "disk");
          await mkdir(disk);
          assert.ok(mountDisk(disk, "size=24m"));
        },
      }),
    );
    stack.defer(() => unmountDisk(disk));
    // The service is closed first: its files lie on the disk.
    stack.defer(() => service.stop().then(() => undefined));
    await service.createWebhook("echo", "echo", { is_productive: true });
    assert.equal((await service.call("echo")).status, 200);
    await service.createWebhook("logging", "logging", { is_productive: true });
    const logging = service.call("logging", "?lines=180&blanks=20000&ms=10");
    await poll("a line", async () => ((await readLog(service)).length > 0 ? true : null));
    fillDisk(disk);
    const statuses = await overwhelm(service);
    const refused = statuses.filter((status) => status === 503).length;
    figure("disk full: bytes left", statfsSync(disk).bavail * statfsSync(disk).bsize, "bytes");
    figure("disk full: calls answered 503", `${refused} of ${statuses.length}`);
    assert.deepEqual(new Set(statuses), new Set([503]));
    assert.equal(await readiness(service), 503);
    await service.assertAlive();
    assert.equal((await service.api("GET", "/execution")).status, 200, "reading goes on");
    const begun = performance.now();
    await rm(join(disk, "filler"));
    await poll("readiness without any call", async () =>
      (await readiness(service)) === 200 ? true : null,
    );
    figure("disk full: freed until it is ready", performance.now() - begun, "ms");
    assert.equal((await logging).status, 200);
    const lines = Array.from({ length: 180 }, (_, at) => `line ${at}`);
    assert.deepEqual(await readLog(service), lines, "what it logged meanwhile, in its order");
    assert.equal((await service.call("echo")).status, 200);
    assert.match(
      service.logs(),
      /The ledger cannot be written.*\n(?:.*\n)*.*Calls are taken again/,
    );
    assert.equal(await integrity(join(disk, "flowhook.db")), "ok");
  });

  test("a DATA_DIR that is moved away answers 503, and is used again once it is back", async () => {
    await using service = await openTestService({
      config: { SYNC_MODE: "hold" },
      flows: ["echo", "sleep"],
    });
    for (const name of ["echo", "sleep"])
      await service.createWebhook(name, name, { is_productive: true });
    const away = `${service.data}.away`;
    assert.equal((await service.call("sleep", "?ms=0")).status, 200, "its thread is there");
    const running = service.call("sleep", "?ms=2500");
    await poll("it to run", async () => {
      const { text } = await service.api("GET", "/execution?status=RUNNING");
      return text.includes("sleep") ? true : null;
    });
    await rename(service.data, away);
    await poll("not to be ready", async () => ((await readiness(service)) === 503 ? true : null));
    const { status, text } = await service.call("echo");
    assert.equal(status, 503);
    assert.match(text, /urn:flowhook:error:store_unavailable/);
    assert.equal((await service.api("DELETE", "/webhook/echo")).status, 503);
    assert.equal((await service.api("GET", "/webhook/echo")).status, 200, "reading goes on");
    assert.equal((await running).status, 200, "what has begun ends");
    await service.assertAlive();
    await poll("the log to say it", async () =>
      service.logs().includes("Cannot start a runner") ? true : null,
    );
    // No service makes it anew: it would be moved into that one.
    await rename(away, service.data);
    await poll("readiness", async () => ((await readiness(service)) === 200 ? true : null));
    // Runners that were started meanwhile stand in a folder that is gone: the first call may find out.
    await poll("a call", async () => ((await service.call("echo")).status === 200 ? true : null));
    assert.match(
      service.logs(),
      /flowhook\.db.* was moved, deleted or replaced.*A file of the database/,
    );
    assert.match(service.logs(), /Calls are taken again: the files/);
    assert.equal(service.logs().split("Cannot start a runner").length, 2, "told once");
    await service.kill();
    await service.start();
    const kept = await service.api("GET", "/execution?status=ENDED_SUCCESS");
    assert.equal((JSON.parse(kept.text) as { items: unknown[] }).items.length, 3);
    assert.equal(await integrity(join(service.data, "flowhook.db")), "ok");
  });

  test(
    "a disk that is full when an execution ends: the ending is written later",
    { skip },
    async () => {
      await using stack = new AsyncDisposableStack();
      const { service, disk } = await openOnDisk(stack, { flows: ["sleep"] });
      stack.defer(() => service.stop().then(() => undefined));
      await service.createWebhook("sleep", "sleep", { is_productive: true });
      const ids: string[] = [];
      // More than run at the same time: some wait, and their turn comes while the disk is full.
      for (let n = 0; n < 30; n += 1) ids.push((await service.call("sleep", "?async&ms=400")).text);
      fillDisk(disk);
      await overwhelm(service, "sleep");
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await service.assertAlive();
      await rm(join(disk, "filler"));
      const rows = await poll("all to end", async () => {
        const found = await Promise.all(ids.map((id) => statusOf(service, id)));
        return found.every((status) => status.startsWith("ENDED_")) ? found : null;
      });
      const succeeded = rows.filter((status) => status === "ENDED_SUCCESS").length;
      figure("disk full at the end: acknowledged, then run to success", `${succeeded} of 30`);
      assert.equal(succeeded, 30);
    },
  );

  test("a database that another process has locked: calls go on beside it", async () => {
    await using service = await openTestService({ config: { SYNC_MODE: "hold" }, flows: ["echo"] });
    await service.createWebhook("echo", "echo", { is_productive: true });
    const holder = await lockDatabase(join(service.data, "flowhook.db"));
    using _ = { [Symbol.dispose]: () => void holder.kill() };
    const begun = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.call("echo")));
    const took = performance.now() - begun;
    const live = await timed(() => service.assertAlive());
    figure("locked database: 20 calls at once answered after", took, "ms");
    figure("locked database: a health check meanwhile", live, "ms");
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const ids = answers.map(({ headers }) => headers["flowhook-execution-id"] ?? "");
    const [first = ""] = ids;
    assert.equal((await service.api("GET", `/execution/${first}`)).status, 503, "it is not denied");
    const leg = (id: string) =>
      service.call("echo", `?__wait_execution_id=${id}`, { method: "GET" });
    assert.equal((await leg(first)).status, 200, "its own service knows how it ended");
    assert.equal((await leg(crypto.randomUUID())).status, 503, "nor is another");
    assert.equal((await service.api("GET", "/execution")).status, 200, "what is there can be read");
    holder.stdin?.end();
    await once(holder, "exit");
    await poll("all to be in it", async () => {
      const found = await Promise.all(ids.map((id) => service.api("GET", `/execution/${id}`)));
      return found.every(({ status }) => status === 200) ? true : null;
    });
    for (const id of ids) assert.equal(await statusOf(service, id), "ENDED_SUCCESS");
    await service.assertAlive();
  });

  test("a second instance on the same data folder", async () => {
    await using service = await openTestService();
    const second = await run(service, ["serve"]);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /Another service runs on the data folder/);
    await service.assertAlive();
    await service.kill();
    const took = await service.start();
    figure("start after SIGKILL", took, "ms");
  });

  test("a second instance on the same database, with a data folder of its own", async () => {
    await using folder = await openTestService({ start: false });
    const config = { DATABASE_URL: `sqlite:${folder.data}/shared.db` };
    await using service = await openTestService({ config, flows: ["echo"] });
    await using second = await openTestService({ config, start: false });
    const refused = await run(second, ["serve"]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Another service runs on the database ".+shared\.db"\. Stop it/);
    await service.createWebhook("echo", "echo", { sync_mode: "hold" });
    assert.equal((await service.call("echo")).status, 200);
    await service.stop();
    await second.start();
  });
});

async function readiness({ origin }: TestService): Promise<number> {
  return (await send(origin, { target: "/health/ready" })).status;
}

/** Calls with bodies that no free page takes. */
async function overwhelm(service: TestService, webhook = "echo"): Promise<number[]> {
  const body = JSON.stringify({ text: "x".repeat(200_000) });
  const call = { method: "POST", headers: { "content-type": "application/json" }, body };
  const statuses: number[] = [];
  // A WAL that starts again from its beginning still has room in itself.
  for (let n = 0; n < 60 && statuses.at(-1) !== 503; n += 1)
    statuses.push((await service.call(webhook, "?async", call)).status);
  const first = statuses.indexOf(503);
  assert.ok(first >= 0, `the disk never was full: ${statuses.join(" ")}`);
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => service.call(webhook, "", call)),
  );
  return answers.map(({ status }) => status);
}

/** @returns status of the execution; of the answer, where the store cannot tell just now */
async function statusOf(service: TestService, id: string): Promise<string> {
  const { status, text } = await service.api("GET", `/execution/${id}`);
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

function run(service: TestService, args: readonly string[]): Promise<Finished> {
  return runCommand(service.target, args, { cwd: service.directory });
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
      await using service = await openTestService();
      await service.stop();
      const path = join(service.data, "flowhook.db");
      await spoil(path);
      const before = await hashOf(path);
      const finished = await run(service, ["serve"]);
      assert.equal(finished.code, 1, finished.stderr);
      assert.match(finished.stderr, says);
      assert.doesNotMatch(finished.stderr, /^\s+at /m, "no stack");
      assert.equal(await hashOf(path), before);
    });
  }
});

/** What lies beside the database, or in its place. */
const IN_THE_WAY: readonly {
  name: string;
  code: number;
  says: RegExp;
  put(data: string): Promise<unknown>;
}[] = [
  {
    name: "a lock of noise",
    code: 1,
    says: /^Cannot lock the data folder ".+": file is not a database\. Where no .+ remove ".+lock\.db"$/m,
    put: (data) => writeFile(join(data, "lock.db"), "noise, ".repeat(1000)),
  },
  {
    name: "a folder in the place of the lock",
    code: 1,
    says: /^Cannot lock the data folder ".+": unable to open database file$/m,
    put: (data) =>
      rm(join(data, "lock.db"), { force: true }).then(() => mkdir(join(data, "lock.db"))),
  },
  {
    name: "a folder in the place of the database",
    code: 78,
    says: /^Configuration refused: DATABASE_URL: Found a folder at ".+flowhook\.db", expected the/m,
    put: (data) => rm(join(data, "flowhook.db")).then(() => mkdir(join(data, "flowhook.db"))),
  },
];

test("what is in the way of a start is named", async () => {
  await using service = await openTestService();
  await service.stop();
  for (const { name, code: expected, says, put } of IN_THE_WAY) {
    await put(service.data);
    const { code, stderr } = await run(service, ["serve"]);
    assert.equal(code, expected, stderr);
    assert.match(stderr, says, name);
    assert.doesNotMatch(stderr, /^\s+at /m, "no stack");
    await rm(join(service.data, "lock.db"), { recursive: true, force: true });
  }
});

async function hashOf(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}

describe("much in the store", () => {
  test("start after a crash with many rows", async () => {
    await using service = await openTestService({ flows: ["echo"] });
    await service.createWebhook("echo", "echo", { is_productive: true });
    await service.stop();
    insertRows(join(service.data, "flowhook.db"), ROWS, INTERRUPTED);
    const took = await service.start();
    figure("start after a crash: rows", ROWS);
    figure("start after a crash: interrupted", INTERRUPTED);
    figure("start after a crash: ready after", took, "ms");
    const interrupted = readInterrupted(join(service.data, "flowhook.db"));
    assert.equal(interrupted, INTERRUPTED);
    assert.ok(took <= mostHere(2000), `it took ${took} ms`);
    const calls: number[] = [];
    for (let n = 0; n < 20; n += 1) calls.push(await timed(() => service.call("echo", "?async")));
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
      await using service = await openTestService({ config });
      await service.stop();
      const path = join(service.data, "flowhook.db");
      insertRows(path, 3000, 0, 30 * DAY_MS);
      const before = (await stat(path)).size;
      await service.start();
      await poll(`retention by ${name}`, async () => {
        const db = new Database(path, { readonly: true });
        const done = isKept(db);
        db.close();
        return done ? true : null;
      });
      await service.assertAlive();
      await service.stop();
      const db = new Database(path, { readonly: true });
      figure(`retention by ${name}: kept of 3000`, count(db));
      db.close();
      figure(`retention by ${name}: file`, `${before} to ${(await stat(path)).size} bytes`);
    }
  });

  test("the WAL stays small while readers read", async () => {
    await using service = await openTestService({ flows: ["echo"] });
    await service.createWebhook("echo", "echo", { is_productive: true });
    await service.stop();
    insertRows(join(service.data, "flowhook.db"), 20_000, 0);
    await service.start();
    const stop = new AbortController();
    const readers = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) await service.api("GET", "/execution?text=nothing-has-this");
    });
    const body = JSON.stringify({ text: "x".repeat(400_000) });
    const call = { method: "POST", headers: { "content-type": "application/json" }, body };
    let largest = 0;
    let sent = 0;
    for (let n = 0; n < 60; n += 1) {
      await Promise.all(Array.from({ length: 6 }, () => service.call("echo", "?async", call)));
      sent += 6 * body.length;
      largest = Math.max(largest, (await stat(join(service.data, "flowhook.db-wal"))).size);
    }
    stop.abort();
    await Promise.all(readers);
    figure("the WAL while readers read: bodies sent", sent / 2 ** 20, "MB");
    figure("the WAL while readers read: largest", largest / 2 ** 20, "MB");
    assert.ok(largest < 128 * 2 ** 20, `it grew to ${largest} bytes`);
  });

  test("a backup of a service under load, restored", async () => {
    await using service = await openTestService({ flows: ["echo"] });
    await service.createWebhook("echo", "echo", { is_productive: true });
    const ids: string[] = [];
    const stop = new AbortController();
    const callers = Array.from({ length: 4 }, async () => {
      while (!stop.signal.aborted) ids.push((await service.call("echo", "?async")).text);
    });
    await poll("some calls", async () => (ids.length > 50 ? true : null));
    const before = [...ids];
    const saved = await run(service, ["backup", "saved.db"]);
    stop.abort();
    await Promise.all(callers);
    assert.equal(saved.code, 0, saved.stderr);
    await service.stop();
    await writeFile(join(service.data, "flowhook.db"), "lost");
    for (const end of ["-wal", "-shm"])
      await rm(join(service.data, `flowhook.db${end}`), { force: true });
    const restored = await run(service, ["restore", "saved.db"]);
    assert.equal(restored.code, 0, restored.stderr);
    await service.start();
    const kept = readIds(join(service.data, "flowhook.db"));
    const missing = before.filter((id) => !kept.has(id));
    figure("backup under load: acknowledged before it", before.length);
    figure("backup under load: missing after restore", missing.length);
    assert.deepEqual(missing, []);
    const left = await readdir(service.directory);
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
      const isEnded = n < ended;
      row.run(key, id, isEnded ? "ENDED_SUCCESS" : "RUNNING", project, at, at, isEnded ? at : null);
      given.run(key, input);
      if (isEnded) answered.run(key, input);
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
