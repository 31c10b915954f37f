import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import pg from "pg";
import { pino } from "pino";
import { Retention, type RetentionLimits } from "../../src/server/executions/retention.ts";
import { newId } from "../../src/shared/id.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { putClaim } from "../../src/server/store/claims.ts";
import { listExecutions } from "../../src/server/store/execution-lists.ts";
import { countExecutions } from "../../src/server/store/retention.ts";
import { insertExecution } from "../../src/server/store/executions.ts";
import { openPostgres } from "../postgres-server.ts";
import { POSTGRES_THREAD } from "../store/postgres-thread.ts";
import { INPUT, newRow, toId } from "../store/rows.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-retention-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
after(() => rmSync(folder, { recursive: true, force: true }));

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 5, 1);

/** A store with executions of these ages in days, and a machine whose clocks a test moves. */
async function open(stack: AsyncDisposableStack, ages: readonly number[]) {
  const path = join(folder, `${Math.random()}.db`);
  const store = stack.use(await openSqliteStore({ path, durability: "full", addon: null, thread }));
  await insert(
    store,
    ages.map((days) => START - days * DAY_MS),
  );
  const clock = { wall: START, steady: 5000 };
  const clocks = { wall: () => clock.wall, steady: () => clock.steady };
  const logged: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void logged.push(line) });
  const started: Retention[] = [];
  async function start(limits: Partial<RetentionLimits> = {}): Promise<Retention> {
    const whole = { days: 30, maxExecutions: null, maxBytes: null, ...limits };
    const retention = stack.use(new Retention(store, whole, log, clocks));
    started.push(retention);
    await retention.sweep();
    return retention;
  }
  return {
    store,
    clock,
    logged,
    start,
    /** Both clocks go on, with a sweep each minute as the service makes it. */
    async pass(retention: Retention, ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += MINUTE_MS) {
        clock.wall += MINUTE_MS;
        clock.steady += MINUTE_MS;
        await retention.sweep();
      }
    },
    count: () => countExecutions(store),
  };
}

async function insert(store: Store, times: readonly number[]): Promise<void> {
  const rows = times.map((at, number) =>
    newRow(toId(at, number), { created_at: at, ended_at: at }),
  );
  await store.commit(rows.flatMap((row) => insertExecution(row, INPUT)));
}

/** Some of each day, two hours ago the last: as a service in use has them. */
const USUAL = Array.from({ length: 100 }, (_, day) => day + 1 / 12);

test("what a key still makes known is kept beyond an age, and not beyond a number or a size", async () => {
  await using stack = new AsyncDisposableStack();
  const ages = [50, 40, 2, 1, 1 / 12];
  const { store, start, count } = await open(stack, ages);
  const ids = ages.map((days, number) => toId(START - days * DAY_MS, number));
  const claims = [START + DAY_MS, START - 1, START + DAY_MS, START - 1, START - 1];
  await store.commit(
    ids.map((id, at) =>
      putClaim({
        hash: id,
        fingerprint: null,
        expires_at: claims[at] as number,
        executionId: id,
      }),
    ),
  );
  const left = async () => (await listExecutions(store, { limit: 9 })).map(({ id }) => id);
  await start();
  assert.deepEqual(await left(), [ids[4], ids[3], ids[2], ids[0]], "what is old and not known");
  await start({ maxExecutions: 2 });
  assert.deepEqual(await left(), [ids[4], ids[3]], "the oldest are too many");
  await start({ maxBytes: 0 });
  assert.equal(await count(), 0);
});

test("what is free is given back to the disk within the sweep", async () => {
  await using stack = new AsyncDisposableStack();
  const { store, start, count } = await open(stack, []);
  const input = { ...INPUT, input_value: JSON.stringify({ json: "a".repeat(2 ** 20) }) };
  for (let n = 0; n < 24; n += 1) {
    const row = newRow(toId(START + n, n), { created_at: START, ended_at: START });
    await store.commit(insertExecution(row, input));
  }
  await start({ maxExecutions: 1 });
  assert.equal(await count(), 1);
  const { free } = await store.maintain();
  assert.ok(free <= 2 ** 24, `${free} bytes`);
});

test("claims that have expired go, however many", async () => {
  await using stack = new AsyncDisposableStack();
  const { store, start } = await open(stack, [1]);
  const [row] = await listExecutions(store, { limit: 1 });
  assert.ok(row !== undefined);
  const rows = Array.from({ length: 2500 }, (_, number) => ({
    hash: String(number),
    fingerprint: null,
    expires_at: number < 2400 ? START - 1 : START + 1,
    executionId: row.id,
  }));
  await store.commit(rows.map((one) => putClaim(one)));
  await start();
  const { count } = await store.rows
    .selectFrom("execution_claim")
    .select((of) => of.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  assert.equal(count, 100);
});

describe("L8: retention by age", () => {
  test("L8: deletes what is old, at the start and later", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, pass } = await open(stack, USUAL);
    const retention = await start();
    assert.equal(await count(), 30);
    await pass(retention, DAY_MS);
    assert.equal(await count(), 29);
  });

  test("L8: a clock that is set ahead for a minute deletes nothing", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, clock, pass, logged } = await open(stack, USUAL);
    const retention = await start();
    clock.wall += 365 * DAY_MS;
    await pass(retention, 2 * MINUTE_MS);
    clock.wall -= 365 * DAY_MS;
    await pass(retention, 2 * HOUR_MS);
    assert.equal(await count(), 30);
    const said = logged.filter((line) => line.includes("The clock was set"));
    assert.equal(said.length, 2);
    assert.match(
      said[0] ?? "",
      /"level":40,.*"jump_ms":31536000000,.*set ahead; nothing is deleted/,
    );
    assert.match(said[1] ?? "", /set back; nothing is deleted by its age before/);
  });

  test("L8: one that stays where it was set is believed after an hour", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, clock, pass } = await open(stack, USUAL);
    const retention = await start();
    clock.wall += 10 * DAY_MS;
    await pass(retention, HOUR_MS - MINUTE_MS);
    assert.equal(await count(), 30);
    await pass(retention, 2 * MINUTE_MS);
    assert.equal(await count(), 20);
  });

  test("L8: each jump begins the hour anew", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, clock, pass } = await open(stack, USUAL);
    const retention = await start();
    for (const days of [90, -80, 90, -90]) {
      clock.wall += days * DAY_MS;
      await pass(retention, HOUR_MS - MINUTE_MS);
    }
    assert.equal(await count(), 30);
  });

  test("L8: a clock that runs a little fast is believed", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, clock, pass, logged } = await open(stack, USUAL);
    const retention = await start();
    for (let hour = 0; hour < 30; hour += 1) {
      clock.wall += 2 * MINUTE_MS;
      await pass(retention, HOUR_MS);
    }
    assert.equal(await count(), 29);
    assert.deepEqual(
      logged.filter((line) => line.includes("clock")),
      [],
    );
  });

  test("L8: a start long after the newest entry deletes nothing for an hour", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, pass, logged } = await open(stack, [40, 50, 60]);
    const retention = await start();
    assert.equal(await count(), 3);
    assert.match(logged.join(""), /or the clock is ahead; nothing is deleted by its age/);
    await pass(retention, HOUR_MS + MINUTE_MS);
    assert.equal(await count(), 0);
  });

  test("L8: nor does one with a clock that is ahead and has written already", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, clock, store } = await open(stack, USUAL);
    clock.wall += 365 * DAY_MS;
    await insert(store, [clock.wall - MINUTE_MS, clock.wall - 10 * MINUTE_MS]);
    await start();
    assert.equal(await count(), 102);
  });

  test("L8: nor one with a clock that is behind", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count, clock, logged } = await open(stack, USUAL);
    clock.wall -= 20 * DAY_MS;
    await start();
    assert.equal(await count(), 100);
    assert.match(
      logged.join(""),
      /"level":40,.*The clock is behind what was written before; nothing/,
    );
  });

  test("L8: limits that know no time hold meanwhile", async () => {
    await using stack = new AsyncDisposableStack();
    const { start, count } = await open(stack, [40, 50, 60]);
    await start({ maxExecutions: 2 });
    assert.equal(await count(), 2);
  });

  test("L8: an empty store, and one of its first hour, wait for nothing", async () => {
    await using stack = new AsyncDisposableStack();
    const empty = await open(stack, []);
    await empty.start();
    const fresh = await open(stack, [0.01]);
    await fresh.start({ days: 0 });
    assert.equal(await fresh.count(), 0);
    assert.deepEqual(
      [...empty.logged, ...fresh.logged].filter((line) => /clock/.test(line)),
      [],
    );
  });
});

describe("what is beyond the limits goes, whatever else cannot be deleted", () => {
  test("more executions than one list may count", async () => {
    await using stack = new AsyncDisposableStack();
    const { store, client } = await openPostgresSweep(stack, { listMs: 1800 });
    await fill(client, 120_000);
    await client.query("analyze execution");
    // All of them take 2.4 s to read.
    await client.query("alter table execution rename to stored");
    await client.query(`create view execution as select * from stored
      where case when key % 10000 = 0 then pg_sleep(0.2) is not null else true end`);
    assert.equal(await countExecutions(store), 120_000);
    await client.query("drop view execution");
    await client.query("alter table stored rename to execution");
  });

  test("what is old, where none can be counted", async () => {
    await using stack = new AsyncDisposableStack();
    const { store, client, sweep } = await openPostgresSweep(stack);
    await insert(store, [Date.now() - 1000, Date.now()]);
    await client.query(`insert into execution_claim (hash, execution_key, expires_at)
      values ('h', 1, 5)`);
    await client.query(`create function refuse() returns trigger language plpgsql as
      $$ begin raise 'refused'; end $$`);
    await client.query(`create trigger refuse before delete on execution
      for each row execute function refuse()`);
    await assert.rejects(sweep({ maxExecutions: 1, maxBytes: 1 }), /refused/);
    const { rows } = await client.query("select hash from execution_claim");
    assert.deepEqual(rows, []);
  });
});

/** A store of PostgreSQL that is swept once, some time after its last entry. */
async function openPostgresSweep(stack: AsyncDisposableStack, { listMs = 5000 } = {}) {
  const server = await openPostgres();
  stack.defer(() => server.stop());
  const url = await server.createDatabase();
  const node = { name: "n", version: "0", leaseMs: 60_000, folderId: newId(), folderPlace: "1:1" };
  const own = { url, durability: "normal", connections: 8, thread: POSTGRES_THREAD } as const;
  const store = stack.use(await openPostgresStore({ ...own, name: "t", node, listMs }));
  const client = new pg.Client(url);
  await client.connect();
  stack.defer(() => client.end());
  const log = pino({ base: null }, { write: () => {} });
  return {
    store,
    client,
    sweep(limits: Partial<RetentionLimits>): Promise<number> {
      const whole = { days: null, maxExecutions: null, maxBytes: null, ...limits };
      return stack.use(new Retention(store, whole, log)).sweep();
    },
  };
}

async function fill(client: pg.Client, count: number): Promise<void> {
  await client.query(`insert into execution (key, id, status, flow, is_productive, is_async,
      project_id, created_at, started_at, ended_at)
    select n, 'x' || n, 'ENDED_SUCCESS', 'f', 1, 0, 'p', 1, 1, 1 from generate_series(1, ${count}) n`);
}
