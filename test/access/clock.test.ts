import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, mock, test } from "node:test";
import { openActivity } from "../../src/server/access/activity.ts";
import { openLockout } from "../../src/server/access/lockout.ts";
import { openThrottle } from "../../src/server/access/throttle.ts";
import { openAuditRateLimit } from "../../src/server/api/audit-rate-limit.ts";
import { openLogFor } from "../../src/shared/log.ts";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { insertUser, updateActivity } from "../../src/server/store/people.ts";

/** The system's time is set back and forth: what is counted in memory does not care. */

const DAY_MS = 24 * 60 * 60 * 1000;
const systemTime = Date.now;
const setTime = (by_ms: number): void => {
  Date.now = () => systemTime() + by_ms;
};
/** The clock that nobody sets goes on. */
const passTime = (ms: number): void => {
  mock.method(performance, "now", () => steadyTime.call(performance) + ms);
};
const steadyTime = performance.now;
afterEach(() => {
  Date.now = systemTime;
  mock.restoreAll();
});

const folder = mkdtempSync(join(tmpdir(), "flowhook-clock-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
after(() => rmSync(folder, { recursive: true, force: true }));

async function openWithUser(name: string, active_at: number | null): Promise<Store> {
  const path = join(folder, name);
  const store = await openSqliteStore({ path, durability: "normal", addon: null, thread });
  const user = { id: "u", name: "u", email: "", password_hash: "", is_enabled: 1 };
  await store.commit([
    insertUser(store, { ...user, active_at: null, created_at: 1, modified_at: 1 }),
    ...(active_at === null ? [] : [updateActivity(store, "u", active_at)]),
  ]);
  return store;
}

const fail = async () => null;
const LIMITS = { free: 100, most: 2, mostOfAddress: 100, windowMs: 60_000 };

test("a refused login is told the time that is left, also where its address is locked alone", async () => {
  let at = 0;
  mock.method(performance, "now", () => at);
  for (const [limits, other] of [
    [{ ...LIMITS, windowMs: 600_000 }, "a"],
    [{ ...LIMITS, windowMs: 600_000, most: 100, mostOfAddress: 2 }, "b"],
  ] as const) {
    at = 1000;
    const lockout = openLockout(limits);
    const guess = (subject: string) => lockout.guard({ subject, address: "1" }, fail);
    await guess("a");
    await guess("a");
    for (const [afterMs, seconds, words] of [
      [0, "600", "in 10 minutes"],
      [400_000, "200", "in 4 minutes"],
      [570_000, "30", "in a minute"],
    ] as const) {
      at = 1000 + afterMs;
      await assert.rejects(guess(other), {
        message: `Too many failed attempts. Try again ${words}`,
        headers: { "retry-after": seconds },
      });
    }
  }
});

for (const by_ms of [-DAY_MS, DAY_MS])
  test(`L8: a lock of a login lasts as long when the time is set by ${by_ms} ms`, async () => {
    const lockout = openLockout(LIMITS);
    const guess = () => lockout.guard({ subject: "a", address: "1" }, fail);
    await guess();
    await guess();
    setTime(by_ms);
    await assert.rejects(guess(), { code: "too_many_attempts" });
    passTime(LIMITS.windowMs + 1);
    assert.equal(await guess(), null, "and is over when its time is");
  });

for (const by_ms of [-DAY_MS, DAY_MS])
  test(`refused attempts are audited as before when the time is set by ${by_ms} ms`, () => {
    const rateLimit = openAuditRateLimit(
      openLogFor("silent", () => {}),
      2,
    );
    const admitted = () => [1, 2, 3].map(() => rateLimit.admits());
    assert.deepEqual(admitted(), [true, true, false]);
    setTime(by_ms);
    assert.equal(rateLimit.admits(), false);
    passTime(60_001);
    assert.deepEqual(admitted(), [true, true, false]);
  });

for (const by_ms of [-DAY_MS, DAY_MS])
  test(`L8: guesses of keys are slowed alike when the time is set by ${by_ms} ms`, async () => {
    const slowDown = openThrottle({ free: 2, stepMs: 60_000, mostMs: 100 });
    for (let n = 0; n < 2; n += 1) await slowDown.refused("1");
    setTime(by_ms);
    const begun = performance.now();
    await slowDown.refused("1");
    const took = performance.now() - begun;
    assert.ok(took > 50, "it is not forgotten");
  });

for (const by_ms of [-DAY_MS, DAY_MS])
  test(`L8: a user is as idle as before when the time is set by ${by_ms} ms`, async () => {
    await using store = await openWithUser(`idle${by_ms}.db`, null);
    const activity = await openActivity(store);
    assert.equal(await activity.idleFor(0), null);
    await activity.report("u");
    setTime(by_ms);
    const idle = (await activity.idleFor(0)) ?? Number.NaN;
    assert.ok(idle >= 0 && idle < 60_000, `${idle} ms`);
  });

test("L8: an activity of the last run counts from then, one to come from now", async () => {
  await using past = await openWithUser("past.db", Date.now() - 100_000);
  const idle = (await (await openActivity(past)).idleFor(0)) ?? 0;
  assert.ok(idle >= 100_000 && idle < 160_000, `${idle} ms`);
  await using coming = await openWithUser("coming.db", Date.now() + DAY_MS);
  assert.ok(((await (await openActivity(coming)).idleFor(0)) ?? Number.NaN) < 60_000);
});
