import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { runCommand } from "../blackbox/command.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { poll } from "../blackbox/scenario.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { findPort } from "../free-port.ts";
import { openPostgres, PASSWORD, type PostgresServer } from "../postgres-server.ts";
import { figure, mostHere, openRandom, SEED } from "./sizes.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** The service or its PostgreSQL dies under load, or is no PostgreSQL that can be used. */

const RECORDING = `
  import { appendFileSync } from "node:fs";
  import { defineFlow } from "flowhook";
  export default defineFlow({
    permissions: { write: ["<out>"] },
    async run(flow) {
      appendFileSync("<out>/started", flow.execution.id + "\\n");
      const ms = Number(flow.input_value.query.ms ?? 0);
      await new Promise((resolve) => setTimeout(resolve, ms));
      return { id: flow.execution.id };
    },
  });
`;

interface StoredRow {
  readonly id: string;
  readonly status: string;
  readonly status_message: string | null;
}

let server: PostgresServer;
let url: string;

async function readStore(): Promise<Map<string, StoredRow>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<StoredRow>(
      "select id, status, status_message from execution",
    );
    return new Map(rows.map((row) => [row.id, row]));
  } finally {
    await client.end();
  }
}

async function readStarted(service: TestService): Promise<string[]> {
  const text = await readFile(join(service.directory, "out/started"), "utf8").catch(() => "");
  return text.split("\n").filter(Boolean);
}

async function openRecording(config: object = {}): Promise<TestService> {
  url = await server.createDatabase();
  const service = await openTestService({
    config: { DATABASE_URL: url, WORKER_THREADS: 4, FLOW_MAX_CONCURRENT: 4, ...config },
    files: { "recording.ts": RECORDING },
  });
  await service.createWebhook("recording", "recording");
  await service.createWebhook("held", "recording", { sync_mode: "hold" });
  return service;
}

async function readLog(service: TestService, id: string): Promise<string[]> {
  const { text } = await service.api("GET", `/execution/${id}/log?limit=500`);
  return JSON.parse(text).items.map((line: { text: string }) => line.text);
}

/** Calls until it is told to stop. @param told ids that callers were given */
async function load(service: TestService, told: Set<string>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const answer = await service
      .call("recording", "?async&ms=2", { signal: stop })
      .catch(() => null);
    if (answer?.status === 201) told.add(answer.headers["flowhook-execution-id"] ?? "");
    else await wait(20);
  }
}

/** A busy machine takes longer for them. */
function untilTold(told: ReadonlySet<string>, count: number): Promise<true> {
  return poll(`${count} to be acknowledged`, async () => told.size >= count || null);
}

/** Once all has ended: nothing that was acknowledged is missing, and nothing ran twice. */
async function compare(service: TestService, told: ReadonlySet<string>) {
  await poll("the end of all", async () => {
    const rows = [...(await readStore()).values()];
    return rows.every(({ status }) => status.startsWith("ENDED")) ? true : null;
  });
  const stored = await readStore();
  const lost = [...told].filter((id) => !stored.has(id));
  const started = await readStarted(service);
  assert.ok(told.size > 50, `${told.size} acknowledged`);
  assert.deepEqual(lost, [], "acknowledged, and lost");
  assert.equal(new Set(started).size, started.length, "started twice");
  const unrun = [...told].filter(
    (id) => stored.get(id)?.status === "ENDED_SUCCESS" && !started.includes(id),
  );
  assert.deepEqual(unrun, [], "ended well, and never started");
  return [...stored.values()];
}

const USUAL = new Set(["ENDED_SUCCESS", "ENDED_ERROR"]);
const random = openRandom(SEED);

describe("store in PostgreSQL", () => {
  before(async () => {
    server = await openPostgres();
  });
  after(() => server.stop());

  test("a lease and logins that last a part of a millisecond more", async () => {
    await using service = await openRecording({
      NODE_LEASE_SEC: 3.0005,
      LOGIN_TOKEN_TTL_SEC: 86_400.0005,
    });
    const answer = await service.call("held", "");
    assert.equal(answer.status, 200, answer.text);
  });

  test("the service is killed under load, again and again", async () => {
    await using service = await openRecording();
    const told = new Set<string>();
    for (let round = 0; round < 6; round += 1) {
      const stop = new AbortController();
      const callers = Array.from({ length: 6 }, () => load(service, told, stop.signal));
      await wait(300 + 700 * random());
      await untilTold(told, 10 * (round + 1));
      await service.kill();
      stop.abort();
      await Promise.all(callers);
      await service.start();
    }
    const rows = await compare(service, told);
    figure("acknowledged with the store in PostgreSQL, through 6 kills of the service", told.size);
    assert.ok(rows.every(({ status }) => USUAL.has(status)));
  });

  test("PostgreSQL is killed under load, again and again", async (t) => {
    if (server.own === null) return t.skip("the server is another's");
    await using service = await openRecording();
    const told = new Set<string>();
    const stop = new AbortController();
    const callers = Array.from({ length: 6 }, () => load(service, told, stop.signal));
    for (let round = 0; round < 4; round += 1) {
      await wait(500 + 500 * random());
      await server.own.kill();
      await wait(200 + 600 * random());
      await server.own.start();
    }
    await wait(1500);
    await untilTold(told, 51);
    stop.abort();
    await Promise.all(callers);
    const rows = await compare(service, told);
    figure("acknowledged through 4 kills of PostgreSQL", told.size);
    for (const { status, status_message } of rows)
      if (status !== "ENDED_SUCCESS") assert.match(status_message ?? "", /^not started/);
    await service.assertAlive();
  });

  test("while PostgreSQL is away calls get 503, what runs ends later, and all goes on", async (t) => {
    if (server.own === null) return t.skip("the server is another's");
    await using service = await openRecording();
    const running = service.call("held", "?ms=1500");
    await poll("the start of the flow", async () =>
      (await readStarted(service)).length > 0 ? true : null,
    );
    await server.own.kill();
    const begun = performance.now();
    const ready = async () => (await fetch(`${urlOf(service)}/health/ready`)).status;
    await poll("readiness 503", async () => ((await ready()) === 503 ? true : null));
    const readyMs = performance.now() - begun;
    assert.ok(readyMs < mostHere(4000), "ready until 2 s and one look later");
    const refused = await service.call("recording", "?async");
    assert.equal(refused.status, 503, refused.text);
    assert.ok(Number(refused.headers["retry-after"]) > 0);
    assert.ok(performance.now() - begun < mostHere(12_000));
    await service.assertAlive();
    await server.own.start();
    await poll("readiness 200", async () => ((await ready()) === 200 ? true : null));
    const ended = await running;
    assert.equal(ended.status, 200, ended.text);
    assert.equal((await service.call("held", "")).status, 200);
  });

  // Longer than a record is tried. Of the flows one ends meanwhile, and one later.
  for (const cut of ["drop", "hold", "holdAnswers"] as const)
    test(`what a flow logs while PostgreSQL is away is in its log once, in its order: ${cut}`, async (t) => {
      const database = await server.createDatabase();
      const proxy = await openFaultProxy(database);
      t.after(() => proxy.close());
      await using service = await openTestService({
        config: { DATABASE_URL: proxy.through(database), SYNC_MODE: "hold" },
        flows: ["logging"],
      });
      await service.createWebhook("logging", "logging");
      const lines = [30, 100];
      const running = lines.map(async (count) => {
        const answer = await service.call("logging", `?lines=${count}`);
        assert.equal(answer.status, 200, answer.text);
        return readLog(service, answer.headers["flowhook-execution-id"] ?? "");
      });
      await poll("the first lines", async () => {
        const { items } = JSON.parse((await service.api("GET", "/execution")).text);
        const logs = items.map(({ id }: { id: string }) => readLog(service, id));
        return (await Promise.all(logs)).filter((log) => log.length > 0).length === 2 || null;
      });
      proxy[cut]();
      await wait(7000);
      proxy.open();
      for (const [at, log] of (await Promise.all(running)).entries())
        assert.deepEqual(
          log,
          Array.from({ length: lines[at] ?? 0 }, (_, line) => `line ${line}`),
        );
    });

  test("a service ends, though lines of logs wait for PostgreSQL", async (t) => {
    const database = await server.createDatabase();
    const proxy = await openFaultProxy(database);
    t.after(() => proxy.close());
    await using service = await openTestService({
      config: { DATABASE_URL: proxy.through(database) },
      flows: ["logging"],
    });
    await service.createWebhook("logging", "logging");
    const { headers } = await service.call("logging", "?lines=500");
    const id = headers["flowhook-execution-id"] ?? "";
    await poll("a line", async () => (await readLog(service, id)).length > 0 || null);
    proxy.drop();
    // Longer than whoever reads waits for them.
    await wait(6000);
    const from = performance.now();
    assert.equal(await service.stop(), 0);
    assert.ok(performance.now() - from < mostHere(20_000));
  });

  test("while the user has no rights calls get 503, what runs ends later, and all goes on", async () => {
    const database = await server.createDatabase();
    const own = new URL(database);
    const tables = new pg.Client(database);
    await tables.connect();
    try {
      const role = `lowly_${process.pid}`;
      await tables.query(`create role ${role} login password 'lowly'`);
      await tables.query(`grant all on schema public to ${role}`);
      [own.username, own.password] = [role, "lowly"];
      await using service = await openRecording({ DATABASE_URL: own.href });
      const running = service.call("held", "?ms=1500");
      await poll("the start of the flow", async () =>
        (await readStarted(service)).length > 0 ? true : null,
      );
      await tables.query(`reassign owned by ${role} to current_user`);
      const refused = await service.call("recording", "?async");
      assert.equal(refused.status, 503, refused.text);
      assert.match(refused.text, /store_unavailable/);
      await poll("an ending that cannot be written", async () =>
        service.logs().includes("Cannot write a record") ? true : null,
      );
      const { rows } = await tables.query<{ name: string }>(
        "select tablename as name from pg_tables where schemaname = 'public'",
      );
      for (const { name } of rows) await tables.query(`alter table "${name}" owner to ${role}`);
      const ended = await running;
      assert.equal(ended.status, 200, ended.text);
      assert.equal((await service.call("held", "")).status, 200);
      assert.doesNotMatch(service.logs(), /"stack"/);
    } finally {
      await tables.end();
    }
  });

  test("a database that is away is told of once, with the reason, and so is its return", async () => {
    const database = await server.createDatabase();
    const own = new URL(database);
    const admin = new pg.Client(database);
    await admin.connect();
    try {
      const role = `rotated_${process.pid}`;
      await admin.query(`create role ${role} login password 'before'`);
      await admin.query(`grant all on schema public to ${role}`);
      [own.username, own.password] = [role, "before"];
      await using service = await openTestService({ config: { DATABASE_URL: own.href } });
      const told = () =>
        service
          .logs()
          .split("\n")
          .filter((line) => /The database (cannot be|is) reached/.test(line));
      await admin.query(`alter role ${role} password 'after'`);
      await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1",
        [role],
      );
      await poll(
        "the reason",
        async () => /password authentication failed/.test(told().join()) || null,
      );
      await admin.query(`alter role ${role} password 'before'`);
      await poll("the return", async () => /is reached again/.test(told().join()) || null);
      const lines = told().filter((line) => !line.includes("terminat"));
      assert.match(lines[0] ?? "", /"level":"error".*password authentication failed for user/);
      assert.match(lines[1] ?? "", /"level":"info".*is reached again/);
      assert.equal(lines.length, 2);
      assert.doesNotMatch(service.logs(), /before/);
    } finally {
      await admin.end();
    }
  });

  test("a service is not ready while the database takes no execution", async () => {
    await using service = await openRecording();
    const isReady = async () => (await fetch(`${urlOf(service)}/health/ready`)).status === 200;
    const call = async () => (await service.call("recording", "?async")).status;
    const client = new pg.Client(url);
    await client.connect();
    try {
      await client.query("begin; lock table execution_input");
      assert.equal(await call(), 503);
      assert.equal(await isReady(), true, "one alone may have met a lock that is gone");
      assert.equal(await call(), 503);
      assert.equal(await isReady(), false, "after two, each tried for as long as any is");
      assert.match(service.logs(), /No call can be recorded, .*timeout/);
      await client.query("commit");
      // Nobody has called meanwhile.
      await poll("readiness by itself", async () => (await isReady()) || null);
      assert.equal(await call(), 201);
      await poll(
        "the word of it",
        async () => /Calls are recorded again/.test(service.logs()) || null,
      );

      // As a table whose disk is full: each is refused at once.
      await client.query("alter table execution_input add constraint none check (false) not valid");
      const begun = performance.now();
      await poll("readiness 503", async () => {
        assert.notEqual(await call(), 201);
        return (await isReady()) ? null : true;
      });
      assert.ok(performance.now() - begun > 2000);
      await client.query("alter table execution_input drop constraint none");
      assert.equal(await call(), 201);
      assert.equal(await isReady(), true);
    } finally {
      await client.end();
    }
  });

  test("what is done is answered as done, though the audit cannot be written", async () => {
    const database = await server.createDatabase();
    await using service = await openTestService({
      config: { DATABASE_URL: database },
      flows: ["echo"],
    });
    const client = new pg.Client(database);
    await client.connect();
    await client.query("alter table audit rename to away");
    const made = await service.api("POST", "/webhook", { name: "made", flow: "echo" });
    await client.query("alter table away rename to audit");
    await client.end();
    assert.equal(made.status, 201, made.text);
    assert.equal((await service.api("GET", "/webhook/made")).status, 200);
    assert.match(service.logs(), /"action":"webhook.create".*Cannot write an entry of the audit/);
    assert.doesNotMatch((await service.api("GET", "/audit")).text, /"made"/, "nor called failed");
  });

  test("an entry of the audit that cannot be written at once follows", async () => {
    const database = await server.createDatabase();
    const own = new URL(database);
    const client = new pg.Client(database);
    await client.connect();
    try {
      const role = `audited_${process.pid}`;
      await client.query(`create role ${role} login password 'audited'`);
      await client.query(`grant all on schema public to ${role}`);
      [own.username, own.password] = [role, "audited"];
      await using service = await openTestService({
        config: { DATABASE_URL: own.href },
        flows: ["echo"],
      });
      await client.query("alter table audit owner to current_user");
      const begun = Date.now();
      const made = await service.api("POST", "/webhook", { name: "made", flow: "echo" });
      assert.equal(made.status, 201, made.text);
      const answered = Date.now();
      assert.match(service.logs(), /"action":"webhook.create".*Cannot write an entry of the audit/);
      await client.query(`alter table audit owner to ${role}`);
      const [entry, ...more] = await poll("its entry", async () => {
        const { text } = await service.api("GET", "/audit?action=webhook.create");
        const { items } = JSON.parse(text) as { items: { target: string; at: string }[] };
        return items.length > 0 ? items : null;
      });
      const at = new Date(entry?.at ?? 0).getTime();
      assert.deepEqual([entry?.target, more], ["made", []]);
      assert.ok(begun <= at && at <= answered, "of when it was done");
    } finally {
      await client.end();
    }
  });

  test("a command says that the database cannot be used, where somebody keeps a lock", async () => {
    await using service = await openRecording();
    const client = new pg.Client(url);
    await client.connect();
    await client.query("begin; lock table audit");
    const finished = await runCommand(service.target, ["user", "password", "admin"], {
      cwd: service.directory,
      input: "another password\n",
    });
    await client.end();
    assert.equal(finished.code, 1, finished.stderr);
    assert.match(finished.stderr, /^Cannot use the database now: .*lock timeout$/m);
    assert.doesNotMatch(finished.stderr, /^\s+at /m, "no stack");
  });

  test("an ending at another node is told, however many have begun since", async () => {
    const shared = { FLOW_MAX_CONCURRENT: 4, DATA_KEY: "5e".repeat(32) };
    await using one = await openRecording(shared);
    await using other = await openTestService({ config: { DATABASE_URL: url, ...shared } });
    const login = await other.api("POST", "/auth/login", {
      user_name: "admin",
      password: ADMIN_PASSWORD,
    });
    const { token } = JSON.parse(login.text) as { token: string };
    const listening = new AbortController();
    const answer = await fetch(`${urlOf(other)}/api/latest/execution/events`, {
      headers: { "x-service-token": token },
      signal: listening.signal,
    });
    let told = "";
    const reading = (async () => {
      for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) told += text;
    })().catch(() => {});
    const start = async (ms: number) => {
      const { headers } = await one.call("recording", `?async&ms=${ms}`);
      return headers["flowhook-execution-id"] ?? "";
    };
    const isTold = async (id: string) => told.includes(id) || null;
    // Until it is looked for what other nodes do.
    const begun: string[] = [];
    await poll("the first event", async () => {
      begun.push(await start(0));
      return begun.some((id) => told.includes(id)) || null;
    });
    const long = await start(600_000);
    await poll("its start", () => isTold(long));
    const later = await Promise.all(Array.from({ length: 120 }, () => start(0)));
    await poll("those that began later", () => isTold(later.at(-1) ?? ""));
    told = "";
    assert.equal((await one.api("POST", `/execution/${long}/cancel`)).status, 200);
    await poll("its ending", () => isTold(long), 20_000);
    assert.match(told, new RegExp(`"${long}".*ENDED_CANCELLED`));
    listening.abort();
    await reading;
  });

  test("services share a database: each answers for what another runs", async () => {
    const shared = { NODE_LEASE_SEC: 6, FLOW_MAX_CONCURRENT: 2, DATA_KEY: "5e".repeat(32) };
    await using one = await openRecording(shared);
    await using other = await openTestService({
      config: { DATABASE_URL: url, WORKER_THREADS: 4, ...shared },
      files: { "recording.ts": RECORDING },
    });
    const start = async (service: TestService, ms: number) => {
      const { headers } = await service.call("recording", `?async&ms=${ms}`);
      return headers["flowhook-execution-id"] ?? "";
    };
    const ended = async (service: TestService, id: string) =>
      poll("its ending", async () => {
        const answer = await service.api("GET", `/execution/${id}/wait`);
        const row = answer.status === 200 ? (JSON.parse(answer.text) as StoredRow) : null;
        return row?.status.startsWith("ENDED") ? row : null;
      });
    // What one is slow to start is taken by the other.
    const holders = (id: string) =>
      poll("its start", async () => {
        if ((await readStarted(one)).includes(id)) return [one, other] as const;
        return (await readStarted(other)).includes(id) ? ([other, one] as const) : null;
      });
    const leg = await one.call("recording", "?ms=600");
    const { search } = new URL(leg.headers["location"] ?? "", "http://a/b/call");
    assert.equal((await other.call("recording", search)).status, 200, "a leg on the other");
    const long = await start(one, 60_000);
    const [, elsewhere] = await holders(long);
    const cancelled = await elsewhere.api("POST", `/execution/${long}/cancel`);
    assert.match(cancelled.text, /"status":"ENDED_CANCELLED"/);
    const many = await Promise.all(Array.from({ length: 10 }, () => start(one, 1500)));
    for (const id of many) assert.equal((await ended(other, id)).status, "ENDED_SUCCESS");
    assert.ok((await readStarted(other)).length > 0, "what waited at one was run by the other");
    const lost = await start(one, 60_000);
    const [holder, left] = await holders(lost);
    await holder.kill();
    assert.match((await ended(left, lost)).status_message ?? "", /its node was lost/);
    const started = [...(await readStarted(one)), ...(await readStarted(other))];
    assert.equal(new Set(started).size, started.length, "started twice");
  });

  const REFUSED: Readonly<Record<string, [change: (url: URL) => void, RegExp]>> = {
    "a wrong password": [(at) => (at.password = "wrong"), /password authentication failed/],
    "an unknown database": [(at) => (at.pathname = "/nobody"), /database "nobody" does not exist/],
  };
  for (const [name, [change, message]] of Object.entries(REFUSED))
    test(`${name} is refused at once, and nothing shows the password`, async () => {
      const given = new URL(server.url);
      change(given);
      await using service = await openTestService({
        config: { DATABASE_URL: given.href },
        start: false,
      });
      await assert.rejects(service.start(), (error: Error) => {
        assert.match(error.message, message);
        assert.match(error.message, /ended with 78/);
        assert.ok(!error.message.includes(encodeURIComponent(PASSWORD)), error.message);
        assert.ok(!error.message.includes(PASSWORD), error.message);
        return true;
      });
    });

  test("a server without connections for all of a service says so", async () => {
    const own = await server.createDatabase();
    const client = new pg.Client(own);
    await client.connect();
    await client.query("create role few login password 'few' connection limit 1");
    await client.query("grant all on schema public to few");
    const given = new URL(own);
    given.username = given.password = "few";
    await using service = await openTestService({
      config: { DATABASE_URL: given.href },
      start: false,
    });
    const finished = await runCommand(service.target, ["serve"], { cwd: service.directory });
    await client.query("drop owned by few; drop role few");
    await client.end();
    assert.equal(finished.code, 1, finished.stderr);
    assert.match(
      finished.stderr,
      /^Cannot use the database "postgres:.+": too many connections for role "few"\. Each service/m,
    );
    assert.doesNotMatch(finished.stderr, /^\s+at /m, "no stack");
  });

  test("a database of something else is left alone", async () => {
    url = await server.createDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query("create table theirs (id integer)");
    await using service = await openTestService({ config: { DATABASE_URL: url }, start: false });
    await assert.rejects(service.start(), /has tables, but none of Flowhook/);
    const { rows } = await client.query(
      "select tablename from pg_tables where schemaname = 'public'",
    );
    assert.deepEqual(rows, [{ tablename: "theirs" }]);
    await client.end();
  });

  test("a file of the URL that cannot be read is told at once", async () => {
    const given = "postgres://me@127.0.0.1:1/shop?sslmode=verify-full&sslrootcert=/none/ca.pem";
    await using service = await openTestService({ config: { DATABASE_URL: given }, start: false });
    for (const command of ["serve", "check"]) {
      const finished = await runCommand(service.target, [command], { cwd: service.directory });
      assert.equal(finished.code, 78, finished.stderr);
      assert.match(finished.stderr, /File "\/none\/ca\.pem" \(sslrootcert of .+: ENOENT/);
    }
  });

  test("a server that is not there is tried for half a minute, with a line from time to time", async () => {
    const port = await findPort();
    const given = `postgres://me:secret-word@127.0.0.1:${port}/shop`;
    await using service = await openTestService({ config: { DATABASE_URL: given }, start: false });
    await assert.rejects(service.start(), (error: Error) => {
      const lines = error.message.split("\n").filter((line) => line.includes("tried again"));
      assert.ok(lines.length >= 4, error.message);
      assert.match(error.message, new RegExp(`database \\\\?"shop\\\\?" at 127.0.0.1:${port}`));
      assert.doesNotMatch(error.message, /secret-word/);
      return true;
    });
  });
});

function urlOf({ origin }: TestService): string {
  return `http://${origin.host}:${origin.port}`;
}
