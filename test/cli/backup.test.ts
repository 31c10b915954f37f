import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import Database from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { apply } from "../../src/server/store/migrate.ts";
import type { Schema } from "../../src/server/store/schema.ts";
import { runCommand, type Finished } from "../blackbox/command.ts";
import {
  ADMIN_PASSWORD,
  launch,
  startService,
  terminate,
  type Service,
} from "../blackbox/service.ts";
import { environment, openTarget } from "../blackbox/target.ts";
import { isMountable, mountDisk, unmountDisk } from "../faults/disk.ts";
import { all } from "./session.ts";

const target = openTarget();

/** A copy that is not whole. */
const COPY = /partial|restoring/;

describe("backup and restore", { skip: target.skip ?? false }, () => {
  let service: Service;
  before(async () => {
    service = await startService({ flows: ["echo", "sleep"] });
    await service.createWebhook("kept", "echo");
  });
  after(() => service.stop());

  function run(args: readonly string[]): Promise<Finished> {
    return runCommand(target, args, { cwd: service.directory });
  }

  const inFolder = (name: string): string => join(service.directory, name);

  test("a backup of a running service: whole, and its owner's only", async () => {
    const input_value = { query: { ms: "60000" } };
    await service.api("POST", "/flow/sleep/execution", { input_value });
    const finished = await run(["backup", "one.db"]);
    assert.equal(finished.code, 0, all(finished));
    assert.match(finished.stdout, /secret\.key/);
    assert.equal((await stat(inFolder("one.db"))).mode & 0o777, 0o600);
    const names = await readdir(service.directory);
    assert.deepEqual(
      names.filter((name) => name.startsWith("one.db")),
      ["one.db"],
    );
  });

  test("a backup tells of the data key that the configuration has", async () => {
    const env = { FLOWHOOK_DATA_KEY: "0".repeat(64) };
    const options = { cwd: service.directory, env };
    const finished = await runCommand(target, ["backup", "keyed.db"], options);
    assert.match(finished.stdout, /^Keep DATA_KEY in another place: /m, all(finished));
  });

  test("a backup and a restore that a signal ends leave no copy behind", async () => {
    const large = inFolder("large");
    await mkdir(large);
    await copyFile(inFolder("one.db"), join(large, "flowhook.db"));
    const db = new Database(join(large, "flowhook.db"));
    db.exec("insert into setting values ('large', zeroblob(64000000), 0, 0)");
    db.close();
    await writeFile(inFolder("large.yaml"), "DATA_DIR: ./large\n");
    await copyFile(join(large, "flowhook.db"), inFolder("large-copy.db"));
    await endHalf(["backup", "large.db"], service.directory, "SIGTERM");
    await endHalf(["restore", "large-copy.db"], large, "SIGINT");
    const names = [...(await readdir(large)), ...(await readdir(service.directory))];
    assert.deepEqual(
      names.filter((name) => COPY.test(name)),
      [],
    );
  });

  /** Ends a command once it has begun with a copy. */
  async function endHalf(args: string[], folder: string, signal: NodeJS.Signals): Promise<void> {
    const [program, ...leading] = target.command;
    const child = spawn(program, [...leading, ...args, "--config", "large.yaml"], {
      cwd: service.directory,
      env: environment(),
    });
    const ended = once(child, "close");
    const hasBegun = async () => (await readdir(folder)).some((name) => COPY.test(name));
    while (child.exitCode === null && !(await hasBegun())) await new Promise(setImmediate);
    child.kill(signal);
    const [code, by] = (await ended) as [number | null, NodeJS.Signals | null];
    // On a slow machine it may have come to its end meanwhile.
    assert.ok(by === signal || code === 0, `${code} ${by}`);
  }

  test("a backup is no stream", async () => {
    const refused = await run(["backup", "-"]);
    assert.equal(refused.code, 2, all(refused));
    assert.equal(refused.stderr, 'Found "-", expected a file: ./- where that is its name\n');
    assert.ok(!existsSync(join(service.directory, "-")));
  });

  test("a backup never takes another file's place", async () => {
    await writeFile(inFolder("mine.txt"), "mine");
    const finished = await run(["backup", "mine.txt"]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^Cannot back up: The file ".*mine\.txt" is there already\n$/);
    assert.equal(await readFile(inFolder("mine.txt"), "utf8"), "mine");
  });

  test("a backup is written through no link", async () => {
    await symlink("nothing.txt", inFolder("dangling.db"));
    const refused = await run(["backup", "dangling.db"]);
    assert.equal(refused.code, 1, all(refused));
    assert.match(refused.stderr, /^Cannot back up: The file ".*dangling\.db" is there already\n$/);
    assert.ok(!existsSync(inFolder("nothing.txt")));
    await symlink("mine.txt", inFolder("beside.db.partial"));
    const finished = await run(["backup", "beside.db"]);
    assert.equal(finished.code, 0, all(finished));
    assert.equal(await readFile(inFolder("mine.txt"), "utf8"), "mine");
  });

  test("a backup of nothing, and to nowhere", async () => {
    await writeFile(inFolder("other.yaml"), "DATA_DIR: ./nothing\n");
    const nothing = await run(["backup", "two.db", "--config", "other.yaml"]);
    assert.equal(nothing.code, 1);
    assert.match(nothing.stderr, /^There is no database at ".*nothing.flowhook\.db"\n$/);
    const nowhere = await run(["backup", "no/such/folder/two.db"]);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /^Cannot back up: /);
  });

  test("a backup to a disk that is full says which", { skip: !isMountable() }, async () => {
    await using stack = new AsyncDisposableStack();
    const disk = inFolder("disk");
    await mkdir(disk);
    mountDisk(disk, "size=64k");
    stack.defer(() => unmountDisk(disk));
    const { code, stderr } = await run(["backup", "disk/two.db"]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^Cannot back up: database or disk is full, at ".*disk"\n$/);
    assert.deepEqual(await readdir(disk), []);
  });

  test("a restore is refused while the service runs", async () => {
    const finished = await run(["restore", "one.db"]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^Cannot restore: Another service runs on the data folder/);
    await service.assertAlive();
  });

  test("what restores PostgreSQL is named, with what has to be stopped before", async () => {
    const env = { FLOWHOOK_DATABASE_URL: "postgres://127.0.0.1/flowhook" };
    const { code, stderr } = await runCommand(target, ["restore", "any.dump"], {
      cwd: service.directory,
      env,
    });
    assert.equal(code, 1);
    assert.match(stderr, /pg_restore --clean .*with every service on it stopped/);
  });

  test("a restore brings back what the backup had; the replaced database is kept", async () => {
    await service.createWebhook("later", "echo");
    const token = service.token();
    await service.stop({ keepFiles: true });
    const finished = await run(["restore", "one.db"]);
    assert.equal(finished.code, 0, all(finished));
    const [, old = ""] = /The database that was there is "(.+)"/.exec(finished.stdout) ?? [];
    assert.ok(existsSync(old), finished.stdout);
    const env = environment({ FLOWHOOK_ADMIN_PASSWORD: "another password" });
    const running = await launch(target, service.directory, ["serve"], env);
    try {
      const api = `${running.url}/api/latest`;
      const old_login = await fetch(`${api}/auth/me`, { headers: { "x-service-token": token } });
      assert.equal(old_login.status, 401, "logins of the backup have ended");
      assert.match(
        running.logs(),
        /FLOWHOOK_ADMIN_PASSWORD is not used: .*flowhook user password NAME/,
      );
      assert.doesNotMatch(running.logs(), /another password/);
      const { token: fresh } = (await (
        await fetch(`${api}/auth/login`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ user_name: "admin", password: ADMIN_PASSWORD }),
        })
      ).json()) as { token: string };
      const headers = { "x-service-token": fresh };
      assert.equal((await fetch(`${api}/webhook/kept`, { headers })).status, 200);
      assert.equal((await fetch(`${api}/webhook/later`, { headers })).status, 404);
      const { items } = (await (await fetch(`${api}/execution`, { headers })).json()) as {
        items: { status: string; status_message: string }[];
      };
      assert.deepEqual(
        items.map(({ status, status_message }) => [status, status_message]),
        [["ENDED_ERROR", "not ended when the backup was made"]],
      );
    } finally {
      await terminate(running.child);
    }
  });

  describe("what is no backup changes nothing", () => {
    async function refuse(name: string, pattern: RegExp): Promise<void> {
      const before = await readFile(inFolder("data/flowhook.db"));
      const finished = await run(["restore", name]);
      assert.equal(finished.code, 1, all(finished));
      assert.match(finished.stderr, pattern);
      assert.ok(before.equals(await readFile(inFolder("data/flowhook.db"))));
      const names = await readdir(inFolder("data"));
      assert.ok(!names.some((found) => found.includes("restoring")), names.join(" "));
    }

    test("a file that is not there", () => refuse("none.db", /^There is no file "none\.db"\n$/));
    test("a folder", () =>
      refuse(".", /^"\." is a folder, expected a backup, which is one file\n$/));

    test("an empty file", async () => {
      await writeFile(inFolder("empty.db"), "");
      await refuse("empty.db", /is no backup of Flowhook/);
    });

    test("a text", async () => {
      await writeFile(inFolder("text.db"), "no database at all\n".repeat(100));
      await refuse("text.db", /is no backup of Flowhook, or it is damaged/);
    });

    test("a backup that is cut off", async () => {
      const whole = await readFile(inFolder("one.db"));
      await writeFile(inFolder("cut.db"), whole.subarray(0, whole.length / 2));
      await refuse("cut.db", /damaged/);
    });

    test("a backup of a newer version", async () => {
      await copyFile(inFolder("one.db"), inFolder("newer.db"));
      const db = new Database(inFolder("newer.db"));
      db.exec("insert into migration values ('9999-later', 0)");
      db.close();
      await refuse("newer.db", /newer version of Flowhook .*9999-later/);
    });

    const strange: Record<string, [sql: string, says: RegExp]> = {
      "a trigger": [
        "create trigger rise after insert on token begin insert into user_role select new.user_id, id from role where name = 'admin'; end",
        /another schema than Flowhook makes: found the trigger "rise"\. It was not restored/,
      ],
      "a view": ["create view more as select * from user", /found the view "more"/],
      "a table": ["create table more (name text)", /found the table "more"/],
      "a virtual table": ["create virtual table more using fts5(name)", /found the table "more"/],
      "an index that computes": [
        "create index more on user (lower(name))",
        /found the index "more"/,
      ],
      "a table in the place of its own": [
        "drop table audit; create table audit (id text, at text default (datetime('now')))",
        /found another table "audit"/,
      ],
      "a column that computes itself": [
        "alter table role add column more text as (upper(name))",
        /found another table "role"/,
      ],
      "a view in the place of a table": [
        "drop table setting; create view setting as select 'a' as name, '1' as value",
        /found the view "setting", missed the table "setting"/,
      ],
      several: [
        "create view one as select 1; create table two (name text)",
        /found the view "one", found the table "two"/,
      ],
      "a name that only SQLite gives": [
        "pragma writable_schema = on; insert into sqlite_master values ('trigger', 'sqlite_stat1', 'token', 0, 'create trigger sqlite_stat1 after insert on token begin select 1; end')",
        /found the trigger "sqlite_stat1"|damaged|malformed/,
      ],
    };
    for (const [name, [sql, says]] of Object.entries(strange))
      test(`L9: a backup with ${name}`, async () => {
        await copyFile(inFolder("one.db"), inFolder("strange.db"));
        const db = new Database(inFolder("strange.db"));
        db.unsafeMode();
        db.pragma("foreign_keys = OFF");
        db.exec(sql);
        db.close();
        await refuse("strange.db", says);
      });
  });

  test("a damaged database is replaced, and kept as it was", async () => {
    await writeFile(inFolder("damaged.yaml"), "DATA_DIR: ./damaged\n");
    await mkdir(inFolder("damaged"));
    const damage = "no database at all\n".repeat(100);
    await writeFile(inFolder("damaged/flowhook.db"), damage);
    const finished = await run(["restore", "one.db", "--config", "damaged.yaml"]);
    assert.equal(finished.code, 0, all(finished));
    const [, old = ""] = /The database that was there is "(.+)"/.exec(finished.stdout) ?? [];
    assert.equal(await readFile(old, "utf8"), damage);
  });

  test("L9: a backup that was analyzed, and one of an earlier release", async () => {
    await writeFile(inFolder("older.yaml"), "DATA_DIR: ./older\nLISTEN_PORT: 0\n");
    await copyFile(inFolder("one.db"), inFolder("analyzed.db"));
    const analyzed = new Database(inFolder("analyzed.db"));
    analyzed.exec("analyze");
    analyzed.close();
    const first = await run(["restore", "analyzed.db", "--config", "older.yaml"]);
    assert.equal(first.code, 0, all(first));
    const database = new Database(inFolder("older.db"));
    const older = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) });
    await apply(older, ["0001-first"]);
    await older.destroy();
    const second = await run(["restore", "older.db", "--config", "older.yaml"]);
    assert.equal(second.code, 0, all(second));
    const args = ["user", "password", "admin", "--config", "older.yaml"];
    const finished = await runCommand(target, args, { cwd: service.directory });
    assert.equal(finished.code, 0, all(finished));
  });

  test("a restore to a data folder that holds nothing", async () => {
    await writeFile(inFolder("fresh.yaml"), "DATA_DIR: ./fresh\n");
    const finished = await run(["restore", "one.db", "--config", "fresh.yaml"]);
    assert.equal(finished.code, 0, all(finished));
    assert.doesNotMatch(finished.stdout, /that was there/);
    assert.ok(existsSync(inFolder("fresh/flowhook.db")));
  });
});
