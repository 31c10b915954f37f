import assert from "node:assert/strict";
import { test } from "node:test";
import { openAttempts } from "../../src/access/attempts.ts";
import { Refusal } from "../../src/lib/errors.ts";

const LIMITS = { free: 100, most: 3, most_of_address: 5, window_ms: 60_000 };

const fail = async () => null;
const pass = async () => "in";

function isRefused(error: unknown): boolean {
  return error instanceof Refusal && error.code === "too_many_attempts";
}

test("a subject is locked for the address that failed, and for no other", async () => {
  const attempts = openAttempts(LIMITS);
  for (let failed = 0; failed < 3; failed += 1)
    assert.equal(await attempts.guard({ subject: "a", address: "1" }, fail), null);
  await assert.rejects(attempts.guard({ subject: "a", address: "1" }, pass), isRefused);
  assert.equal(await attempts.guard({ subject: "a", address: "2" }, pass), "in");
  assert.equal(await attempts.guard({ subject: "b", address: "1" }, pass), "in");
});

test("an address that fails with many subjects is locked, whatever it succeeds with between", async () => {
  const attempts = openAttempts(LIMITS);
  for (const subject of ["a", "b", "c", "d", "e"]) {
    await attempts.guard({ subject, address: "1" }, fail);
    if (subject !== "e") await attempts.guard({ subject: "own", address: "1" }, pass);
  }
  await assert.rejects(attempts.guard({ subject: "own", address: "1" }, pass), isRefused);
  assert.equal(await attempts.guard({ subject: "own", address: "2" }, pass), "in");
});

test("a success forgives the failures with this subject", async () => {
  const attempts = openAttempts(LIMITS);
  for (const check of [fail, fail, pass, fail, fail, pass])
    await attempts.guard({ subject: "a", address: "1" }, check);
});

test("attempts at once are counted before they are checked", async () => {
  const attempts = openAttempts(LIMITS);
  const all = await Promise.allSettled(
    Array.from({ length: 10 }, () => attempts.guard({ subject: "a", address: "1" }, fail)),
  );
  assert.equal(all.filter(({ status }) => status === "rejected").length, 7);
});
