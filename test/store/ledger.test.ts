import assert from "node:assert/strict";
import {
  closeSync,
  copyFileSync,
  existsSync,
  fdatasync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import Database from "better-sqlite3";
import { STATUS, type Status } from "../../src/shared/contract/status.ts";
import { StartError } from "../../src/shared/errors.ts";
import { newExecutionId } from "../../src/shared/id.ts";
import { ledgerPaths } from "../../src/shared/ledger-paths.ts";
import { openLog } from "../../src/shared/log.ts";
import { Journal } from "../../src/server/executions/journal.ts";
import { backupTo, restoreFrom } from "../../src/server/store/sqlite/backup.ts";
import { inspectCopy, inspectLedger } from "../../src/server/store/sqlite/inspection.ts";
import { openSqliteStore, type SqliteOptions } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { connectionsByMonth } from "../../src/server/store/connection-usage.ts";
import { findExecution, findPayload } from "../../src/server/store/executions.ts";
import { StoreError } from "../../src/server/store/store-error.ts";
import { SqliteLedger } from "../../src/server/store/sqlite/ledger.ts";
import type { LedgerOptions, Sync } from "../../src/server/store/sqlite/ledger-options.ts";
import type { RecordEvents } from "../../src/server/store/ledger.ts";
import type { LedgerRecord } from "../../src/server/store/ledger-record.ts";
import type { Write } from "../../src/server/store/sqlite/ledger-file.ts";
import { BEGINNING, LedgerReader, scanRows } from "../../src/server/store/sqlite/ledger-reader.ts";
import { MAGIC, RowBytes, RowEncoder } from "../../src/server/store/sqlite/ledger-row.ts";
import type { EndedStatus } from "../../src/shared/contract/status.ts";
import type { Applied } from "../../src/server/store/sqlite/thread-protocol.ts";
import { openMoveSource } from "../../src/server/store/sqlite/move-source.ts";
import { makeOldStore } from "./old-store.ts";
import { INPUT, newRow } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-ledger-"));
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
after(() => rmSync(folder, { recursive: true, force: true }));

const pathOf = (name: string): string => join(folder, name);
const open = (name: string, more: Partial<SqliteOptions> = {}): Promise<Store> =>
  openSqliteStore({ path: pathOf(name), durability: "full", addon: null, thread, ...more });

/** A ledger whose rows are applied by nobody, as long as nothing else is said. */
function openLedger(name: string, more: Partial<LedgerOptions> = {}): SqliteLedger {
  return new SqliteLedger({
    file: { path: pathOf(name), durability: "full", addon: null },
    applied: 0,
    apply: () => new Promise(() => {}),
    syncTables: async () => {},
    onDamage: (error) => assert.ifError(error),
    ...more,
  });
}

const LOCKED = { kind: "unavailable", code: "SQLITE_BUSY", message: "locked" } as const;
const PENDING = { status: "PENDING" as const, started_at: null, ended_at: null };

function begin(id: string, month: string | null = null): LedgerRecord {
  const { input_value: _, ...input } = INPUT;
  return { kind: "begin", row: newRow(id, PENDING), input, month };
}

function end(id: string, status: EndedStatus = "ENDED_SUCCESS"): LedgerRecord {
  return { kind: "end", id, status, status_message: null, ended_at: 7, response: null };
}

/** Resolves with what was told of a record, once it was told the last of it. */
function append(
  ledger: Pick<SqliteLedger, "append">,
  record: LedgerRecord,
  text: string | null,
  last: keyof RecordEvents = "synced",
): Promise<string[]> {
  const told: string[] = [];
  return new Promise((resolve) => {
    const tell = (name: keyof RecordEvents) => (): void => {
      told.push(name);
      if (name === last || name === "failed") resolve(told);
    };
    const [written, synced, applied, failed] = [
      tell("written"),
      tell("synced"),
      tell("applied"),
      tell("failed"),
    ];
    ledger.append(record, text, { written, synced, applied, failed });
  });
}

test("texts stand beside the records, whatever is in them", () => {
  const texts = ['{"a":"\\u0000"}', "", null, '"\u{1f600}\u0000"', "\u2028"];
  const entries = texts.map((text, at) => ({ record: end(String(at)), text }));
  const bytes = new RowEncoder().encode(7, 42n, entries);
  const row = new RowBytes(bytes);
  assert.ok(row.isWhole);
  assert.deepEqual(row.decode(), { seq: 7, size: bytes.length, entries });
});

test("half of a character at the end of a text moves none of the others", () => {
  const entries = ['"\ud83d', '\ude00"', "1"].map((text, at) => ({
    record: end(String(at)),
    text,
  }));
  const row = new RowBytes(new RowEncoder().encode(7, 42n, entries)).decode();
  assert.deepEqual(
    row.entries.map(({ text }) => text),
    ['"\ufffd', '\ufffd"', "1"],
  );
});

test("a row of which one byte differs is none", () => {
  const row = new RowEncoder().encode(7, 42n, [{ record: end("1"), text: '"a"' }]);
  for (let at = 0; at < row.length; at += 1) {
    row[at] = (row[at] as number) ^ 1;
    assert.equal(new RowBytes(row).isWhole, false, `byte ${at}`);
    row[at] = (row[at] as number) ^ 1;
  }
  for (let size = 28; size < row.length; size += 1)
    assert.equal(new RowBytes(row.subarray(0, size)).isWhole, false, `${size} bytes`);
  assert.ok(new RowBytes(row).isWhole);
});

test("what comes in one turn is one row, and each record is told of its way in order", async () => {
  await using store = await open("turn.db");
  const [a, b] = [newExecutionId(), newExecutionId()];
  const first = store.ledger.next;
  const told = [
    append(store.ledger, begin(a), INPUT.input_value, "applied"),
    append(store.ledger, begin(b), '"b"', "applied"),
    append(store.ledger, { kind: "start", ids: [a], at: 3 }, null, "applied"),
  ];
  for (const one of await Promise.all(told))
    assert.deepEqual(one, ["written", "synced", "applied"]);
  assert.equal(store.ledger.next, first + 1);
  assert.deepEqual(await findExecution(store, a), {
    ...newRow(a, PENDING),
    status: "RUNNING",
    started_at: 3,
  });
  assert.equal((await findPayload(store, b))?.input_value, '"b"');
});

test("who reads sees what was written before, and waits for it", async () => {
  await using store = await open("read.db");
  const id = newExecutionId();
  await append(store.ledger, begin(id), "1", "written");
  assert.equal((await findExecution(store, id))?.status, "PENDING");
  await append(store.ledger, end(id), "2", "written");
  const rows = await store.lists.selectFrom("execution").select(["status"]).execute();
  assert.deepEqual(rows, [{ status: "ENDED_SUCCESS" }]);
});

/** A life of some executions; also what cannot be: two endings, a begin that comes twice. */
function* makeHistory(ids: readonly string[]): Generator<[LedgerRecord, string | null]> {
  let seed = 20;
  const random = (most: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % most;
  };
  for (const id of ids) yield [begin(id, random(2) === 0 ? "2026-11" : null), `"${id}"`];
  for (let step = 0; step < 400; step += 1) {
    const id = ids[random(ids.length)] as string;
    const other = ids[random(ids.length)] as string;
    const kind = random(6);
    if (kind === 0) yield [{ kind: "start", ids: [id, other], at: step }, null];
    else if (kind === 1) yield [{ kind: "wait", ids: [id] }, null];
    else if (kind === 2) yield [end(id, random(2) === 0 ? "ENDED_ERROR" : undefined), `${step}`];
    else if (kind === 3) yield [end(id), null];
    else if (kind === 4)
      yield [{ kind: "log", id, lines: [{ at: step, level: "info", text: "line" }] }, null];
    else if (random(20) === 0) yield [begin(id), '"again"'];
  }
}

function dump(name: string): unknown {
  const db = new Database(pathOf(name), { readonly: true });
  const tables = ["execution", "execution_input", "execution_output", "connection_usage"];
  const log = "select execution_key, at, level, text from execution_log order by at";
  const all = tables.map((table) => db.prepare(`select * from ${table} order by 1`).all());
  all.push(db.prepare(log).all());
  db.close();
  return all;
}

test("records come to the same rows, applied one by one or many at once", async () => {
  const ids = Array.from({ length: 40 }, () => newExecutionId());
  for (const name of ["one.db", "many.db"]) {
    await using store = await open(name, { onDamage: () => {} });
    for (const [record, text] of makeHistory(ids)) {
      const told = append(store.ledger, record, text);
      if (name === "many.db") continue;
      await told;
      await store.settled();
    }
    await store.settled();
  }
  assert.deepEqual(dump("many.db"), dump("one.db"));
  const [executions] = dump("one.db") as { id: string; status: string }[][];
  assert.deepEqual(executions?.map(({ id }) => id).toSorted(), ids.toSorted());
});

test("a status is followed only by those that may follow it, whatever is recorded", async () => {
  const ids = Array.from({ length: 60 }, () => newExecutionId());
  await using store = await open("next.db", { onDamage: () => {} });
  const last = new Map<string, Status>();
  const seen = new Set<string>();
  for (const [record, text] of makeHistory(ids)) {
    await append(store.ledger, record, text);
    for (const id of idsOf(record)) {
      const found = await findExecution(store, id);
      const [from, to] = [last.get(id), found?.status];
      if (to !== undefined) last.set(id, to);
      if (from === undefined || to === undefined || from === to) continue;
      seen.add(`${from} ${to}`);
      assert.ok((STATUS[from].next as readonly string[]).includes(to), `${from} to ${to}`);
    }
  }
  assert.ok(seen.size >= 3, [...seen].join(", "));
});

function idsOf(record: LedgerRecord): readonly string[] {
  if (record.kind === "begin") return [record.row.id];
  return "ids" in record ? record.ids : [record.id];
}

test("a record that cannot be applied is told of, and keeps no other back", async () => {
  const damage: string[] = [];
  await using store = await open("poison.db", { onDamage: ({ message }) => damage.push(message) });
  const [a, b] = [newExecutionId(), newExecutionId()];
  const records = [begin(a), begin("nobody"), end("nobody"), begin(b), end(b)];
  await Promise.all(records.map((record) => append(store.ledger, record, "1", "applied")));
  assert.match(damage.join(), /^begin: Error: Cannot write an execution with the id "nobody"/);
  assert.equal((await findExecution(store, a))?.status, "PENDING");
  assert.equal((await findExecution(store, b))?.status, "ENDED_SUCCESS");
});

test("nobody is told that it is on disk before a sync that began after it was written", async () => {
  const syncs: Parameters<Sync>[1][] = [];
  const sync: Sync = (_, told) => syncs.push(told);
  const ledger = openLedger("order.db", { sync });
  const synced: string[] = [];
  const add = (name: string, last: keyof RecordEvents): Promise<unknown> =>
    append(ledger, end(name), null, last);
  void add("first", "synced").then(() => synced.push("first"));
  while (syncs.length === 0) await new Promise(setImmediate);
  // So many are written while a sync is under way.
  const more = Array.from({ length: 64 }, () => add("more", "written"));
  void add("second", "synced").then(() => synced.push("second"));
  await Promise.all(more);
  assert.equal(syncs.length, 1, "one at a time");
  syncs[0]?.(null);
  await new Promise(setImmediate);
  assert.deepEqual(synced, ["first"]);
  syncs[1]?.(null);
  await new Promise(setImmediate);
  assert.deepEqual(synced, ["first", "second"]);
});

test("what nobody waits for is on disk a moment later, and at once for who reads", async () => {
  let syncs = 0;
  const sync: Sync = (descriptor, told) => {
    syncs += 1;
    fdatasync(descriptor, told);
  };
  const ledger = openLedger("later.db", {
    sync,
    apply: async (applied) => ({ applied, skipped: [] }),
  });
  const write = (): Promise<void> =>
    new Promise((written) =>
      ledger.append(end(""), null, { written, failed: () => assert.fail() }),
    );
  await write();
  assert.equal(syncs, 0);
  assert.equal(await ledger.settled(), true);
  assert.equal(syncs, 1);
  const times: number[] = [];
  for (let written = 2; written <= 4; written += 1) {
    await write();
    const begun = performance.now();
    while (syncs < written) await new Promise(setImmediate);
    times.push(performance.now() - begun);
  }
  // The quickest: a disk may pause in any one of them.
  assert.ok(Math.min(...times) < 1000, times.join());
});

test("after a sync that failed nobody is told anything, but that the service has to stop", async () => {
  const damage: [string, boolean][] = [];
  const failing: Sync = (_, told) =>
    void setImmediate(() => told(new Error("EIO: i/o error, fdatasync")));
  const ledger = openLedger("failing.db", {
    sync: failing,
    onDamage: ({ message }, isLost) => damage.push([message, isLost]),
  });
  let isTold = false;
  void append(ledger, end("1"), null).then(() => (isTold = true));
  while (damage.length === 0) await new Promise(setImmediate);
  const why = "Cannot sync the ledger: what the disk has is not known (EIO: i/o error, fdatasync)";
  assert.deepEqual(damage, [[why, true]]);
  await new Promise(setImmediate);
  assert.equal(isTold, false);
});

test("a row that was synced and is not there is told, and nobody waits for it", async () => {
  const told: string[] = [];
  const ledger = openLedger("gone.db", {
    apply: async () => ({ applied: 0, skipped: [] }),
    onFailing: (error) => told.push(error?.message ?? "well"),
  });
  await append(ledger, end("1"), null);
  assert.equal(await ledger.settled(), false);
  assert.deepEqual(told, ["Row 1 of the ledger is not there"]);
});

test("while too much is not applied new executions wait, and are refused where it cannot be", async () => {
  const applying: PromiseWithResolvers<Applied>[] = [];
  const apply = (): Promise<Applied> => {
    applying.push(Promise.withResolvers());
    return (applying.at(-1) as PromiseWithResolvers<Applied>).promise;
  };
  const ledger = openLedger("room.db", { apply });
  const text = `"${"x".repeat(8 * 1024 * 1024)}"`;
  let last = 0;
  for (let n = 0; n < 9; n += 1) {
    const waits = Promise.resolve("waits");
    assert.equal(await Promise.race([ledger.room(), waits]), n < 8 ? true : "waits");
    const told = append(ledger, end(String(n)), text);
    last = ledger.next;
    await told;
  }
  while (applying.length === 0) await new Promise(setImmediate);
  const waiting = ledger.room();
  applying[0]?.reject(new StoreError(LOCKED));
  assert.equal(await waiting, false);
  assert.equal(await ledger.room(), false, "it is known by now");
  while (applying.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  applying[1]?.resolve({ applied: last, skipped: [] });
  while (!ledger.hasRoom) await new Promise(setImmediate);
  assert.equal(await ledger.room(), true);
});

test("the log cut at any byte of its end: what was synced is there, the rest whole or absent", async () => {
  /** Where the rows ended when a sync began, and the last row that it made safe. */
  const synced: { end: number; seq: number }[] = [];
  const sync: Sync = (descriptor, told) => {
    synced.push({ end: endOf(descriptor), seq: ledger.next - 1 });
    fdatasync(descriptor, () => told(null));
  };
  const ledger: SqliteLedger = openLedger("cut.db", { sync });
  const texts: string[] = [""];
  for (let n = 1; n <= 60; n += 1) {
    const text = `"${String(n).repeat((n % 7) * 300)}"`;
    texts.push(text);
    const last = ledger.append(end(String(n)), text, { failed: () => assert.fail() });
    await append(ledger, { kind: "log", id: String(n), lines: [] }, null, "written");
    if (n % 5 === 0) while (synced.at(-1)?.seq !== last) await new Promise(setImmediate);
  }
  const [path] = ledgerPaths(pathOf("cut.db"));
  // A power cut leaves the end of the file, or zeros up to there.
  const [copy, zeros] = [`${path}-cut`, `${path}-zeros`];
  for (const one of [copy, zeros]) copyFileSync(path, one);
  const [descriptor, zeroed] = [openSync(copy, "r+"), openSync(zeros, "r+")];
  const size = endOf(descriptor);
  assert.ok(size > 64 * 1024);
  const begun = Array.from(scanRows(descriptor, BEGINNING), ({ next }) => next)
    .filter(({ at }) => at < size - 64 * 1024)
    .at(-1);
  assert.ok(begun);
  const zero = Buffer.alloc(1);
  for (let at = size; at >= size - 64 * 1024; at -= 1) {
    ftruncateSync(descriptor, at);
    writeSync(zeroed, zero, 0, 1, at);
    const last = Array.from(scanRows(descriptor, begun), ({ row }) => row.seq).at(-1);
    const other = Array.from(scanRows(zeroed, begun), ({ row }) => row.seq).at(-1);
    const safe = synced.filter(({ end }) => end <= at).at(-1)?.seq ?? 0;
    assert.ok((last ?? begun.last?.seq ?? 0) >= safe, `cut at ${at}: ${last}, ${safe} was synced`);
    assert.equal(other, last, `zeros from ${at} on`);
    if (at % 1000 !== 0) continue;
    using reader = new LedgerReader([copy]);
    for (const row of reader.read(0)) assert.equal(row.entries[0]?.text, texts[row.seq]);
  }
  for (const one of [descriptor, zeroed]) closeSync(one);
});

/** Where the rows of a file end; zeros follow. */
function endOf(descriptor: number): number {
  return Array.from(scanRows(descriptor, BEGINNING), ({ next }) => next.at).at(-1) ?? BEGINNING.at;
}

/** Numbers of the rows in a file. */
function scan(descriptor: number): number[] {
  return Array.from(scanRows(descriptor, BEGINNING), ({ row }) => row.seq);
}

test("a file that begins anew has none of the rows that it held, wherever its log is cut", async () => {
  const ledger = openLedger("anew.db", { apply: async (applied) => ({ applied, skipped: [] }) });
  const [path] = ledgerPaths(pathOf("anew.db"));
  const write = (text: string): Promise<unknown> =>
    append(ledger, end(String(ledger.next)), text, "written");
  // Rows of one length: where one begins, an old one has begun.
  for (let n = 0; n < 20; n += 1) await write('"old"');
  const descriptor = openSync(path, "r+");
  const size = endOf(descriptor);
  await ledger.recover();
  const before = readFileSync(path).subarray(0, size);
  await write('"new"');
  await write('"new"');
  const after = readFileSync(path).subarray(0, size);
  assert.equal(after.length, before.length, "the old rows are still there");
  assert.deepEqual(scan(descriptor), [21, 22]);
  for (let cut = after.length; cut >= MAGIC.length; cut -= 1) {
    const left = Buffer.concat([after.subarray(0, cut), before.subarray(cut)]);
    writeSync(descriptor, left, 0, left.length, 0);
    const seqs = scan(descriptor);
    // Either the new ones, or what was there before them, up to the first that is not whole.
    assert.ok(
      seqs.every((seq, index) => seq === (seqs[0] as number) + index && seq <= 22),
      seqs.join(),
    );
    if (seqs.includes(21)) assert.ok(seqs.every((seq) => seq > 20));
  }
  closeSync(descriptor);
});

test("a first row that is torn hides no row of the other file", async () => {
  const disk = newDisk();
  const write: Write = (...row) => disk.write(...row);
  const big = `"${"x".repeat(3_000_000)}"`;
  const ids = Array.from({ length: 4 }, () => newExecutionId());
  const [whole, torn] = [ids.slice(0, 3), ids[3] as string];
  await using stack = new AsyncDisposableStack();
  {
    // Its rows are not applied: what it leaves is as after a kill.
    await using _ = await open("torn.db");
    const apply = () => Promise.reject(new StoreError(LOCKED));
    const ledger = openLedger("torn.db", { apply, write });
    stack.defer(() => ledger.close());
    for (const id of whole) await append(ledger, begin(id), big);
    disk.refused = torn;
    assert.deepEqual(await append(ledger, begin(torn), '"torn"'), ["failed"]);
    const path = pathOf("torn.db");
    for (const file of [path, `${path}-wal`, ...ledgerPaths(path)])
      copyFileSync(file, file.replace("torn", "torn-killed"));
    const [, second] = ledgerPaths(pathOf("torn-killed.db"));
    // Half of a row, with the number that the next one of the first file has.
    const half = new RowEncoder().encode(4, 7n, [{ record: begin(torn), text: big }]);
    writeFileSync(second, Buffer.concat([MAGIC, half.subarray(0, 400)]));
  }
  await using store = await open("torn-killed.db");
  const later = newExecutionId();
  await append(store.ledger, begin(later), "1", "applied");
  for (const id of [...whole, later])
    assert.equal((await findExecution(store, id))?.status, "PENDING");
  assert.equal(await findExecution(store, torn), undefined);
});

test("what was not written is no row, whatever lay behind it before", async () => {
  const disk = newDisk();
  const ledger = openLedger("behind.db", {
    apply: async (applied) => ({ applied, skipped: [] }),
    write: (...row) => disk.write(...row),
  });
  const [path] = ledgerPaths(pathOf("behind.db"));
  const text = `"${"same".repeat(500)}"`;
  await append(ledger, end("1"), text, "written");
  await ledger.recover();
  disk.refused = "same";
  assert.deepEqual(await append(ledger, end("2"), text), ["failed"]);
  const descriptor = openSync(path, "r");
  assert.deepEqual(scan(descriptor), []);
  closeSync(descriptor);
});

test("what is recorded while the store closes is kept, or refused", async () => {
  const kept: string[] = [];
  {
    await using store = await open("closing.db");
    for (let n = 0; n < 60; n += 1)
      void append(store.ledger, begin(newExecutionId()), `"${"y".repeat(20_000)}"`);
    const closed = store[Symbol.asyncDispose]();
    let isOpen = true;
    void closed.then(() => (isOpen = false));
    for (let n = 0; isOpen && n < 2000; n += 1) {
      const id = newExecutionId();
      void append(store.ledger, begin(id), "1").then((told) => {
        if (told.includes("synced")) kept.push(id);
      });
      await new Promise(setImmediate);
    }
    await closed;
  }
  await using store = await open("closing.db");
  assert.ok(kept.length > 0);
  for (const id of kept) assert.equal((await findExecution(store, id))?.status, "PENDING");
});

test("what a text holds is no row, wherever it lies", async () => {
  const ledger = openLedger("forged.db");
  const [path] = ledgerPaths(pathOf("forged.db"));
  await append(ledger, end("1"), "1", "written");
  const descriptor = openSync(path, "r+");
  const [at, mine] = [endOf(descriptor), end("forged")];
  // Rows whose numbers are the next ones, as somebody would make them who knows all but the generation.
  const forged = new RowEncoder().encode(2, 0n, [{ record: mine, text: '"forged"' }]);
  writeSync(descriptor, forged, 0, forged.length, at);
  assert.deepEqual(scan(descriptor), [1]);
  closeSync(descriptor);
});

test("the files change places while they are written, and what was applied is let go", async () => {
  const paths = ledgerPaths(pathOf("places.db"));
  const ids: string[] = [];
  {
    await using store = await open("places.db");
    for (let n = 0; n < 60; n += 1) {
      const id = newExecutionId();
      ids.push(id);
      await append(store.ledger, begin(id), `"${"x".repeat(500_000)}"`);
      await store.settled();
    }
    const sizes = paths.map((path) => statSync(path).size);
    for (const size of sizes) assert.ok(size > 4e6 && size < 20e6, `files of ${sizes.join(", ")}`);
  }
  for (const path of paths) assert.deepEqual(readFileSync(path), MAGIC);
  const db = new Database(pathOf("places.db"), { readonly: true });
  // The two of its start, and the changes of place: each is a write, which is synced.
  assert.ok((db.prepare("select emptied from ledger").pluck().get() as number) >= 4);
  db.close();
  await using store = await open("places.db");
  for (const id of ids) assert.equal((await findExecution(store, id))?.status, "PENDING");
});

/** A store that was killed with something in its ledger that the tables lack. */
async function leaveLedger(name: string): Promise<string> {
  const id = newExecutionId();
  await using _ = await open(name);
  await using stack = new AsyncDisposableStack();
  const ledger = openLedger(name, { apply: () => Promise.reject(new StoreError(LOCKED)) });
  stack.defer(() => ledger.close());
  await Promise.all([append(ledger, begin(id), '"in"'), append(ledger, end(id), '"out"')]);
  for (const path of [pathOf(name), ...ledgerPaths(pathOf(name))])
    for (const ending of ["", "-wal"])
      if (existsSync(path + ending))
        copyFileSync(path + ending, path.replace(name, `killed-${name}`) + ending);
  return id;
}

test("what an earlier start has left in the ledger is applied before anything else", async () => {
  const id = await leaveLedger("left.db");
  await using store = await open("killed-left.db");
  assert.equal((await findExecution(store, id))?.status, "ENDED_SUCCESS");
  assert.equal((await findPayload(store, id))?.output_value, '"out"');
  assert.ok(newExecutionId() > id, "ids go on after the last");
});

/** A ledger with begins that no table has, as after a kill. @returns the database, and a copy of a name */
async function leaveBegun(name: string, ids: readonly string[], text: string): Promise<string> {
  await using _ = await open(name);
  await using stack = new AsyncDisposableStack();
  const ledger = openLedger(name, { apply: () => Promise.reject(new StoreError(LOCKED)) });
  stack.defer(() => ledger.close());
  for (const id of ids) await append(ledger, begin(id), `"${id} ${text}"`);
  for (const path of [pathOf(name), `${pathOf(name)}-wal`, ...ledgerPaths(pathOf(name))])
    copyFileSync(path, path.replace(name, `killed-${name}`));
  return pathOf(`killed-${name}`);
}

test("a damaged row of the ledger is told, and those behind it are applied", async () => {
  const ids = Array.from({ length: 5 }, () => newExecutionId());
  const path = await leaveBegun("flipped.db", ids, "x".repeat(300_000));
  const [file] = ledgerPaths(path);
  const bytes = readFileSync(file);
  for (const damaged of [0, 2]) {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(0, copy.indexOf(`"${ids[damaged]} `) + 50);
    writeFileSync(file, copy);
    const expected = new RegExp(`: rows ${damaged + 1} to ${damaged + 1} of the ledger are not`);
    await assert.rejects(backupTo(toFile(path), `${path}.backup`), { message: expected });
  }
  const scratch = mkdtempSync(join(folder, "scratch-"));
  await inspectCopy(toFile(path), scratch);
  const lost = [
    "rows 3 to 3 of the ledger are not there, or damaged; after a power cut they may be rows of which " +
      "nobody was told",
  ];
  assert.deepEqual(inspectLedger(toFile(path), scratch), { begun: 4, damage: lost });
  const told: string[] = [];
  await using store = await open("killed-flipped.db", {
    onDamage: ({ message }, isLost) => told.push(`${message} ${isLost}`),
  });
  assert.deepEqual(told, [`${lost[0]} false`]);
  const found = await Promise.all(ids.map((id) => findExecution(store, id)));
  assert.deepEqual(
    found.map((one) => one?.status),
    ["PENDING", "PENDING", undefined, "PENDING", "PENDING"],
  );
  await append(store.ledger, begin(newExecutionId()), "1", "applied");
  // One start has put it in order.
  await backupTo(toFile(path), `${path}.backup`);
});

/** What of the first row is damaged. */
const DAMAGES: Record<string, (file: Buffer, at: number) => void> = {
  generation: (file, at) => file.writeUInt8(file.readUInt8(at + 20) ^ 1, at + 20),
  number: (file, at) => file.writeDoubleLE(1e300, at + 12),
  size: (file, at) => file.writeUInt32LE(0xffffffff, at + 4),
  "first block": (file, at) => file.fill(0, at, at + 512),
};

for (const [what, damage] of Object.entries(DAMAGES))
  test(`the first row of the ledger hides none behind it without its ${what}`, async () => {
    const name = `first-${what.replace(" ", "-")}.db`;
    // More than are applied at once, and what looks like rows in between.
    const ids = Array.from({ length: 900 }, () => newExecutionId());
    const path = await leaveBegun(name, ids, '[[{"kind":"begin"}]]'.repeat(20));
    const [file, other] = ledgerPaths(path);
    const bytes = readFileSync(file);
    damage(bytes, MAGIC.length);
    writeFileSync(file, bytes);
    // The other file goes on.
    const [later, generation] = [newExecutionId(), 7n];
    const row = new RowEncoder().encode(901, generation, [{ record: begin(later), text: "1" }]);
    writeFileSync(other, Buffer.concat([MAGIC, row]));
    await assert.rejects(backupTo(toFile(path), `${path}.backup`), {
      message: /: rows 1 to 1 of the ledger are not/,
    });
    const told: string[] = [];
    await using store = await open(`killed-${name}`, {
      onDamage: ({ message }) => told.push(message),
    });
    assert.equal(told.length, 1);
    assert.match(told[0] as string, /^rows 1 to 1 of the ledger are not/);
    const found = await Promise.all([...ids, later].map((id) => findExecution(store, id)));
    assert.deepEqual(
      found.flatMap((one, at) => (one === undefined ? at : [])),
      [0],
    );
    await append(store.ledger, begin(newExecutionId()), "1", "applied");
  });

test("a database that is new does not take the ledger of one that was taken away", async () => {
  const id = await leaveLedger("away.db");
  for (const ending of ["", "-wal", "-shm"])
    rmSync(pathOf("killed-away.db") + ending, { force: true });
  await using store = await open("killed-away.db");
  assert.equal(await findExecution(store, id), undefined);
  assert.ok(
    readdirSync(folder).some((name) => /^killed-away\.db\.before-\d+-ledger-0$/.test(name)),
  );
});

test("what cannot be written is told so, and the next row can be", async () => {
  const disk = newDisk();
  const ledger = openLedger("parts.db", { write: (...row) => disk.write(...row) });
  disk.refused = "";
  const id = newExecutionId();
  const records: LedgerRecord[] = [begin(id), { kind: "start", ids: [id], at: 1 }];
  const told = await Promise.all(records.map((record) => append(ledger, record, "1")));
  assert.deepEqual(told, [["failed"], ["failed"]]);
  disk.refused = null;
  assert.deepEqual(await append(ledger, begin(id), "1"), ["written", "synced"]);
  const descriptor = openSync(ledgerPaths(pathOf("parts.db"))[0], "r");
  assert.deepEqual(scan(descriptor), [1]);
  closeSync(descriptor);
});

test("a row makes the file no longer but once in a while, and needs no zeros behind it", async () => {
  const disk = newDisk();
  const ledger = openLedger("ahead.db", { write: (...row) => disk.write(...row) });
  const [path] = ledgerPaths(pathOf("ahead.db"));
  const sizes = new Set<number>();
  const ids = Array.from({ length: 400 }, (_, n) => String(n));
  for (const id of ids) {
    await append(ledger, end(id), `"${"x".repeat(4000)}"`, "written");
    sizes.add(statSync(path).size);
  }
  assert.ok(sizes.size < 40, `sizes of the file: ${[...sizes].join(", ")}`);
  // Room for rows, but for no zeros.
  disk.refused = "\0".repeat(4096);
  for (const id of ids) {
    const told = await append(ledger, end(id), `"${"x".repeat(4000)}"`, "written");
    assert.deepEqual(told, ["written"]);
  }
  const descriptor = openSync(path, "r");
  assert.equal(scan(descriptor).length, 800);
  closeSync(descriptor);
});

test("a full disk is told once, and is tried until it has room; a row too large is no sign", async () => {
  const disk = newDisk();
  const told: (string | null)[] = [];
  const ledger = openLedger("full.db", {
    write: (...row) => disk.write(...row),
    onRoom: (error) => told.push(error?.message ?? null),
  });
  disk.refused = '"large"';
  assert.deepEqual(await append(ledger, end("1"), '"large"'), ["failed"]);
  assert.deepEqual([ledger.isWritable, told], [true, []]);
  disk.refused = "";
  for (const id of ["2", "3"]) await append(ledger, end(id), null);
  assert.deepEqual([ledger.isWritable, told], [false, ["no space left"]]);
  disk.refused = null;
  while (!ledger.isWritable) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(told, ["no space left", null]);
  assert.deepEqual(await append(ledger, end("4"), null), ["written", "synced"]);
});

test("a full disk is not tried over what another process may have written", async () => {
  const disk = newDisk();
  const tried = Promise.withResolvers<void>();
  let isUnlocked = false;
  let writes = 0;
  const ledger = openLedger("full-unlocked.db", {
    write(...row) {
      writes += 1;
      disk.write(...row);
      if (isUnlocked) tried.resolve();
    },
    isUnlocked() {
      if (isUnlocked) tried.resolve();
      return isUnlocked;
    },
  });
  disk.refused = "";
  assert.deepEqual(await append(ledger, end("1"), null), ["failed"]);
  assert.equal(ledger.isWritable, false);
  [disk.refused, isUnlocked, writes] = [null, true, 0];
  await tried.promise;
  assert.deepEqual([ledger.isWritable, writes], [false, 0]);
});

test("that rows cannot be applied is told once, and that they can be again", async () => {
  let tries = 0;
  let isLocked = true;
  const told: (string | null)[] = [];
  const ledger = openLedger("locked.db", {
    async apply(applied) {
      tries += 1;
      if (isLocked) throw new StoreError(LOCKED);
      return { applied, skipped: [] };
    },
    onFailing: (error) => told.push(error?.message ?? null),
  });
  await append(ledger, end("1"), null);
  while (tries < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(told, ["locked"]);
  isLocked = false;
  while (told.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(told, ["locked", null]);
});

/** Fills the first page of a table with noise, also for who has the database open. */
function spoil(path: string, table: string): void {
  const db = new Database(path);
  db.pragma("wal_checkpoint(TRUNCATE)");
  const pageSize = db.pragma("page_size", { simple: true }) as number;
  const sql = "select rootpage from sqlite_master where name = ?";
  const page = db.prepare(sql).pluck().get(table) as number;
  const descriptor = openSync(path, "r+");
  writeSync(descriptor, Buffer.alloc(pageSize, 0xa5), 0, pageSize, (page - 1) * pageSize);
  closeSync(descriptor);
  db.exec("update ledger set emptied = emptied + 1");
  db.close();
}

test("a damaged database takes nothing that a restore would lose, and the restore says what is lost", async () => {
  const path = pathOf("spoiled.db");
  const told: (string | null)[] = [];
  {
    await using store = await open("spoiled.db", {
      onFailing: (error) => told.push(error?.message ?? null),
      onDamage: (error) => told.push(`passed over: ${error.message}`),
    });
    await append(store.ledger, begin(newExecutionId()), "1", "applied");
    await backupTo(toFile(path), pathOf("spoiled-backup.db"));
    spoil(path, "execution_input");
    assert.deepEqual([store.ledger.hasRoom, store.ledger.isWritable], [true, true]);
    await append(store.ledger, begin(newExecutionId()), "1");
    assert.equal(await store.settled(), false);
    assert.deepEqual([store.ledger.hasRoom, store.ledger.isWritable], [false, false]);
    assert.equal(await store.ledger.room(), false);
  }
  assert.deepEqual(told, ["database disk image is malformed"]);
  const lines: string[] = [];
  await restoreFrom(toFile(path), pathOf("spoiled-backup.db"), (line) => lines.push(line));
  assert.match(
    lines.join("\n"),
    /\(executions: up to 1\)\. It is kept as ".*-ledger-0" and ".*-1"$/,
  );
});

/** A disk that has room for half of what holds some text, and then none. */
function newDisk(): { refused: string | null; readonly write: Write } {
  return {
    refused: null,
    write(descriptor, bytes, at) {
      const isRefused = this.refused !== null && bytes.includes(this.refused);
      writeSync(descriptor, bytes, 0, isRefused ? bytes.length >> 1 : bytes.length, at);
      if (isRefused) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    },
  };
}

test("what cannot be written keeps out nothing but the start that relies on it", async () => {
  const disk = newDisk();
  const ledger = openLedger("split.db", { write: (...row) => disk.write(...row) });
  disk.refused = "poison";
  const [a, b] = [newExecutionId(), newExecutionId()];
  const together = new Promise((failed) =>
    ledger.append({ kind: "start", ids: [a], at: 1 }, null, { written() {}, failed }),
  );
  const others = [
    append(ledger, begin(a), '"poison"'),
    append(ledger, begin(b), '"good"'),
    append(ledger, { kind: "start", ids: [b], at: 1 }, null),
    append(ledger, end(b), '"good"'),
  ];
  const written = ["written", "synced"];
  assert.deepEqual(await Promise.all(others), [["failed"], written, written, written]);
  assert.ok((await together) instanceof StoreError);
});

test("that a run waits again is not written once it has started", async () => {
  const disk = newDisk();
  await using store = await open("again.db", { write: (...row) => disk.write(...row) });
  const journal = new Journal(store, openLog({ format: "json", level: "silent" }));
  for (const isWaiting of [false, true]) {
    const id = newExecutionId();
    await append(store.ledger, begin(id), "1");
    await append(store.ledger, { kind: "start", ids: [id], at: 1 }, null);
    const asked = Promise.withResolvers<void>();
    disk.refused = '"kind":"wait"';
    journal.wait({ id, recordedStart: 1 }, () => (asked.resolve(), isWaiting));
    // A record of its own, after which the one before has failed.
    await append(store.ledger, { kind: "log", id, lines: [] }, null);
    disk.refused = null;
    await asked.promise;
    await new Promise(setImmediate);
    await store.settled();
    assert.equal((await findExecution(store, id))?.status, isWaiting ? "PENDING" : "RUNNING");
  }
});

test("a file of the ledger that is damaged is named, and stays as it is", async () => {
  const path = pathOf("damaged.db");
  {
    await using _ = await open("damaged.db");
  }
  const [file] = ledgerPaths(path);
  const junk = "this is no database ".repeat(500);
  writeFileSync(file, junk);
  await assert.rejects(open("damaged.db"), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /damaged\.db-ledger-0" and ".*not a database.*left as they are/);
    return true;
  });
  assert.equal(readFileSync(file, "utf8"), junk);
});

/** Puts in the place of the ledger what release 0.1 would have left there. */
function leaveEarlier(name: string, files: readonly (readonly [LedgerRecord, string | null][])[]) {
  let seq = 0;
  for (const [at, records] of files.entries()) {
    const path = ledgerPaths(pathOf(name))[at] as string;
    rmSync(path, { force: true });
    const db = new Database(path);
    db.pragma("journal_mode = WAL");
    db.exec(
      "create table record (seq integer primary key, head text not null, texts text not null)",
    );
    for (const [record, text] of records) {
      const head = JSON.stringify([[record, text === null ? null : text.length]]);
      db.prepare("insert into record values (?, ?, ?)").run((seq += 1), head, text ?? "");
    }
    db.close();
  }
}

test("what release 0.1 has left in its ledger is taken over once", async () => {
  const id = newExecutionId();
  const begun: [LedgerRecord, string] = [begin(id, "2026-11"), '"\u{1f600}"'];
  {
    await using _ = await open("earlier.db");
  }
  leaveEarlier("earlier.db", [[begun], [[end(id), '"out"']]]);
  const file = { path: pathOf("earlier.db"), durability: "full", addon: null } as const;
  await backupTo(file, pathOf("earlier-backup.db"));
  const [first] = ledgerPaths(file.path);
  copyFileSync(first, `${first}-aside`);
  // As a service of 0.1 leaves it that empties a file while the copy is made: there is a gap.
  rmSync(first);
  await backupTo(file, pathOf("earlier-gap.db"));
  assert.deepEqual((dump("earlier-gap.db") as unknown[])[0], []);
  copyFileSync(`${first}-aside`, first);
  for (let start = 1; start <= 2; start += 1) {
    await using store = await open("earlier.db");
    const found = await findPayload(store, id);
    assert.deepEqual([found?.input_value, found?.output_value], [begun[1], '"out"']);
    assert.deepEqual(await connectionsByMonth(store), new Map([["2026-11", 1]]));
    for (const path of ledgerPaths(file.path)) assert.deepEqual(readFileSync(path), MAGIC);
    await append(store.ledger, begin(newExecutionId()), "1", "applied");
  }
  const [executions, , outputs] = dump("earlier-backup.db") as { status: string }[][];
  assert.deepEqual(
    [executions?.map(({ status }) => status), outputs?.length],
    [["ENDED_SUCCESS"], 1],
  );
});

test("a ledger of release 0.1 that was killed at its first start is none", async () => {
  {
    await using _ = await open("first.db");
  }
  const [path] = ledgerPaths(pathOf("first.db"));
  rmSync(path);
  const db = new Database(path);
  db.pragma("journal_mode = WAL");
  db.close();
  await using store = await open("first.db");
  await append(store.ledger, begin(newExecutionId()), "1", "applied");
  assert.deepEqual(readFileSync(path).subarray(0, MAGIC.length), MAGIC);
});

test("a command beside the service leaves the ledger to it", async () => {
  await using store = await open("beside.db");
  const ids: string[] = [];
  let isOpen = false;
  const opening = (async () => {
    for (let n = 0; n < 3; n += 1) {
      await using _ = await open("beside.db", { isBeside: true });
    }
    isOpen = true;
  })();
  while (!isOpen) {
    const id = newExecutionId();
    ids.push(id);
    await append(store.ledger, begin(id, "2026-11"), "1");
  }
  await opening;
  const lost: string[] = [];
  for (const id of ids) if ((await findExecution(store, id)) === undefined) lost.push(id);
  assert.deepEqual(lost, []);
  assert.deepEqual(await connectionsByMonth(store), new Map([["2026-11", ids.length]]));
});

test("a backup has what the ledger has, and a restore leaves none of it behind", async () => {
  const id = await leaveLedger("backed.db");
  const file = { path: pathOf("killed-backed.db"), durability: "full", addon: null } as const;
  await backupTo(file, pathOf("backup.db"));
  const old = await restoreFrom(file, pathOf("backup.db"));
  for (const path of ledgerPaths(file.path)) assert.equal(existsSync(path), false);
  for (const path of [file.path, old as string]) {
    const db = new Database(path);
    assert.equal(
      db.prepare("select status from execution where id = ?").pluck().get(id),
      "ENDED_SUCCESS",
    );
    db.close();
  }
});

test("what a killed service has left is no backup: its WAL and its ledger would be lost", async () => {
  await leaveLedger("left-over.db");
  const [left, own] = [pathOf("killed-left-over.db"), toFile(pathOf("untouched.db"))];
  await (await open("untouched.db"))[Symbol.asyncDispose]();
  const before = readFileSync(own.path);
  const beside = existsSync(`${left}-wal`) ? statSync(`${left}-wal`).size : 0;
  assert.ok(beside > 0);
  await assert.rejects(restoreFrom(own, left), { message: /lacks what its WAL \(".*-wal"\) has/ });
  const db = new Database(left);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  await assert.rejects(restoreFrom(own, left), {
    message: /lacks what its ledger has.*: flowhook backup FILE/,
  });
  assert.ok(before.equals(readFileSync(own.path)));
  await backupTo(toFile(left), pathOf("left-over-backup.db"));
  const old = await restoreFrom(own, pathOf("left-over-backup.db"));
  assert.equal((dump("untouched.db") as unknown[][])[0]?.length, 1);
  await restoreFrom(own, old as string);
  assert.equal((dump("untouched.db") as unknown[][])[0]?.length, 0);
});

test("a database is not restored from itself", async () => {
  const file = toFile(pathOf("itself.db"));
  await (await open("itself.db"))[Symbol.asyncDispose]();
  symlinkSync(file.path, pathOf("link-to-itself.db"));
  for (const name of ["itself.db", "link-to-itself.db"])
    await assert.rejects(restoreFrom(file, pathOf(name)), { message: /is the database itself/ });
});

/** As where an operator has moved the database to another disk. @returns where it lies now */
function moveBehindLink(name: string): string {
  const far = pathOf(`far-${name}`);
  mkdirSync(far);
  for (const end of ["", "-wal"])
    if (existsSync(pathOf(name) + end)) renameSync(pathOf(name) + end, join(far, `moved.db${end}`));
  symlinkSync(join(far, "moved.db"), pathOf(name));
  return join(far, "moved.db");
}

test("a store that is opened by a link has one ledger, beside the file", async () => {
  {
    await using _ = await open("link.db");
  }
  for (const path of ledgerPaths(pathOf("link.db"))) rmSync(path);
  const path = moveBehindLink("link.db");
  const file = { path: pathOf("link.db"), durability: "full", addon: null } as const;
  const ids: string[] = [];
  for (const name of [path, file.path, path]) {
    await using store = await open("link.db", { path: name });
    const id = newExecutionId();
    ids.push(id);
    await append(store.ledger, begin(id), '"in"', "applied");
    for (const one of ids) assert.equal((await findExecution(store, one))?.status, "PENDING");
    const { wal, ledger } = await store.fileSizes();
    assert.ok(wal !== null && (ledger ?? 0) > 2 * MAGIC.length);
    for (const other of ledgerPaths(file.path)) assert.equal(existsSync(other), false);
  }
  await backupTo(file, pathOf("link-backup.db"));
  const old = await restoreFrom(file, pathOf("link-backup.db"));
  assert.ok(lstatSync(file.path).isSymbolicLink());
  assert.deepEqual([dirname(old ?? ""), lstatSync(old ?? "").isFile()], [dirname(path), true]);
});

test("what a release before has left beside a link is taken over, and is in a backup", async () => {
  const id = await leaveLedger("beside-link.db");
  const path = moveBehindLink("killed-beside-link.db");
  const file = { path: pathOf("killed-beside-link.db"), durability: "full", addon: null } as const;
  await backupTo(file, pathOf("beside-link-backup.db"));
  const [[row]] = dump("beside-link-backup.db") as [[{ status: string }]];
  assert.equal(row?.status, "ENDED_SUCCESS");
  for (const name of [file.path, path]) {
    await using store = await open("beside-link.db", { path: name });
    assert.equal((await findPayload(store, id))?.output_value, '"out"');
  }
  for (const left of ledgerPaths(file.path)) assert.equal(existsSync(left), false);
});

test("of two ledgers that both have what the database lacks none is passed over", async () => {
  await leaveLedger("two.db");
  const path = moveBehindLink("killed-two.db");
  for (const [at, left] of ledgerPaths(pathOf("killed-two.db")).entries())
    copyFileSync(left, ledgerPaths(path)[at] as string);
  await assert.rejects(open("killed-two.db"), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /has two ledgers, ".*moved\.db-ledger-0" and ".*killed-two\.db-l/);
    return true;
  });
});

const MIGRATIONS_OF_0_1 = ["0001-first", "0002-key-use", "0003-execution-key", "0004-ledger"];

/** How it is opened by who copies it. */
const toFile = (path: string) => ({ path, durability: "full", addon: null }) as const;

test("a copy of a store of release 0.1 has what its ledger has", async () => {
  const id = newExecutionId();
  await makeOldStore(pathOf("old.db"), () => {}, MIGRATIONS_OF_0_1);
  leaveEarlier("old.db", [[[begin(id), '"in"']], []]);
  const file = toFile(pathOf("old.db"));
  await backupTo(file, pathOf("old-backup.db"));
  {
    using source = await openMoveSource(file, () => {});
    assert.equal(source.waiting, 1);
  }
  const old = await restoreFrom(file, pathOf("old-backup.db"));
  for (const path of [pathOf("old-backup.db"), old as string]) {
    const db = new Database(path, { readonly: true });
    assert.deepEqual(db.prepare("select id from execution").pluck().all(), [id]);
    db.close();
  }
});

test("a copy that could not take a record of the ledger is not made", async () => {
  const id = newExecutionId();
  for (const name of ["untaken.db", "taken.db"]) await (await open(name))[Symbol.asyncDispose]();
  const row = newRow(newExecutionId(), { ...PENDING, flow: null as unknown as string });
  const broken = { ...begin(id), row } as LedgerRecord;
  leaveEarlier("untaken.db", [
    [
      [begin(id), '"in"'],
      [broken, '"in"'],
    ],
    [],
  ]);
  const [file, copy] = [toFile(pathOf("untaken.db")), pathOf("untaken-backup.db")];
  const expected =
    /^The tables cannot take 1 of the records .*: begin: .*NOT NULL.* Start the service once/;
  await assert.rejects(backupTo(file, copy), { message: expected });
  await assert.rejects(
    openMoveSource(file, () => {}),
    { message: expected },
  );
  assert.equal(existsSync(copy), false);
  // What is set aside keeps its ledger whole: a start on it takes what can be taken.
  await backupTo(toFile(pathOf("taken.db")), copy);
  const old = (await restoreFrom(file, copy)) as string;
  const skipped: string[] = [];
  const onDamage = ({ message }: Error): void => void skipped.push(message);
  await using store = await open("untaken.db", { path: old, onDamage });
  assert.equal((await findExecution(store, id))?.status, "PENDING");
  assert.equal(skipped.length, 1);
});
