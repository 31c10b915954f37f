import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { continueAfter, firstKeyOf, isId, keyOf, newExecutionId } from "../../src/shared/id.ts";

test("identifiers of executions are UUIDs of version 7 that grow", () => {
  const ids = Array.from({ length: 20_000 }, () => newExecutionId());
  for (const id of ids.slice(0, 100)) {
    assert.ok(isId(id));
    assert.match(id, /^.{14}7.{4}[89ab]/);
  }
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids, ids.toSorted());
});

/** Numbers that are the same in each run (mulberry32). */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const EPOCH = Date.UTC(2020, 0, 1);

function toId(at: number, count: number, random: () => number): string {
  const time = at.toString(16).padStart(12, "0");
  const tail = Math.floor(random() * 2 ** 48).toString(16);
  const counter = count.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-9000-${tail.padStart(12, "0")}`;
}

test("a key is exact, tells time and counter, and is in the order of the identifiers", () => {
  const random = randoms(1);
  const found = new Map<string, number>();
  for (let n = 0; n < 20_000; n += 1) {
    const at = Math.floor(random() * (EPOCH + 2 ** 41));
    const count = Math.floor(random() * 4096);
    const id = toId(at, count, random);
    const key = keyOf(id);
    assert.equal(BigInt(key!), BigInt(at - EPOCH) * 4096n + BigInt(count), id);
    assert.ok(Number.isSafeInteger(key));
    assert.ok(firstKeyOf(at) <= key! && key! < firstKeyOf(at + 1));
    found.set(id, key!);
  }
  const ids = [...found.keys()].toSorted();
  for (const [n, id] of ids.slice(1).entries()) {
    const before = ids[n]!;
    assert.ok(found.get(before)! <= found.get(id)!);
    if (before.slice(0, 18) !== id.slice(0, 18)) assert.ok(found.get(before)! < found.get(id)!);
  }
});

test("what has no key: other texts, other UUIDs, times beyond 2089", () => {
  const last = "036f5e66-e7ff-7fff-8000-000000000000";
  assert.equal(keyOf(last), Number.MAX_SAFE_INTEGER);
  for (const id of [
    "",
    "0",
    "019f0000-0000-4000-8000-000000000000",
    "019F0000-0000-7000-8000-000000000000",
    "019f0000-0000-7000-0000-000000000000",
    "019f0000-0000-7000-8000-00000000000",
    " 019f0000-0000-7000-8000-000000000000",
    "036f5e66-e800-7000-8000-000000000000",
    "ffffffff-ffff-7fff-bfff-ffffffffffff",
  ])
    assert.equal(keyOf(id), null, id);
});

/** Sets the clock for as long as it is used. */
function openClock(at: number) {
  mock.timers.enable({ apis: ["Date"], now: at });
  return {
    set: (time: number) => mock.timers.setTime(time),
    [Symbol.dispose]: () => mock.timers.reset(),
  };
}

test("L8: they follow a clock that is set back, and do not go back for a small step", () => {
  const at = Date.UTC(2027, 0, 1);
  using clock = openClock(at);
  const first = newExecutionId();
  clock.set(at - 5000);
  const second = newExecutionId();
  assert.ok(second > first, "a step of seconds keeps the order");
  clock.set(at - 3_600_000);
  const third = newExecutionId();
  assert.equal(timeOf(third), at - 3_600_000);
  const more = Array.from({ length: 5000 }, () => newExecutionId());
  assert.deepEqual(more, more.toSorted());
  clock.set(at + 1000);
  assert.equal(timeOf(newExecutionId()), at + 1000);
  assert.equal(new Set([first, second, third, ...more]).size, 5003);
});

test("they come after what is in a store, or beside it where the clock is behind", () => {
  const at = Date.UTC(2030, 0, 1);
  using clock = openClock(at);
  const asked: number[][] = [];
  const taken = firstKeyOf(at + 3_600_000) + 7;
  const forget = continueAfter(taken, (from, to) => {
    asked.push([from, to]);
    return 1999;
  });
  const ids = Array.from({ length: 3 }, () => newExecutionId());
  assert.deepEqual(asked, [[firstKeyOf(at), taken]], "asked once, for the times to come");
  assert.deepEqual(
    ids.map(keyOf),
    [2000, 2001, 2002].map((count) => firstKeyOf(at) + count),
  );
  clock.set(at + 3_600_000);
  assert.equal(keyOf(newExecutionId()), firstKeyOf(at + 3_600_000) + 2000);
  clock.set(at + 3_600_001);
  assert.equal(
    keyOf(newExecutionId()),
    firstKeyOf(at + 3_600_001),
    "from here on nothing is taken",
  );
  forget();
  clock.set(at);
  newExecutionId();
  assert.equal(asked.length, 1);
});

test("no key is made twice, however the clock is set", () => {
  const random = randoms(2);
  const start = Date.UTC(2028, 0, 1);
  using clock = openClock(start);
  const keys = new Set<number>();
  let [at, largest, made, followed] = [start, 0, 0, 0];
  for (let turn = 0; turn < 30_000; turn += 1) {
    const chance = random();
    if (chance < 0.0005) at -= Math.floor(random() * 60_000);
    else if (chance < 0.001) at += Math.floor(random() * 60_000);
    else if (chance < 0.7) at += 1;
    clock.set(at);
    const burst = random() < 0.001 ? 3000 : 1 + Math.floor(random() * 3);
    for (let n = 0; n < burst; n += 1) {
      const id = newExecutionId();
      keys.add(keyOf(id)!);
      made += 1;
      if (at < largest - 15_000 && timeOf(id) < at + 10_000) followed += 1;
      largest = Math.max(largest, timeOf(id));
    }
  }
  assert.equal(keys.size, made);
  assert.ok(followed > 100, "a clock that is set back is followed while counters are left");
});

test("where no counter is left, they go on after the largest", () => {
  const at = Date.UTC(2032, 0, 1);
  using clock = openClock(at);
  const taken = firstKeyOf(at + 60_000);
  using _ = { [Symbol.dispose]: continueAfter(taken, () => 4095) };
  assert.deepEqual(
    Array.from({ length: 3 }, () => keyOf(newExecutionId())),
    [taken + 1, taken + 2, taken + 3],
  );
  clock.set(at + 61_000);
  assert.equal(timeOf(newExecutionId()), at + 61_000);
});

test("a clock beyond the last key makes keys still", () => {
  using _ = openClock(Date.UTC(2300, 0, 1));
  const keys = Array.from({ length: 20_000 }, () => keyOf(newExecutionId()));
  assert.ok(keys.every((key) => key !== null));
  assert.equal(new Set(keys).size, keys.length);
});

function timeOf(id: string): number {
  return Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}
