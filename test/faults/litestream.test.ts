import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import Database from "better-sqlite3";
import { runCommand, runProgram } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { figure } from "./sizes.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** A replica that Litestream keeps of the database, and a standby that is made of it. */

const PACKAGE = createRequire(import.meta.url).resolve("@flydotio/litestream/package.json");
const PLATFORM = `litestream-${process.platform}-${process.arch}`;
const LITESTREAM = join(dirname(PACKAGE), "..", PLATFORM, "litestream");
const skip = existsSync(LITESTREAM) ? false : "no Litestream for this platform";

/** Pages after which Litestream moves the WAL into the database, as SQLite itself does. */
const CHECKPOINT_BYTES = 1000 * 4096;

/** Litestream beside a service, in a folder of the service's. */
class Replica {
  readonly #service: TestService;
  readonly #config: string;
  readonly #child: ChildProcess;
  #logs = "";

  private constructor(service: TestService, config: string) {
    this.#service = service;
    this.#config = config;
    this.#child = spawn(LITESTREAM, ["replicate", "-config", config]);
    const note = (text: Buffer): void => void (this.#logs += String(text));
    this.#child.stdout?.on("data", note);
    this.#child.stderr?.on("data", note);
  }

  static async open(service: TestService): Promise<Replica> {
    const config = join(service.directory, "litestream.yml");
    const path = join(service.directory, "replica");
    const database = join(service.data, "flowhook.db");
    const replicas = [{ type: "file", path }];
    await writeFile(config, JSON.stringify({ dbs: [{ path: database, replicas }] }));
    return new Replica(service, config);
  }

  get logs(): string {
    return this.#logs;
  }

  /** More than one: the WAL was once emptied before Litestream had read it. */
  async generations(): Promise<number> {
    return (await readdir(join(this.#service.directory, "replica/generations"))).length;
  }

  /** The database as the replica has it now, in a new file; null: it has none yet. */
  async restore(name: string): Promise<string | null> {
    const file = join(this.#service.directory, name);
    for (const end of ["", "-shm", "-wal", ".tmp-shm", ".tmp-wal"])
      await rm(`${file}${end}`, { force: true });
    const args = ["restore", "-config", this.#config, "-o", file];
    const database = join(this.#service.data, "flowhook.db");
    const { code } = await runProgram(LITESTREAM, [...args, database], { cwd: "/" });
    return code === 0 ? file : null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}

/** Executions by their status. */
function countsOf(file: string): Record<string, number> {
  const db = new Database(file, { readonly: true });
  try {
    const rows = db.prepare("select status, count(*) from execution group by status").raw().all();
    return Object.fromEntries(rows as [string, number][]);
  } finally {
    db.close();
  }
}

/** All that is in a database, but for what Litestream counts in it. */
function contentOf(file: string): Record<string, unknown[]> {
  const db = new Database(file, { readonly: true });
  try {
    const tables = db
      .prepare(
        "select name from sqlite_master where type = 'table' and name not like '_litestream%'",
      )
      .pluck()
      .all() as string[];
    return Object.fromEntries(
      tables.map((name) => [name, db.prepare(`select * from "${name}"`).all()]),
    );
  } finally {
    db.close();
  }
}

const BODY = JSON.stringify({ text: "x".repeat(100_000) });
const LARGE = { method: "POST", headers: { "content-type": "application/json" }, body: BODY };

describe("Litestream beside the service", { skip }, () => {
  test("a standby has what was acknowledged, and runs nothing a second time", async () => {
    await using service = await openTestService({ flows: ["echo", "sleep"] });
    for (const name of ["echo", "sleep"])
      await service.createWebhook(name, name, { is_productive: true });
    await using replica = await Replica.open(service);
    const ids: string[] = [];
    for (let n = 0; n < 100; n += 1) ids.push((await service.call("echo", "?async", LARGE)).text);
    assert.ok(ids.length * BODY.length > 2 * CHECKPOINT_BYTES, "its checkpoints are in between");
    const open = await service.call("sleep", "?async&ms=280000");
    const acknowledged = performance.now();
    await poll("the replica to have all", async () => {
      const file = await replica.restore("found.db");
      const { ENDED_SUCCESS = 0, RUNNING = 0 } = file === null ? {} : countsOf(file);
      return ENDED_SUCCESS === ids.length && RUNNING === 1 ? true : null;
    });
    figure(
      "Litestream: an execution is in the replica after",
      performance.now() - acknowledged,
      "ms",
    );
    await service.kill();
    await replica[Symbol.asyncDispose]();
    assert.equal(await replica.generations(), 1, replica.logs);

    await using standby = await openTestService({ flows: ["echo", "sleep"], start: false });
    const taken = await replica.restore("taken.db");
    assert.ok(taken !== null);
    await mkdir(standby.data, { recursive: true });
    await cp(join(service.data, "secret.key"), join(standby.data, "secret.key"));
    const restored = await runCommand(standby.target, ["restore", taken], {
      cwd: standby.directory,
    });
    assert.equal(restored.code, 0, restored.stderr);
    await standby.start();
    const statusOf = async (id: string): Promise<unknown> => {
      const { text } = await standby.api("GET", `/execution/${id}`);
      return (JSON.parse(text) as { status: string }).status;
    };
    const statuses = await Promise.all(ids.map(statusOf));
    assert.deepEqual(new Set(statuses), new Set(["ENDED_SUCCESS"]));
    assert.equal(await statusOf(open.text), "ENDED_ERROR");
    const doctor = await runCommand(standby.target, ["doctor"], { cwd: standby.directory });
    assert.match(doctor.stdout, /^ok +database /m, doctor.stdout);
  });

  test("what the service deletes and gives back leaves Litestream the WAL", async () => {
    const config = { RETENTION_MAX_EXECUTIONS: 10 };
    await using service = await openTestService({ flows: ["echo"], config });
    await service.createWebhook("echo", "echo", { is_productive: true, sync_mode: "hold" });
    await using replica = await Replica.open(service);
    // It looks after the database at each start.
    for (let round = 0; round < 4; round += 1) {
      for (let n = 0; n < 60; n += 1) await service.call("echo", "", LARGE);
      assert.equal(await service.stop(), 0);
      await service.start();
      await poll("old ones to be deleted", async () => {
        const { text } = await service.api("GET", "/execution?limit=20");
        return (JSON.parse(text) as { items: unknown[] }).items.length <= 10 ? true : null;
      });
    }
    assert.equal(await service.stop(), 0);
    const kept = contentOf(join(service.data, "flowhook.db"));
    await poll("the replica to be the same", async () => {
      const file = await replica.restore("found.db");
      if (file === null) return null;
      return JSON.stringify(contentOf(file)) === JSON.stringify(kept) ? true : null;
    });
    assert.equal(await replica.generations(), 1, replica.logs);
    assert.doesNotMatch(replica.logs, /level=ERROR/);
  });
});
