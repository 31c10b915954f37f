import assert from "node:assert/strict";
import { test } from "node:test";
import { openSharedCounts } from "../../src/server/access/failure-counts.ts";
import { openLockout, type Lockout } from "../../src/server/access/lockout.ts";
import type { RequestError } from "../../src/shared/errors.ts";
import { newExecutionId, newId } from "../../src/shared/id.ts";
import {
  addAttempt,
  deleteOldAttempts,
  forgiveAttempt,
  lockLeftMs,
  takeAttemptBack,
} from "../../src/server/store/attempts.ts";
import type { ClaimRow } from "../../src/server/store/claim-row.ts";
import { findClaim } from "../../src/server/store/claims.ts";
import { connectionsByMonth } from "../../src/server/store/connection-usage.ts";
import { findExecution } from "../../src/server/store/executions.ts";
import type { BeginRecord } from "../../src/server/store/ledger-record.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { findWebhook, insertWebhook, updateWebhook } from "../../src/server/store/webhooks.ts";
import {
  insertRole,
  insertUser,
  insertUserRole,
  updatePeople,
} from "../../src/server/store/people.ts";
import { keepingAdmin } from "../../src/server/store/user-roles.ts";
import { WEBHOOK_DEFAULTS } from "../../src/server/store/webhook-columns.ts";
import { poll } from "../blackbox/scenario.ts";
import { INPUT, newRow } from "./rows.ts";
import { urlOf } from "./stores.ts";
import { POSTGRES_THREAD } from "./postgres-thread.ts";

/** What two services on one database leave to it to decide. */

async function openBoth(
  stack: AsyncDisposableStack,
  name: string,
  allowance: number | null = null,
): Promise<[Store, Store]> {
  const url = await urlOf(name);
  const open = async () => {
    const folder = { folderId: newId(), folderPlace: name };
    const node = { name: "n", version: "0", leaseMs: 15_000, ...folder };
    const options = { url, durability: "normal", connections: 8, thread: POSTGRES_THREAD } as const;
    return stack.use(await openPostgresStore({ ...options, name: "t", node, allowance }));
  };
  return [await open(), await open()];
}

function newBegin(claims: readonly ClaimRow[] = [], month: string | null = null): BeginRecord {
  const { input_value: _, ...input } = INPUT;
  const row = newRow(newExecutionId(), { status: "PENDING", started_at: null, ended_at: null });
  return { kind: "begin", row, input, month, ...(claims.length > 0 && { claims }) };
}

/** Resolves with what became of it. */
function append({ ledger }: Store, record: BeginRecord): Promise<string> {
  return new Promise((resolve) =>
    ledger.append(record, "1", {
      applied: () => resolve("begun"),
      failed: ({ kind }) => resolve(kind),
    }),
  );
}

function claim(hash: string, lifeMs = 60_000, replaces?: string): ClaimRow {
  const row = { hash, fingerprint: null, expires_at: Date.now() + lifeMs };
  return replaces === undefined ? row : { ...row, replaces };
}

test("of two services one has a task; the other waits for it, or goes on", async () => {
  await using stack = new AsyncDisposableStack();
  const [one, other] = await openBoth(stack, "tasks.db");
  const held = await one.shared?.hold("retention", false);
  assert.equal(await other.shared?.hold("retention", false), null);
  assert.notEqual(await other.shared?.hold("firstStart", false), null, "another task");
  const waiting = other.shared?.hold("retention", true);
  await held?.[Symbol.asyncDispose]();
  assert.notEqual(await waiting, null);
  assert.equal(await one.shared?.hold("retention", false), null);
});

test("of many begins at both with one claim, one begins", async () => {
  await using stack = new AsyncDisposableStack();
  const both = await openBoth(stack, "claims.db");
  const begins = Array.from({ length: 60 }, () => newBegin([claim("h")]));
  const told = await Promise.all(begins.map((record, n) => append(both[n % 2] as Store, record)));
  assert.equal(told.filter((one) => one === "begun").length, 1);
  assert.equal(told.filter((one) => one === "claimed").length, 59);
  const winner = begins[told.indexOf("begun")] as BeginRecord;
  for (const store of both) {
    assert.equal((await findClaim(store, "h", Date.now()))?.id, winner.row.id);
    assert.ok(await store.settled(), "a refused begin is no missing record");
  }
  for (const { row } of begins.filter((one) => one !== winner))
    assert.equal(await findExecution(both[0], row.id), undefined);
  // The answer of the first try was lost.
  assert.equal(await append(both[0], winner), "begun");
});

test("a claim is taken over where it has expired or counts no more, and whole or not at all", async () => {
  await using stack = new AsyncDisposableStack();
  const [one, other] = await openBoth(stack, "over.db");
  const first = newBegin([claim("a", -1), claim("b")]);
  assert.equal(await append(one, first), "begun");
  assert.equal(await append(other, newBegin([claim("a")])), "begun", "it had expired");
  assert.equal(await append(other, newBegin([claim("c"), claim("b")])), "claimed");
  assert.equal(await findClaim(one, "c", 0), undefined, "of what was refused nothing is left");
  assert.equal(await append(other, newBegin([claim("b", 1, newExecutionId())])), "claimed");
  const second = newBegin([claim("b", 60_000, first.row.id)]);
  const third = newBegin([claim("b", 60_000, first.row.id)]);
  const told = await Promise.all([append(one, second), append(other, third)]);
  assert.deepEqual(told.toSorted(), ["begun", "claimed"], "one takes the place of the first");
});

test("an allowance is exact over both, and a lost answer costs nothing of it", async () => {
  await using stack = new AsyncDisposableStack();
  const both = await openBoth(stack, "allowance.db", 25);
  const month = "2026-11";
  const begins = Array.from({ length: 60 }, () => newBegin([], month));
  const told = await Promise.all(begins.map((record, n) => append(both[n % 2] as Store, record)));
  assert.equal(told.filter((one) => one === "begun").length, 25);
  assert.equal(told.filter((one) => one === "allowance").length, 35);
  assert.equal(await append(both[0], begins[told.indexOf("begun")] as BeginRecord), "begun");
  assert.equal(await append(both[1], newBegin([claim("x")], month)), "allowance");
  assert.equal(await findClaim(both[0], "x", 0), undefined, "what was refused claims nothing");
  assert.equal(await append(both[1], newBegin([], null)), "begun", "what is no connection");
  assert.equal(await append(both[1], newBegin([], "2026-12")), "begun", "another month");
  assert.deepEqual(
    await connectionsByMonth(both[1]),
    new Map([
      [month, 25],
      ["2026-12", 1],
    ]),
  );
});

test("without an allowance both count, and neither waits for the other", async () => {
  await using stack = new AsyncDisposableStack();
  const both = await openBoth(stack, "counts.db");
  const begins = Array.from({ length: 40 }, () => newBegin([], "2026-11"));
  await Promise.all(begins.map((record, n) => append(both[n % 2] as Store, record)));
  assert.deepEqual(await connectionsByMonth(both[0]), new Map([["2026-11", 40]]));
});

test("a webhook that one changes is read by the other as it is, once the change is answered", async () => {
  await using stack = new AsyncDisposableStack();
  const [one, other] = await openBoth(stack, "rows.db");
  const none = { role_id: null, project_id: null, bundle_id: null, key_hash: null };
  const keys = { previous_key_hash: null, previous_key_until: null };
  const uses = { key_used_at: null, previous_key_used_at: null };
  const names = { id: "w", name: "w", description: "", flow: "f", require_login: 0 };
  const by = { created_by: "u", created_at: 1, modified_by: "u", modified_at: 1 };
  const flags = { is_enabled: 1, is_productive: 1, execution_location: "webhook" } as const;
  const row = { ...WEBHOOK_DEFAULTS, ...none, ...keys, ...uses, ...names, ...flags, ...by };
  await one.commit([insertWebhook(one, row)]);
  const kept = await findWebhook(other, "w");
  assert.equal(await findWebhook(other, "w"), kept, "it is kept for a moment");
  const reading = setInterval(() => void findWebhook(other, "w"), 5);
  stack.defer(() => clearInterval(reading));
  for (let change = 1; change <= 8; change += 1) {
    const is_enabled = change % 2;
    await one.commit([updateWebhook(one, "w", change, { is_enabled, modified_at: change + 1 })]);
    assert.equal((await findWebhook(other, "w"))?.is_enabled, is_enabled);
    assert.equal((await findWebhook(one, "w"))?.is_enabled, is_enabled);
  }
});

test("failures of one address count at both, up to their limits, and are forgiven", async () => {
  await using stack = new AsyncDisposableStack();
  const both = await openBoth(stack, "attempts.db");
  const keys = { pair: "1 a", address: "1" };
  const limits = { most: 5, mostOfAddress: 8, windowMs: 60_000 };
  const add = (n: number, given = keys) => addAttempt(both[n % 2] as Store, given, limits);
  const all = await Promise.all(Array.from({ length: 20 }, (_, n) => add(n)));
  const counted = all.flatMap((one) => one?.ofPair ?? []);
  assert.deepEqual(new Set(counted), new Set([0, 1, 2, 3, 4]));
  assert.equal(counted.length, 5, "each has a number of its own");
  assert.equal(await add(0), null);
  const leftMs = await lockLeftMs(both[1], keys, limits);
  assert.ok(leftMs > 0 && leftMs <= limits.windowMs, `${leftMs} ms are left`);
  assert.equal(await lockLeftMs(both[1], { ...keys, pair: "1 b" }, limits), 0);
  await takeAttemptBack(both[1], keys);
  assert.equal((await add(0))?.ofPair, 4, "one is as if it had not been");
  await forgiveAttempt(both[1], keys);
  assert.equal(await lockLeftMs(both[1], keys, limits), 0);
  assert.equal((await add(0))?.ofPair, 0);
  const none = { ...limits, windowMs: 0 };
  assert.equal((await addAttempt(both[0], keys, none))?.ofAddress, 0, "all have become old");
  await both[0].commit([deleteOldAttempts(both[0])]);
  assert.notEqual((await add(1))?.ofPair, 0, "those that are not old stay");
});

test("what is checked at one is no failure at the other before it has failed", async () => {
  await using stack = new AsyncDisposableStack();
  const both = await openBoth(stack, "checked.db");
  const limits = { free: 100, most: 3, mostOfAddress: 8, windowMs: 60_000 };
  const counts = openSharedCounts(both[1], limits);
  const asked: string[] = [];
  const one = openLockout(limits, openSharedCounts(both[0], limits));
  const other = openLockout(limits, {
    ...counts,
    mayAskAgain(keys) {
      asked.push(keys.pair);
      return counts.mayAskAgain(keys);
    },
  });
  for (const [address, answer, told] of [
    ["1", "in", "in"],
    ["2", null, "too_many_attempts"],
  ] as const) {
    const check = Promise.withResolvers<"in" | null>();
    let begun = 0;
    const guard = (lockout: Lockout, result: Promise<"in" | null>) =>
      lockout.guard({ subject: "a", address }, () => ((begun += 1), result));
    const first = Array.from({ length: 3 }, () => guard(one, check.promise));
    await poll("all to be checked", async () => (begun === 3 ? true : null));
    const second = Array.from({ length: 5 }, () =>
      guard(other, Promise.resolve("in")).catch(({ code }: RequestError) => code),
    );
    await poll("a question", async () => asked.find((pair) => pair.startsWith(address)) ?? null);
    assert.equal(begun, 3, "no more are checked than may fail");
    check.resolve(answer);
    await Promise.all(first);
    assert.deepEqual(await Promise.all(second), Array(5).fill(told));
    assert.equal(begun, told === "in" ? 8 : 3);
  }
});

test("of two services that disable the last two administrators, one is refused", async () => {
  await using stack = new AsyncDisposableStack();
  const [one, other] = await openBoth(stack, "admins.db");
  const stamps = { created_at: 0, modified_at: 0 };
  const role = { id: newId(), name: "admin", permissions: "[]", propagate: 0, ...stamps };
  const usual = { email: "", password_hash: "", is_enabled: 1, active_at: null, ...stamps };
  const users = ["a", "b"].map((name) => ({ id: newId(), name, ...usual }));
  await one.commit([
    insertRole(one, role),
    ...users.flatMap((user) => [insertUser(one, user), insertUserRole(one, user.id, role.id)]),
  ]);
  for (let round = 0; round < 20; round += 1) {
    const disable = (store: Store, user = users[0]!) =>
      store.commit(
        keepingAdmin(store, [
          updatePeople(store, "user", { id: user.id, modified_at: round }, { is_enabled: 0 }),
        ]),
      );
    const told = await Promise.allSettled([disable(one, users[0]), disable(other, users[1])]);
    assert.deepEqual(told.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const again = { is_enabled: 1, modified_at: round + 1 };
    await one.commit(
      users.map(({ id }) => updatePeople(one, "user", { id, modified_at: round }, again)),
    );
  }
});
