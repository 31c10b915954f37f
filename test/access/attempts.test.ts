import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openLockout } from "../../src/server/access/lockout.ts";
import { openThrottle } from "../../src/server/access/throttle.ts";
import { RequestError } from "../../src/shared/errors.ts";

const LIMITS = { free: 100, most: 3, mostOfAddress: 5, windowMs: 60_000 };

const fail = async () => null;
const pass = async () => "in";

function isRefused(error: unknown): boolean {
  return error instanceof RequestError && error.code === "too_many_attempts";
}

test("a subject is locked for the address that failed, and for no other", async () => {
  const lockout = openLockout(LIMITS);
  for (let failed = 0; failed < 3; failed += 1)
    assert.equal(await lockout.guard({ subject: "a", address: "1" }, fail), null);
  await assert.rejects(lockout.guard({ subject: "a", address: "1" }, pass), isRefused);
  assert.equal(await lockout.guard({ subject: "a", address: "2" }, pass), "in");
  assert.equal(await lockout.guard({ subject: "b", address: "1" }, pass), "in");
});

test("an address that fails with many subjects is locked, whatever it succeeds with between", async () => {
  const lockout = openLockout(LIMITS);
  for (const subject of ["a", "b", "c", "d", "e"]) {
    await lockout.guard({ subject, address: "1" }, fail);
    if (subject !== "e") await lockout.guard({ subject: "own", address: "1" }, pass);
  }
  await assert.rejects(lockout.guard({ subject: "own", address: "1" }, pass), isRefused);
  assert.equal(await lockout.guard({ subject: "own", address: "2" }, pass), "in");
});

test("a success forgives the failures with this subject", async () => {
  const lockout = openLockout(LIMITS);
  for (const check of [fail, fail, pass, fail, fail, pass])
    await lockout.guard({ subject: "a", address: "1" }, check);
});

test("what could not be checked has not failed, and forgives nothing", async () => {
  const lockout = openLockout(LIMITS);
  const attempt = { subject: "a", address: "1" };
  for (let failed = 0; failed < 2; failed += 1) await lockout.guard(attempt, fail);
  for (let times = 0; times < 10; times += 1) {
    const unchecked = lockout.guard(attempt, () => Promise.reject(new Error("turned away")));
    await assert.rejects(unchecked, /turned away/);
  }
  await lockout.guard(attempt, fail);
  await assert.rejects(lockout.guard(attempt, pass), isRefused);
});

test("attempts at once are counted before they are checked", async () => {
  const lockout = openLockout(LIMITS);
  const all = await Promise.allSettled(
    Array.from({ length: 10 }, () => lockout.guard({ subject: "a", address: "1" }, fail)),
  );
  assert.equal(all.filter(({ status }) => status === "rejected").length, 7);
});

test("those at once that are right all pass, also with wrong ones among them", async () => {
  const lockout = openLockout(LIMITS);
  const guard = (check: () => Promise<string | null>) =>
    lockout.guard({ subject: "a", address: "1" }, check);
  const passed = await Promise.all(Array.from({ length: 50 }, () => guard(pass)));
  assert.equal(passed.length, 50);
  const mixed = [fail, fail, pass, ...Array.from({ length: 10 }, () => pass)].map(guard);
  assert.deepEqual((await Promise.all(mixed)).slice(0, 4), [null, null, "in", "in"]);
});

test("what waits for others is checked no more once they have failed", async () => {
  const lockout = openLockout(LIMITS);
  let checks = 0;
  const ends = Array.from({ length: 3 }, () => Promise.withResolvers<null>());
  const check = () => {
    checks += 1;
    return (ends[checks - 1] as PromiseWithResolvers<null>).promise;
  };
  const all = Array.from({ length: 120 }, () =>
    lockout.guard({ subject: "a", address: "1" }, check).then(String, (error: RequestError) => {
      assert.ok(isRefused(error));
      return String(error.headers?.["retry-after"]);
    }),
  );
  await turn();
  for (const { resolve } of ends) resolve(null);
  const told = Object.groupBy(await Promise.all(all), (one) => one);
  assert.equal(checks, 3);
  const counts = Object.entries(told).map(([one, these = []]) => [one, these.length]);
  assert.deepEqual(Object.fromEntries(counts), { null: 3, 1: 17, 60: 100 });
});

test("a failure that is slowed holds up no other", async () => {
  const lockout = openLockout({ ...LIMITS, free: 0, most: 1 });
  const guard = (check: () => Promise<string | null>) =>
    lockout.guard({ subject: "a", address: "1" }, check);
  const order: string[] = [];
  await Promise.all([
    guard(fail).then(() => order.push("failed")),
    guard(pass).catch(() => order.push("refused")),
  ]);
  assert.deepEqual(order, ["refused", "failed"]);
});

test("M1: names as long as one likes cost no memory", async () => {
  const lockout = openLockout({ ...LIMITS, mostOfAddress: 1e6 });
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const kept = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const begun = kept();
  for (let n = 0; n < 300; n += 1) {
    // Made anew each time, as a body is read.
    const subject = Buffer.alloc(500_000, String(n)).toString();
    await lockout.guard({ subject, address: `2001:db8::${n}` }, fail);
  }
  assert.ok(kept() - begun < 50_000_000, "150 MB of names were given");
});

test("M1: the addresses of an IPv6 network of 64 bits count as one", async () => {
  const lockout = openLockout(LIMITS);
  for (const address of ["2001:db8:0:7::1", "2001:db8:0:7:2:3:4:5", "2001:db8:0:7:ffff::"])
    await lockout.guard({ subject: "a", address }, fail);
  const same = { subject: "a", address: "2001:0db8::7:0:0:0:9" };
  await assert.rejects(lockout.guard(same, pass), isRefused);
  assert.equal(await lockout.guard({ subject: "a", address: "2001:db8:0:8::1" }, pass), "in");
});

test("M1: wrong keys from one IPv6 network are slowed together", async () => {
  const slowDown = openThrottle({ free: 2, stepMs: 60_000, mostMs: 100 });
  for (const end of [1, 2]) await slowDown.refused(`2001:db8::${end}`);
  const begun = performance.now();
  await slowDown.refused("2001:db8::3");
  assert.ok(performance.now() - begun > 50, "the third of them waits");
});
