import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import Database from "better-sqlite3";
import pg from "pg";
import { MOVED_TABLES } from "../../src/server/store/move-source.ts";
import { prepareTables } from "../../src/server/store/postgres/start.ts";
import type { Answer } from "../blackbox/client.ts";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { environment } from "../blackbox/target.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** The store of a service moves from SQLite into PostgreSQL, or the move fails on its way. */

let server: PostgresServer;
before(async () => {
  server = await openPostgres();
});
after(() => server.stop());

const KEY = "a-key-of-the-webhook";
const SECRET = "a secret that the sender has";

const READING = `
  import { appendFileSync } from "node:fs";
  import { defineFlow } from "flowhook";
  export default defineFlow({
    permissions: { write: ["<out>"], secrets: ["SENDER"] },
    async run(flow) {
      appendFileSync("<out>/started", flow.execution.id + "\\n");
      flow.log.info("a line\\twith \\\\ and \\u0001");
      return { secret: await flow.secret("SENDER"), setting: await flow.setting("limit") };
    },
  });
`;

const CONFIG = { WORKER_THREADS: 1, FLOW_MAX_CONCURRENT: 1, SHUTDOWN_GRACE_SEC: 0.1 };

function run(service: TestService, ...args: string[]): Promise<Finished> {
  return runCommand(service.target, args, { cwd: service.directory, deadlineMs: 120_000 });
}

function idOf({ headers }: Answer): string {
  return headers["flowhook-execution-id"] ?? "";
}

async function read<T>(service: TestService, path: string, token?: string): Promise<T> {
  const { status, text } = await service.api("GET", path, undefined, token);
  assert.equal(status, 200, text);
  return JSON.parse(text) as T;
}

interface Execution {
  readonly id: string;
  readonly status: string;
  readonly status_message: string | null;
}

async function query<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function listTables(url: string): Promise<string[]> {
  const sql = "select tablename from pg_tables where schemaname = current_schema()";
  return (await query<{ tablename: string }>(url, sql)).map(({ tablename }) => tablename);
}

/** Of the tables that a move fills, those that have rows. */
async function listFilled(url: string): Promise<string[]> {
  const found = MOVED_TABLES.map(
    (name) => `select '${name}' as name where exists (select from "${name}")`,
  );
  const rows = await query<{ name: string }>(url, found.join(" union all "));
  return rows.map(({ name }) => name);
}

async function write(service: TestService, path: string, body: object): Promise<void> {
  const { status, text } = await service.api("POST", path, body);
  assert.equal(status, 201, `${path}: ${text}`);
}

/** A service of which every table has rows, killed while one execution runs and one waits. */
async function openFilled(stack: AsyncDisposableStack) {
  const service = stack.use(
    await openTestService({ config: CONFIG, flows: ["sleep"], files: { "reading.ts": READING } }),
  );
  await write(service, "/project", { name: "Second" });
  await write(service, "/setting", { name: "limit", value: { is: 7 } });
  await write(service, "/secret", { name: "SENDER", value: SECRET });
  const idempotency = { from: "header:idempotency-key", after_failure: "same" };
  const fields = { is_productive: true, sync_mode: "hold" };
  await service.createWebhook("keyed", "reading", { key: KEY, idempotency, ...fields });
  await service.createWebhook("sleep", "sleep", fields);
  await service.createWebhook("signed", "reading", fields);
  const signature = { scheme: "github", secrets: ["SENDER"] };
  const signed = { password: ADMIN_PASSWORD, signature, require_login: false };
  assert.equal((await service.api("PUT", "/webhook/signed/authentication", signed)).status, 200);
  const first = await callKeyed(service, "one");
  assert.equal(first.status, 200, first.text);
  const login = await service.api("POST", "/auth/login", {
    user_name: "admin",
    password: ADMIN_PASSWORD,
  });
  const { token } = JSON.parse(login.text) as { token: string };
  const running = await service.call("sleep", "?async&ms=600000");
  assert.equal(running.status, 201, running.text);
  await poll("its run", async () => {
    const { status } = await read<Execution>(service, `/execution/${idOf(running)}`);
    return status === "RUNNING" ? true : null;
  });
  const waiting = await callKeyed(service, "two", "?async");
  assert.equal(waiting.status, 201, waiting.text);
  await service.kill();
  // Of a release that told executions apart by the whole id.
  inFile(service, "insert into execution_moved (id, key) values ('of-another-time', 1)");
  return { service, first, token, running: idOf(running), waiting: idOf(waiting) };
}

function callKeyed(service: TestService, key: string, path = ""): Promise<Answer> {
  return service.call("keyed", path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${KEY}`,
      "idempotency-key": key,
      "content-type": "application/json",
    },
    body: '{"a":"\\u0000 \\\\ \\t"}',
  });
}

function inFile(service: TestService, sql: string): void {
  const db = new Database(join(service.data, "flowhook.db"));
  db.exec(sql);
  db.close();
}

const FILE = "sqlite:data/flowhook.db";

describe("move", () => {
  test("all that a killed service had goes on in PostgreSQL", async () => {
    await using stack = new AsyncDisposableStack();
    const { service, first, token, running, waiting } = await openFilled(stack);
    const url = await server.createDatabase();
    await service.configure({ DATABASE_URL: url });
    const finished = await run(service, "move", FILE, "--json");
    assert.equal(finished.code, 0, finished.stderr);
    const moved = JSON.parse(finished.stdout) as {
      tables: { table: string; rows: number }[];
      interrupted: number;
      waiting: number;
    };
    const empty = moved.tables.filter(({ rows }) => rows === 0).map(({ table }) => table);
    assert.deepEqual(empty, [], "tables of which the move proves nothing");
    assert.deepEqual([moved.interrupted, moved.waiting], [1, 1]);
    assert.deepEqual(
      (await readdir(service.data)).filter((name) => name.includes("moving")),
      [],
    );
    await service.start();
    await poll("the execution that waited", async () => {
      const { status } = await read<Execution>(service, `/execution/${waiting}`);
      return status === "ENDED_SUCCESS" ? true : null;
    });
    const interrupted = await read<Execution>(service, `/execution/${running}`);
    assert.equal(interrupted.status_message, "interrupted by a restart");
    const started = await readFile(join(service.directory, "out/started"), "utf8");
    assert.deepEqual(started.split("\n"), [idOf(first), waiting, ""], "each ran once");
    await assertKnown(service, first, token);
  });

  async function assertKnown(service: TestService, first: Answer, token: string): Promise<void> {
    const me = await read<{ user: { name: string } }>(service, "/auth/me", token);
    assert.equal(JSON.stringify(me).includes('"admin"'), true);
    const login = { user_name: "admin", password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/auth/login", login, "")).status, 200);
    const again = await callKeyed(service, "one");
    assert.equal(idOf(again), idOf(first), "the same key is the same execution");
    assert.equal(again.text, first.text);
    assert.deepEqual(JSON.parse(first.text), { secret: SECRET, setting: { is: 7 } });
    const wrong = await service.call("keyed", "", { headers: { authorization: "Bearer another" } });
    assert.equal(wrong.status, 401);
    const body = '{"b":1}';
    const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
    const headers = { "x-hub-signature-256": signature, "content-type": "application/json" };
    const signed = await service.call("signed", "", { method: "POST", headers, body });
    assert.equal(signed.text, first.text, "the secret opens, for the signature and for the flow");
    const { text } = await service.api("GET", `/execution/${idOf(first)}`);
    assert.match(text, /\\u0000 \\\\ \\t/, "its input");
    const log = await service.api("GET", `/execution/${idOf(first)}/log`);
    assert.match(log.text, /a line\\twith \\\\ and/);
    const audit = await read<{ items: { action: string }[] }>(service, "/audit?limit=500");
    assert.ok(audit.items.some(({ action }) => action === "webhook.create"));
  }

  test("the database of a service that was stopped stays as it was, byte by byte", async () => {
    await using stack = new AsyncDisposableStack();
    const service = stack.use(await openTestService({ flows: ["sleep"] }));
    await service.createWebhook("sleep", "sleep");
    await service.call("sleep", "?ms=1");
    await service.stop();
    const digest = async (): Promise<string> => {
      const bytes = await readFile(join(service.data, "flowhook.db"));
      return createHash("sha256").update(bytes).digest("hex");
    };
    const before = await digest();
    const finished = await run(service, "move", FILE, await server.createDatabase());
    assert.equal(finished.code, 0, finished.stderr);
    assert.match(finished.stdout, /^webhook +1$/m);
    assert.equal(await digest(), before);
    await service.start();
    await service.assertAlive();
  });

  /** A service that has stopped, with rows in a table that others come before. */
  async function openStopped(stack: AsyncDisposableStack): Promise<TestService> {
    const service = stack.use(await openTestService({ flows: ["sleep"] }));
    await service.stop();
    inFile(
      service,
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${COUNT})
        insert into execution_input (execution_key, input_value) select i, 'x' from n`,
    );
    return service;
  }

  /** A move in the middle of its rows, which goes no further until it is released. */
  async function openHalf(stack: AsyncDisposableStack, service: TestService) {
    const url = await server.createDatabase();
    await makeTables(url);
    const holder = new pg.Client(url);
    await holder.connect();
    stack.defer(() => holder.end());
    await holder.query("begin; lock table execution_input in share mode");
    const proxy = await openFaultProxy(url);
    stack.defer(() => proxy.close());
    const child = launch(service, "move", FILE, proxy.through(url));
    stack.defer(() => void child.process.kill("SIGKILL"));
    const sql = "select from pg_locks where not granted and relation = 'execution_input'::regclass";
    const isHalf = async () => (await holder.query(sql)).rowCount === 1 || null;
    await poll("its rows", isHalf);
    const release = async () => void (await holder.query("rollback"));
    return { url, proxy, release, ...child };
  }

  /** As a first start leaves them that failed later. */
  async function makeTables(url: string): Promise<void> {
    const client = new pg.Client(url);
    await client.connect();
    await prepareTables(client, () => {});
    await client.end();
  }

  function launch(service: TestService, ...args: string[]) {
    const [program, ...leading] = service.target.command;
    const child = spawn(program, [...leading, ...args], {
      cwd: service.directory,
      env: environment(),
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
    const ended = once(child, "close") as Promise<[number | null, string | null]>;
    return { process: child, printed: () => printed, ended };
  }

  async function assertMoved(service: TestService, url: string): Promise<void> {
    const again = await run(service, "move", FILE, url);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, new RegExp(`^execution_input +${COUNT}$`, "m"));
  }

  test("one that is killed leaves nothing behind, and the next one moves all", async () => {
    await using stack = new AsyncDisposableStack();
    const service = await openStopped(stack);
    const { url, release, process, ended } = await openHalf(stack, service);
    process.kill("SIGKILL");
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    await release();
    assert.deepEqual(await listFilled(url), []);
    await assertMoved(service, url);
    assert.deepEqual(
      (await readdir(service.data)).filter((name) => name.includes("moving")),
      [],
    );
  });

  test("one that is interrupted takes its copy away", async () => {
    await using stack = new AsyncDisposableStack();
    const service = await openStopped(stack);
    const { url, process, ended } = await openHalf(stack, service);
    process.kill("SIGINT");
    assert.deepEqual(await ended, [null, "SIGINT"]);
    assert.deepEqual(
      (await readdir(service.data)).filter((name) => name.includes("moving")),
      [],
    );
    assert.deepEqual(await listFilled(url), []);
  });

  test("one that loses its connection says so, and the next one moves all", async () => {
    await using stack = new AsyncDisposableStack();
    const service = await openStopped(stack);
    const { url, proxy, release, printed, ended } = await openHalf(stack, service);
    proxy.drop();
    assert.deepEqual(await ended, [1, null], printed());
    assert.match(
      printed(),
      /Cannot fill the database ".+connection was lost: .+all of it, or nothing/,
    );
    await release();
    assert.deepEqual(await listFilled(url), []);
    await assertMoved(service, url);
  });

  test("a service that starts on the database meanwhile waits, and has all of it then", async () => {
    await using stack = new AsyncDisposableStack();
    const service = await openStopped(stack);
    const { url, release, printed, ended } = await openHalf(stack, service);
    const config = { DATABASE_URL: url };
    const other = stack.use(await openTestService({ config, start: false }));
    await cp(join(service.data, "secret.key"), join(other.data, "secret.key"));
    const waiting = launch(other, "serve");
    stack.defer(async () => {
      waiting.process.kill("SIGTERM");
      await waiting.ended;
    });
    await poll("its word", async () => /or a move fills it/.test(waiting.printed()) || null);
    await release();
    assert.deepEqual(await ended, [0, null], printed());
    await poll("its start", async () => /Listening on/.test(waiting.printed()) || null);
    const [users] = await query<{ count: string }>(url, `select count(*) from "user"`);
    assert.equal(Number(users?.count), 1);
  });
});

const COUNT = 1000;

describe("refused moves", () => {
  let service: TestService;
  before(async () => {
    service = await openTestService({ flows: ["sleep"] });
    await write(service, "/secret", { name: "SENDER", value: SECRET });
  });
  after(() => service[Symbol.asyncDispose]());

  async function assertRefused(args: string[], code: number, message: RegExp): Promise<void> {
    const finished = await run(service, "move", ...args);
    assert.match(finished.stderr, message);
    assert.equal(finished.code, code);
    assert.ok(!finished.stderr.includes("    at "), finished.stderr);
  }

  test("words that are no stores, and a way back", async () => {
    const url = await server.createDatabase();
    const expected = /^Expected FROM as DATABASE_URL has it: sqlite:PATH\n$/;
    await assertRefused(["data/flowhook.db", url], 2, expected);
    await assertRefused([url, FILE], 2, /^Cannot move from PostgreSQL: /);
    await assertRefused(
      [FILE, "sqlite:other.db"],
      2,
      /^Expected TO as DATABASE_URL has it: postgres/,
    );
    // It would be a connection in clear text.
    const mistyped = `${url}?sslmod=verify-full`;
    await assertRefused([FILE, mistyped], 2, /^Found the parameter "sslmod" in DATABASE_URL/);
    await assertRefused([FILE], 2, /Without TO it is the DATABASE_URL of the configuration/);
    await assertRefused(["sqlite:none.db", url], 1, /^There is no database at ".+none\.db"\n$/);
    assert.deepEqual(await listTables(url), []);
  });

  test("a service that runs, on either of them", async () => {
    await using stack = new AsyncDisposableStack();
    const url = await server.createDatabase();
    await assertRefused([FILE, url], 1, /^Another service runs on the data folder/);
    const config = { DATABASE_URL: url, DATA_KEY: "0123456789abcdef".repeat(4) };
    const other = stack.use(await openTestService({ config, start: false }));
    const elsewhere = await run(other, "move", `sqlite:${service.data}/flowhook.db`, url);
    assert.match(elsewhere.stderr, /^Another service runs on the database ".+flowhook\.db"/m);
    await other.start();
    await service.stop();
    await assertRefused([FILE, url], 1, /The service ".+" runs on the database .+ Stop it first/);
    await other.stop();
    await assertRefused([FILE, url], 1, /is not empty: there are rows in "project"/);
  });

  test("a server that cannot be opened is told of before anything is copied", async () => {
    const url = new URL(await server.createDatabase());
    url.password = "wrong";
    const finished = await run(service, "move", FILE, url.href);
    assert.equal(finished.code, 78);
    assert.match(finished.stderr, /^Cannot open the database .+ Look at the user and the password/);
    assert.ok(!finished.stderr.includes("wrong"), "and no password is shown");
  });

  test("another data key, or none", async () => {
    const url = await server.createDatabase();
    const key = await readFile(join(service.data, "secret.key"));
    const path = join(service.data, "secret.key");
    await writeFile(path, `${"0".repeat(64)}\n`);
    await assertRefused([FILE, url], 78, /data key does not open 1 of 1 secrets: SENDER/);
    await writeFile(path, key);
    await writeFile(join(service.directory, "other.yaml"), "DATA_DIR: ./nothing\n");
    const args = [FILE, url, "--config", "other.yaml"];
    await assertRefused(args, 78, /^Found no data key, neither DATA_KEY nor ".+nothing/);
    assert.ok(!(await readdir(service.directory)).includes("nothing"));
    assert.deepEqual(await listTables(url), []);
  });

  test("a file that is damaged, newer, or something else; tables of something else", async () => {
    const url = await server.createDatabase();
    await mkdir(join(service.directory, "odd"));
    const odd = (name: string): string => join(service.directory, "odd", name);
    await writeFile(odd("text.db"), "no database".repeat(1000));
    await assertRefused(["sqlite:odd/text.db", url], 1, /Cannot open the database ".+text\.db"/);
    new Database(odd("foreign.db")).exec("create table a (b)").close();
    await assertRefused(["sqlite:odd/foreign.db", url], 1, /is a database, but none of Flowhook/);
    await cp(join(service.data, "flowhook.db"), odd("newer.db"));
    const newer = new Database(odd("newer.db"));
    newer.exec("insert into migration values ('9999-later', 1)").close();
    await assertRefused(["sqlite:odd/newer.db", url], 1, /written by a newer version of Flowhook/);
    await query(url, "create table theirs (a integer)");
    await assertRefused([FILE, url], 78, /has tables, but none of Flowhook\. Name an empty one/);
  });
});
