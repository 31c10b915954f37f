import assert from "node:assert/strict";
import { test } from "node:test";
import Database from "better-sqlite3";
import { Kysely, SqliteDialect, type CompiledQuery } from "kysely";
import { keyOf, newExecutionId } from "../../src/shared/id.ts";
import type { Store } from "../../src/server/store/store.ts";
import {
  listExecutions,
  listLog,
  type ExecutionFilter,
} from "../../src/server/store/execution-lists.ts";
import type { ExecutionRow } from "../../src/server/store/execution-row.ts";
import {
  countAncestors,
  endExecution,
  findExecution,
  findPayload,
  insertExecution,
  insertLogLine,
  requeueExecution,
  runExecution,
  type EndedRow,
} from "../../src/server/store/executions.ts";
import { interruptRunning, listUnended } from "../../src/server/store/unended.ts";
import { SQLITE_DIALECT } from "../../src/server/store/sqlite/dialect.ts";
import { GO_ON } from "../../src/server/store/sqlite/go-on.ts";
import { defineRanks } from "../../src/server/store/sqlite/nearest-rank.ts";
import {
  countExecutions,
  deleteExecutions,
  listOld,
  oldestEnded,
} from "../../src/server/store/retention.ts";
import type { Schema } from "../../src/server/store/schema.ts";
import { readStatistics, type StatisticsRow } from "../../src/server/store/statistics.ts";
import { INPUT, newRow, toId } from "./rows.ts";
import { openStoreOf, pathOf, testStores } from "./stores.ts";

const open = (name: string): Promise<Store> => openStoreOf("sqlite", name);

const START = Date.UTC(2026, 5, 1);
const RUNNING = { status: "RUNNING" as const, ended_at: null };
const PENDING = { status: "PENDING" as const, started_at: null, ended_at: null };

function toEnd(id: string, members: Partial<EndedRow> = {}): EndedRow {
  const ending = { status: "ENDED_SUCCESS" as const, status_message: null, ended_at: 5 };
  return { id, ...ending, output_value: '{"n":1}', response: null, ...members };
}

async function insert(store: Store, rows: readonly ExecutionRow[]): Promise<void> {
  await Promise.all(rows.map((row) => store.commit(insertExecution(row, INPUT))));
}

testStores("a record is read as it was written, at each of its states", async (open) => {
  await using store = await open("states.db");
  const row = newRow(newExecutionId(), { ...PENDING, webhook: "w", parent_id: toId(START, 1) });
  await insert(store, [row]);
  assert.deepEqual(await findExecution(store, row.id), row);
  const empty = { output_value: null, response: null };
  assert.deepEqual(await findPayload(store, row.id), { ...INPUT, ...empty });
  await store.commit([runExecution({ id: row.id, started_at: 3 })]);
  assert.deepEqual(await findExecution(store, row.id), {
    ...row,
    status: "RUNNING",
    started_at: 3,
  });
  await store.commit([requeueExecution({ id: row.id })]);
  assert.deepEqual(await findExecution(store, row.id), row);
  const end = toEnd(row.id, { response: '{"status":201}' });
  await store.commit(endExecution(end));
  const { output_value, response, ...ended } = end;
  assert.deepEqual(await findExecution(store, row.id), { ...row, ...ended });
  assert.deepEqual(await findPayload(store, row.id), { ...INPUT, output_value, response });
});

testStores("an ended status never changes, and what was answered neither", async (open) => {
  await using store = await open("ended.db");
  for (const output_value of ['{"n":1}', null]) {
    const row = newRow(newExecutionId(), RUNNING);
    await insert(store, [row]);
    await store.commit(endExecution(toEnd(row.id, { output_value })));
    const record = await findExecution(store, row.id);
    const payload = await findPayload(store, row.id);
    const late = {
      status: "ENDED_ERROR" as const,
      output_value: '{"n":2}',
      response: "{}",
      ended_at: 9,
    };
    const later = [
      [endExecution(toEnd(row.id, late)), "already_ended"],
      [endExecution(toEnd(row.id, { ...late, output_value: null })), "already_ended"],
      [[runExecution({ id: row.id, started_at: 9 })], "not_pending"],
    ] as const;
    for (const [unit, code] of later) await assert.rejects(store.commit(unit), { code });
    assert.deepEqual(await store.commit([requeueExecution({ id: row.id })]), [0]);
    assert.deepEqual(await store.commit([interruptRunning(store, 9)]), [0]);
    assert.deepEqual(await findExecution(store, row.id), record);
    assert.deepEqual(await findPayload(store, row.id), payload);
  }
});

test("an output is inserted once: no statement of the store changes one", async () => {
  await using store = await open("output.db");
  const row = newRow(newExecutionId(), RUNNING);
  await insert(store, [row]);
  const db = new Database(pathOf("output.db"));
  for (const table of ["execution_output", "execution_input"])
    db.exec(`create trigger no_${table} before update on ${table}
      begin select raise(abort, 'it was changed'); end`);
  db.close();
  await store.commit(endExecution(toEnd(row.id)));
  assert.equal((await findPayload(store, row.id))?.output_value, '{"n":1}');
});

testStores("an id that was never given out is not found, though its key is taken", async (open) => {
  await using store = await open("foreign.db");
  const parent = newRow(newExecutionId(), RUNNING);
  const row = newRow(newExecutionId(), { ...RUNNING, parent_id: parent.id });
  await insert(store, [parent, row]);
  const line = { at: 1, level: "info" as const, text: "a line" };
  await store.commit([insertLogLine({ executionId: row.id, ...line })]);
  const foreign = `${row.id.slice(0, 19)}${row.id.endsWith("0") ? "a" : "b"}000-000000000000`;
  assert.equal(keyOf(foreign), keyOf(row.id));
  for (const id of [foreign, "", "nobody", row.id.toUpperCase(), toId(START, 1)]) {
    assert.equal(await findExecution(store, id), undefined, id);
    assert.equal(await findPayload(store, id), undefined);
    assert.equal(await countAncestors(store, id), 0);
    assert.deepEqual(await listLog(store, id, { after: 0, limit: 9 }), []);
    assert.deepEqual(await listExecutions(store, { parent_id: id, limit: 9 }), []);
  }
  assert.equal(await countAncestors(store, row.id), 1);
  assert.deepEqual(await listLog(store, row.id, { after: 0, limit: 9 }), [{ seq: 1, ...line }]);
  assert.deepEqual(await listExecutions(store, { parent_id: parent.id, limit: 9 }), [row]);
});

testStores("who an execution descends from is not told before it is known", async (open) => {
  await using store = await open("unknown.db");
  const row = newRow(newExecutionId(), RUNNING);
  await insert(store, [row]);
  const behind = { ...store, settled: () => Promise.resolve(false) };
  await assert.rejects(countAncestors(behind, row.id), { name: "StoreError" });
});

testStores("what is no id of an execution cannot be written", async (open) => {
  await using store = await open("no-id.db");
  assert.throws(() => insertExecution(newRow("nobody"), INPUT), /Cannot write an execution/);
  assert.throws(() => insertLogLine({ executionId: "", at: 1, level: "info", text: "" }));
  assert.equal(await countExecutions(store), 0);
});

test("keys go on after the largest in a store, and beside it where the clock is behind", async () => {
  const ahead = Date.now() + 3_600_000;
  {
    await using store = await open("ahead.db");
    await insert(
      store,
      [0, 7, 4].map((count) => newRow(toId(ahead, count, count))),
    );
  }
  await using store = await open("ahead.db");
  const ids = Array.from({ length: 2000 }, () => newExecutionId());
  assert.equal(new Set(ids.map(keyOf)).size, 2000);
  for (const id of ids) assert.ok((keyOf(id)! & 4095) > 7, id);
  await insert(
    store,
    ids.map((id) => newRow(id)),
  );
  assert.equal(await countExecutions(store), 2003);
});

const STATUSES = ["PENDING", "RUNNING", "ENDED_SUCCESS", "ENDED_ERROR", "ENDED_TIMEOUT"] as const;
const MINUTE_MS = 60_000;

/** Rows that differ in all that lists filter by; some are of one millisecond. */
function makeRows(count: number): ExecutionRow[] {
  return Array.from({ length: count }, (_, n) => {
    const created_at = START + Math.floor(n / 3) * MINUTE_MS;
    const status = STATUSES[n % STATUSES.length]!;
    return newRow(toId(created_at, n, n % 3), {
      status,
      status_message: n % 2 === 0 ? `Message ${n}` : null,
      webhook: n % 4 === 0 ? null : `w${n % 4}`,
      flow: `f${n % 3}`,
      project_id: `p${n % 7}`,
      parent_id: n % 6 === 5 ? toId(START, 0) : null,
      replay_of: n % 5 === 4 ? toId(START, 1) : null,
      role_id: `r${n % 3}`,
      created_by: n % 8 === 0 ? null : `u${n % 8}`,
      created_at,
      started_at: created_at,
      ended_at: status.startsWith("ENDED") ? created_at + 10 : null,
    });
  });
}

function fits(row: ExecutionRow, filter: Omit<ExecutionFilter, "limit">): boolean {
  const { statuses, from, to, text, projectIds, webhook, flow, project_id, parent_id } = filter;
  return (
    (statuses?.includes(row.status) ?? true) &&
    row.created_at >= (from ?? 0) &&
    row.created_at < (to ?? Number.POSITIVE_INFINITY) &&
    (row.status_message ?? "").toLowerCase().includes((text ?? "").toLowerCase()) &&
    (projectIds?.includes(row.project_id) ?? true) &&
    [undefined, row.webhook].includes(webhook) &&
    [undefined, row.flow].includes(flow) &&
    [undefined, row.project_id].includes(project_id) &&
    [undefined, row.parent_id].includes(parent_id) &&
    [undefined, row.replay_of].includes(filter.replay_of) &&
    [undefined, row.role_id].includes(filter.role_id) &&
    [undefined, row.created_by].includes(filter.created_by)
  );
}

const FAILURES = ["ENDED_CANCELLED", "ENDED_ERROR", "ENDED_TIMEOUT"];
const UNENDED = ["PENDING", "RUNNING"];
const FILTERS: readonly Omit<ExecutionFilter, "limit">[] = [
  {},
  { webhook: "w1" },
  { flow: "f2", from: START + 20 * MINUTE_MS },
  { statuses: FAILURES },
  { statuses: FAILURES, webhook: "w3", to: START + 60 * MINUTE_MS },
  { statuses: ["ENDED_ERROR"] },
  { statuses: UNENDED },
  { statuses: UNENDED, parent_id: toId(START, 0) },
  { statuses: ["PENDING", "ENDED_SUCCESS"] },
  { parent_id: toId(START, 0) },
  { replay_of: toId(START, 1) },
  { role_id: "r1" },
  { created_by: "u3", role_id: "r2" },
  { created_by: "nobody" },
  { project_id: "p3", text: "MESSAGE 1" },
  { projectIds: ["p1", "p2"], from: START + 5 * MINUTE_MS, to: START + 50 * MINUTE_MS },
  { projectIds: [] },
  { from: -1e20, to: 1e20 },
  { from: START + 400 * MINUTE_MS },
];

testStores("lists: every filter, page by page, in both directions", async (open) => {
  await using store = await open("lists.db");
  const rows = makeRows(300);
  await insert(store, rows.toReversed());
  for (const filter of FILTERS)
    for (const ascending of [true, false]) {
      const expected = rows.filter((row) => fits(row, filter));
      const found: ExecutionRow[] = [];
      for (let after: string | undefined; ;) {
        const page = await listExecutions(store, { ...filter, ascending, after, limit: 7 });
        found.push(...page);
        if (page.length < 7) break;
        after = page.at(-1)?.id;
      }
      assert.deepEqual(found, ascending ? expected : expected.toReversed(), JSON.stringify(filter));
    }
});

const SEARCHES: readonly [text: string, found: readonly string[]][] = [
  ["übung", ["Übung macht", "ÜBUNG"]],
  ["ÜBUNG".normalize("NFD"), ["Übung macht", "ÜBUNG"]],
  // Stored in parts, as a file's name of macOS is.
  ["CAFE\u0301.txt", ["no cafe\u0301.txt"]],
  ["caf\u00e9", ["no cafe\u0301.txt"]],
  ["ΟΔΌΣ", ["οδός"]],
  ["straße", ["Straße*[1]"]],
  ["*[1]", ["Straße*[1]"]],
  ["100%", ["100% ^a-]_?"]],
  ["0% ^", ["100% ^a-]_?"]],
  ["1%a", []],
  ["b|\\", ["A.B|\\("]],
  ["^A-]_?", ["100% ^a-]_?"]],
  ["a.b|\\(", ["A.B|\\("]],
  ["a_b", []],
  [".*", []],
  ["\0", []],
  ["a\0", []],
];

testStores("a text is found in any case, in every script, and means itself", async (open) => {
  await using store = await open("searched.db");
  const all = [...new Set(SEARCHES.flatMap(([, found]) => found))];
  const rows = all.map((status_message, n) => newRow(toId(START + n, n), { status_message }));
  await insert(store, rows);
  for (const [text, expected] of SEARCHES) {
    const found = await listExecutions(store, { text, ascending: true, limit: 50 });
    assert.deepEqual(
      found.map((row) => row.status_message),
      expected,
      text,
    );
  }
});

testStores("unended ones are read in order, from the first or after one", async (open) => {
  await using store = await open("unended.db");
  const rows = makeRows(300);
  await insert(store, rows);
  for (const status of ["PENDING", "RUNNING"] as const) {
    const expected = rows.filter((row) => row.status === status);
    assert.deepEqual(await listUnended(store, status, { after: "", limit: 500 }), expected);
    const [first, second] = expected;
    const page = { after: first!.id, limit: 1 };
    assert.deepEqual(await listUnended(store, status, page), [second]);
  }
  const [interrupted] = await store.commit([interruptRunning(store, 9)]);
  assert.equal(interrupted, 60);
  assert.deepEqual(await listUnended(store, "RUNNING", { after: "", limit: 500 }), []);
});

for (const by of ["webhook", "flow"] as const)
  testStores(`statistics count what was created in a time, by ${by}`, async (open) => {
    await using store = await open(`statistics-${by}.db`);
    const rows = makeRows(300);
    await insert(store, rows);
    const hour = 60 * MINUTE_MS;
    const request = { from: START + 10 * MINUTE_MS, to: START + 90 * MINUTE_MS, intervalMs: hour };
    const found = await readStatistics(store, { ...request, by, projectIds: null });
    const told = new Map(
      found.map(({ at, webhook, flow, ...row }) => [`${at} ${webhook} ${flow}`, row]),
    );
    const expected = Map.groupBy(
      rows.filter((row) => row.created_at >= request.from && row.created_at < request.to),
      (row) => {
        const group = by === "webhook" ? `${row.webhook} null` : `null ${row.flow}`;
        return `${Math.floor(row.created_at / hour) * hour} ${group}`;
      },
    );
    assert.equal(told.size, expected.size);
    for (const [group, of] of expected)
      assert.deepEqual(told.get(group), {
        calls: of.length,
        failures: of.filter(({ status }) => FAILURES.includes(status)).length,
        duration_avg_ms: of.some((row) => row.ended_at !== null) ? 10 : null,
        duration_max_ms: of.some((row) => row.ended_at !== null) ? 10 : null,
        duration_p50_ms: of.some((row) => row.ended_at !== null) ? 10 : null,
        duration_p95_ms: of.some((row) => row.ended_at !== null) ? 10 : null,
        duration_p99_ms: of.some((row) => row.ended_at !== null) ? 10 : null,
      });
  });

testStores(
  "statistics tell how long so many of a hundred took at most; cancelled ones are no failures",
  async (open) => {
    await using store = await open("percentiles.db");
    const rows = Array.from({ length: 101 }, (_, ms) =>
      newRow(toId(START, ms, ms), {
        status: ms === 7 ? "ENDED_CANCELLED" : ms === 8 ? "ENDED_TIMEOUT" : "ENDED_SUCCESS",
        created_at: START,
        started_at: START,
        ended_at: START + ms,
      }),
    );
    await insert(store, rows);
    const request = { from: START, to: START + 1, intervalMs: MINUTE_MS };
    const [found] = await readStatistics(store, { ...request, by: null, projectIds: null });
    const { duration_p50_ms, duration_p95_ms, duration_p99_ms, failures } = found as StatisticsRow;
    assert.deepEqual([duration_p50_ms, duration_p95_ms, duration_p99_ms], [50, 95, 99]);
    assert.equal(failures, 1);
  },
);

/** The nearest ranks of 50, 95 and 99 of a hundred. */
const RANKS: readonly (readonly [durations: readonly number[], expected: readonly unknown[]])[] = [
  [[], [null, null, null]],
  [[7], [7, 7, 7]],
  [
    [1000, 10],
    [10, 1000, 1000],
  ],
  [
    [10, 20, 30, 3000],
    [20, 3000, 3000],
  ],
  [
    [...Array.from({ length: 19 }, () => 10), 5000],
    [10, 10, 5000],
  ],
];

testStores("so many of a hundred took at most what one of them took", async (open) => {
  await using store = await open("ranks.db");
  for (const [count, [durations]] of RANKS.entries()) {
    const at = START + count * MINUTE_MS;
    const running = { ...newRow(toId(at, 0, 99), {}), created_at: at };
    const ended = durations.map((ms, n) =>
      newRow(toId(at, 0, n), { created_at: at, started_at: at, ended_at: at + ms }),
    );
    await insert(store, [{ ...running, started_at: at, ended_at: null }, ...ended]);
  }
  const to = START + RANKS.length * MINUTE_MS;
  const request = { from: START, to, intervalMs: MINUTE_MS, by: null, projectIds: null };
  const found = await readStatistics(store, request);
  assert.deepEqual(
    found.map((row) => [row.duration_p50_ms, row.duration_p95_ms, row.duration_p99_ms]),
    RANKS.map(([, expected]) => expected),
  );
});

test("retention takes the oldest that have ended, with all that belongs to them", async () => {
  await using store = await open("retention.db");
  const rows = makeRows(300);
  await insert(store, rows);
  const ended = rows.filter(({ ended_at }) => ended_at !== null).map(({ id }) => id);
  await store.commit(
    ended.map((id) => insertLogLine({ executionId: id, at: 1, level: "info", text: id })),
  );
  const db = new Database(pathOf("retention.db"));
  db.exec("insert into execution_output select key, 'x', null from execution where ended_at > 0");
  const before = START + 30 * MINUTE_MS;
  const old = await oldestEnded(store, { before, limit: 20 });
  assert.deepEqual(old, ended.slice(0, 20));
  await store.commit(deleteExecutions(store, old));
  const left = ended.length - 20;
  const count = (table: string) => db.prepare(`select count(*) from ${table}`).pluck().get();
  assert.deepEqual(
    ["execution", "execution_input", "execution_output", "execution_log"].map(count),
    [280, 280, left, left],
  );
  db.close();
  for (const id of old) assert.equal(await findExecution(store, id), undefined);
  assert.deepEqual(await listLog(store, old[0]!, { after: 0, limit: 9 }), []);
  const [line] = await listLog(store, ended[20]!, { after: 0, limit: 9 });
  assert.equal(line?.text, ended[20]);
});

/** The statement that a list asks, and how SQLite answers it. */
async function planOf(db: Database.Database, read: (store: Store) => Promise<unknown>) {
  const asked: CompiledQuery[] = [];
  const lists = new Kysely<Schema>({
    dialect: new SqliteDialect({ database: db }),
    log: ({ query }) => void asked.push(query),
  });
  await read({ lists, rows: lists, dialect: SQLITE_DIALECT } as unknown as Store);
  const { sql, parameters } = asked[0] as CompiledQuery;
  const rows = db.prepare(`explain query plan ${sql}`).all(...parameters);
  return (rows as { detail: string }[]).map(({ detail }) => detail).join("; ");
}

const PLANS: Readonly<Record<string, [(store: Store) => Promise<unknown>, RegExp]>> = {
  "the claims of one": [
    (store) => store.rows.deleteFrom("execution_claim").where("execution_key", "in", [1]).execute(),
    /^SEARCH .* execution_claim_execution \(execution_key=\?\)$/,
  ],
  "claims that have expired": [
    (store) => store.rows.deleteFrom("execution_claim").where("expires_at", "<", 1).execute(),
    /^SEARCH .* execution_claim_expires_at \(expires_at<\?\)$/,
  ],
  "the first page": [list({}), /^SCAN execution$/],
  "a later page": [list({ after: toId(START, 1) }), /^SEARCH .* PRIMARY KEY \(rowid<\?\)$/],
  "a time": [list({ from: 1, to: 2 }), /^SEARCH .* PRIMARY KEY \(rowid>\? AND rowid<\?\)$/],
  "a webhook": [list({ webhook: "w" }), /^SEARCH .* execution_webhook \(webhook=\?\)$/],
  "a flow since": [
    list({ flow: "f", from: 1 }),
    /^SEARCH .* execution_flow \(flow=\? AND rowid>\?\)$/,
  ],
  failures: [list({ statuses: FAILURES }), /^SCAN execution USING INDEX execution_failed$/],
  "errors in a time": [
    list({ statuses: ["ENDED_ERROR"], from: 1, to: 2 }),
    /^SEARCH .* execution_failed \(key>\? AND key<\?\)$/,
  ],
  waiting: [list({ statuses: ["PENDING"] }), /^SEARCH .* execution_unended \(status=\?\)$/],
  unended: [
    list({ statuses: UNENDED }),
    /^SEARCH .* execution_unended \(status=\?\); USE TEMP B-TREE/,
  ],
  children: [list({ parent_id: toId(START, 1) }), /^SEARCH .* execution_parent \(parent_key=\?\)$/],
  replays: [
    list({ replay_of: toId(START, 1) }),
    /^SEARCH .* execution_replay_of \(replay_of=\?\)$/,
  ],
  "what somebody started": [
    list({ created_by: "u", from: 1 }),
    /^SEARCH .* execution_created_by \(created_by=\? AND rowid>\?\)$/,
  ],
  // Nearly every execution has one of a few roles: the newest are found among the newest.
  "a role": [list({ role_id: "r" }), /^SCAN execution$/],
  "what is resumed": [
    (store) => listUnended(store, "PENDING", { after: "", limit: 500 }),
    /^SEARCH .* execution_unended \(status=\? AND rowid>\?\)$/,
  ],
  "a log": [
    (store) => listLog(store, toId(START, 1), { after: 1, limit: 50 }),
    /^SEARCH execution_log USING INDEX execution_log_execution \(execution_key=\? AND rowid>\?\)/,
  ],
  "what is old": [
    (store) => oldestEnded(store, { before: 1, limit: 200 }),
    /^SEARCH .* PRIMARY KEY \(rowid<\?\)$/,
  ],
  "what is old, and whether it is known": [
    (store) => listOld(store, { before: 2, after: toId(START, 1), at: 1, limit: 200 }),
    /^SEARCH .* PRIMARY KEY \(rowid>\? AND rowid<\?\); CORRELATED .* execution_claim_execution \(execution_key=\?\)$/,
  ],
  "failures of a webhook": [
    list({ statuses: FAILURES, webhook: "w" }),
    /^SEARCH .* execution_failed_webhook \(webhook=\?\)$/,
  ],
  "failures of a flow since": [
    list({ statuses: ["ENDED_ERROR"], flow: "f", from: 1 }),
    /^SEARCH .* execution_failed_flow \(flow=\? AND rowid>\?\)$/,
  ],
  "how many": [countExecutions, /COVERING INDEX/],
  statistics: [
    (store) =>
      readStatistics(store, {
        from: 1,
        to: 2,
        intervalMs: 9,
        by: null,
        projectIds: null,
      }),
    /^SEARCH .* PRIMARY KEY \(rowid>\? AND rowid<\?\); USE TEMP B-TREE FOR GROUP BY$/,
  ],
};

function list(filter: Omit<ExecutionFilter, "limit">) {
  return (store: Store): Promise<unknown> => listExecutions(store, { ...filter, limit: 50 });
}

test("each list has its index, and none is sorted but the few that have not ended", async () => {
  await (await open("plans.db"))[Symbol.asyncDispose]();
  const db = new Database(pathOf("plans.db"));
  db.function(GO_ON, { deterministic: false }, () => 1);
  defineRanks(db);
  const used = new Set<string>();
  for (const [name, [read, expected]] of Object.entries(PLANS)) {
    const plan = await planOf(db, read);
    assert.match(plan, expected, name);
    for (const [index] of plan.matchAll(/execution_\w+(?= \(|$)/g)) used.add(index);
  }
  const indexes = db
    .prepare("select name from sqlite_master where type = 'index' and sql is not null order by 1")
    .pluck()
    .all();
  db.close();
  assert.deepEqual([...used].toSorted(), indexes, "and there is no index beside them");
});
