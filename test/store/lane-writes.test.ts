import assert from "node:assert/strict";
import { test } from "node:test";
import type { LedgerEntry } from "../../src/server/store/ledger-record.ts";
import { PostgresLedger } from "../../src/server/store/postgres/ledger.ts";
import { LaneWrites } from "../../src/server/store/postgres/lane-writes.ts";
import type { Recorded, Written } from "../../src/server/store/postgres/thread-protocol.ts";

/** How records come together into one write of PostgreSQL. */

const NOTHING: Recorded = { errors: [], overtaken: [], heldBack: [] };

function entry(id: string, text: string | null = null): LedgerEntry {
  return { record: { kind: "log", id, lines: [] }, text };
}

function idsOf(entries: readonly LedgerEntry[]): string[] {
  return entries.map(({ record }) =>
    "id" in record ? record.id : "ids" in record ? String(record.ids) : "",
  );
}

/** A lane whose writes end one by one, as they are told to. */
function openWrites() {
  const written: string[][] = [];
  const waiting: PromiseWithResolvers<Recorded>[] = [];
  const writes = new LaneWrites((entries) => {
    written.push(idsOf(entries));
    const write = Promise.withResolvers<Recorded>();
    waiting.push(write);
    return write.promise;
  });
  return { writes, written, waiting };
}

test("what comes while a write is under way is one write, in its order", async () => {
  const { writes, written, waiting } = openWrites();
  const asked = ["a", "b", "c"].map((id) => writes.add([entry(id)]));
  assert.deepEqual(written, [["a"]]);
  waiting[0]?.resolve(NOTHING);
  assert.equal((await asked[0])?.batches, 1);
  assert.deepEqual(written, [["a"], ["b", "c"]]);
  waiting[1]?.resolve(NOTHING);
  const both = await Promise.all(asked.slice(1));
  assert.deepEqual(
    both.map(({ batches }) => batches),
    [1, 0],
    "they are one batch",
  );
});

test("each is told of its own errors, by their places in what it asked", async () => {
  const { writes, waiting } = openWrites();
  const first = writes.add([entry("a")]);
  const [one, two] = [writes.add([entry("b"), entry("c")]), writes.add([entry("d"), entry("e")])];
  waiting[0]?.resolve(NOTHING);
  await first;
  const error = { kind: "other" as const, code: "x", message: "" };
  const errors = [1, 2].map((at) => [at, error] as const);
  waiting[1]?.resolve({ ...NOTHING, errors, overtaken: ["e"] });
  assert.deepEqual((await one).errors, [[1, error]]);
  assert.deepEqual((await two).errors, [[0, error]]);
  assert.deepEqual((await two).overtaken, ["e"]);
});

test("a write that fails is that of those that asked for it, and the next one is tried", async () => {
  const { writes, written, waiting } = openWrites();
  const first = writes.add([entry("a")]);
  const [one, two] = [writes.add([entry("b")]), writes.add([entry("c")])];
  waiting[0]?.reject(new Error("away"));
  await assert.rejects(first, /away/);
  waiting[1]?.resolve(NOTHING);
  await Promise.all([one, two]);
  assert.deepEqual(written, [["a"], ["b", "c"]]);
});

test("a write has 500 records, and 16 MiB of text, unless one that is asked for has more", async () => {
  const { writes, written, waiting } = openWrites();
  const many = Array.from({ length: 300 }, (_, at) => entry(`m${at}`));
  const long = "x".repeat(9 * 1024 * 1024);
  const asked = [[entry("a")], many, many, [entry("l", long)], [entry("k", long)], [entry("z")]];
  const answers = asked.map((entries) => writes.add(entries));
  for (const [at, answer] of answers.entries()) {
    waiting.at(-1)?.resolve(NOTHING);
    await answer;
    assert.ok(written.length <= at + 2);
  }
  assert.deepEqual(
    written.map((ids) => ids.length),
    [1, 300, 301, 2],
  );
});

/** A ledger whose thread answers as it is told to. */
function openLedger(failed: (error: Error) => void = assert.fail) {
  const sent: string[][] = [];
  const waiting: PromiseWithResolvers<Written>[] = [];
  const ledger = new PostgresLedger({
    record: (_, entries) => {
      sent.push(idsOf(entries));
      const write = Promise.withResolvers<Written>();
      waiting.push(write);
      return write.promise;
    },
    hurry() {},
    onUnrecorded: (reason) => assert.fail(String(reason)),
    onDamage: (error) => assert.fail(error),
    isLimited: false,
  });
  const append = (id: string) =>
    ledger.append({ kind: "start", ids: [id], at: 1 }, null, { failed });
  return { ledger, sent, waiting, append };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("records go to the thread in each turn, though it is writing others", async () => {
  const { ledger, sent, waiting, append } = openLedger();
  append("a");
  await turn();
  append("b");
  append("c");
  await turn();
  assert.deepEqual(
    sent.map(({ length }) => length),
    [1, 2],
  );
  const settled = ledger.settled();
  waiting[0]?.resolve({ ...NOTHING, batches: 1 });
  waiting[1]?.resolve({ ...NOTHING, batches: 0 });
  assert.equal(await settled, true);
  assert.deepEqual(ledger.counts(), { batches: 1, records: 3 });
});

test("who waits for all is told of a failure before the last of them", async () => {
  const { ledger, waiting, append } = openLedger(() => {});
  append("a");
  await turn();
  append("b");
  await turn();
  const settled = ledger.settled();
  const error = { kind: "other" as const, code: "x", message: "" };
  waiting[0]?.resolve({ ...NOTHING, errors: [[0, error]], batches: 1 });
  waiting[1]?.resolve({ ...NOTHING, batches: 1 });
  assert.equal(await settled, false);
  assert.equal(await ledger.settled(), true);
});

test("an ending waits for lines, and who reads for them no longer than for the rest", async () => {
  const { ledger, sent, waiting } = openLedger();
  ledger.append({ kind: "log", id: "a", lines: [] }, null, { failed: assert.fail });
  const end = { kind: "end", status_message: null, ended_at: 1, response: null } as const;
  ledger.append({ ...end, id: "a", status: "ENDED_SUCCESS" }, null, { failed: assert.fail });
  await turn();
  assert.deepEqual(sent, [["a"]]);
  assert.equal(await ledger.settled(), false, "after 5 seconds");
  waiting[0]?.resolve({ ...NOTHING, batches: 1 });
  await turn();
  await turn();
  assert.deepEqual(sent, [["a"], ["a"]], "then it is written");
});

test("a thread that is busy is given 16 of them at most, and the rest in one", async () => {
  const { ledger, sent, waiting, append } = openLedger();
  for (let at = 0; at < 20; at++) {
    append(String(at));
    await turn();
  }
  assert.equal(sent.length, 16);
  const settled = ledger.settled();
  for (const { resolve } of waiting) resolve({ ...NOTHING, batches: 1 });
  await turn();
  assert.deepEqual(
    sent.slice(16).map(({ length }) => length),
    [4],
  );
  waiting.at(-1)?.resolve({ ...NOTHING, batches: 1 });
  assert.equal(await settled, true);
});

test("who waits for more than one batch takes waits for the last of them", async () => {
  const { ledger, sent, waiting, append } = openLedger();
  for (let at = 0; at < 501; at++) append(String(at));
  const told: boolean[] = [];
  const settled = ledger.settled().then((isSettled) => told.push(isSettled));
  await turn();
  waiting[0]?.resolve({ ...NOTHING, batches: 1 });
  await turn();
  assert.deepEqual(
    sent.map(({ length }) => length),
    [500, 1],
  );
  assert.deepEqual(told, []);
  waiting[1]?.resolve({ ...NOTHING, batches: 1 });
  await settled;
  assert.deepEqual(told, [true]);
});
