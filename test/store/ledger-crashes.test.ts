import assert from "node:assert/strict";
import {
  fstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ledgerPaths } from "../../src/shared/ledger-paths.ts";
import type { LedgerRow } from "../../src/server/store/sqlite/ledger-row.ts";
import { LedgerReader } from "../../src/server/store/sqlite/ledger-reader.ts";
import { SqliteLedger } from "../../src/server/store/sqlite/ledger.ts";
import { figure, openRandom } from "../faults/sizes.ts";

/** Lives of one ledger, each ended by a kill, by a power cut or by a stop, at any moment. */

const LIVES = 70;
const SECTOR = 512;

const folder = mkdtempSync(join(tmpdir(), "flowhook-crashes-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const next = openRandom(23);
/** A whole number below another. */
const random = (most: number): number => Math.floor(next() * most);

interface Written {
  readonly at: number;
  readonly bytes: Buffer;
}

/** A disk of which a power cut leaves what was synced, and any sectors of what was not. */
class Disk {
  /** By the number of the file. */
  readonly #synced = new Map<number, Buffer>();
  readonly #unsynced = new Map<number, Written[]>();
  isFull = false;
  isGone = false;

  constructor(paths: readonly string[]) {
    for (const path of paths) this.#synced.set(statSync(path).ino, readFileSync(path));
  }

  write(descriptor: number, bytes: Buffer, at: number): void {
    const part = this.isFull ? bytes.subarray(0, random(bytes.length)) : bytes;
    writeSync(descriptor, part, 0, part.length, at);
    const { ino } = fstatSync(descriptor);
    const before = this.#unsynced.get(ino) ?? [];
    this.#unsynced.set(ino, [...before, { at, bytes: Buffer.from(part) }]);
    if (this.isFull) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  }

  /** What is written from here on is not synced by it. */
  sync(descriptor: number, told: (error: null) => void): void {
    const { ino } = fstatSync(descriptor);
    const covered = this.#unsynced.get(ino)?.length ?? 0;
    setImmediate(() => {
      if (this.isGone) return;
      for (const written of this.#unsynced.get(ino)?.splice(0, covered) ?? [])
        this.#synced.set(ino, put(this.#synced.get(ino) ?? Buffer.alloc(0), written));
      told(null);
    });
  }

  /** What a power cut leaves of a file. */
  cut(path: string): Buffer {
    const { ino } = statSync(path);
    let left: Buffer = Buffer.from(this.#synced.get(ino) ?? []);
    for (const { at, bytes } of this.#unsynced.get(ino) ?? [])
      for (let from = at; from < at + bytes.length;) {
        const end = Math.min(from - (from % SECTOR) + SECTOR, at + bytes.length);
        if (random(3) > 0)
          left = put(left, { at: from, bytes: bytes.subarray(from - at, end - at) });
        from = end;
      }
    return left;
  }
}

function put(file: Buffer, { at, bytes }: Written): Buffer {
  const grown =
    at + bytes.length > file.length
      ? Buffer.concat([file, Buffer.alloc(at + bytes.length - file.length)])
      : file;
  bytes.copy(grown, at);
  return grown;
}

/** What the store's tables have: a power cut takes what was applied since they were synced. */
class Tables {
  rows: LedgerRow[] = [];
  #synced = 0;

  get applied(): number {
    return this.rows.at(-1)?.seq ?? 0;
  }

  sync(): void {
    this.#synced = this.rows.length;
  }

  cut(): void {
    this.rows.length = this.#synced + random(this.rows.length - this.#synced + 1);
  }

  /** The texts of each record. */
  texts(): Map<string, (string | null)[]> {
    const found = new Map<string, (string | null)[]>();
    for (const { record, text } of this.rows.flatMap(({ entries }) => entries))
      if (record.kind === "end") found.set(record.id, [...(found.get(record.id) ?? []), text]);
    return found;
  }
}

/** What callers were told of a record. */
interface Told {
  readonly text: string;
  state: "nothing" | "synced" | "failed";
}

test("lives that end at any moment: what was told is so, and nothing is there twice", async () => {
  const tables = new Tables();
  const told = new Map<string, Told>();
  const kinds = { kill: 0, cut: 0, stop: 0 };
  for (let life = 0; life < LIVES; life += 1) {
    const kind = (["kill", "cut", "cut", "stop"] as const)[random(4)] as keyof typeof kinds;
    kinds[kind] += 1;
    await live(life, kind, tables, told);
  }
  await live(LIVES, "stop", tables, told);
  const texts = tables.texts();
  for (const [id, { state, text }] of told) {
    const expected = state === "synced" ? [text] : state === "failed" ? undefined : texts.get(id);
    assert.ok(
      JSON.stringify(texts.get(id)) === JSON.stringify(expected) &&
        (expected === undefined || (expected.length === 1 && expected[0] === text)),
      `record ${id}, of which "${state}" was told, is there ${texts.get(id)?.length ?? 0} times`,
    );
  }
  const states = [...told.values()].map(({ state }) => state);
  for (const state of ["nothing", "synced", "failed"] as const) {
    const count = states.filter((one) => one === state).length;
    figure(`crashes of the ledger: records of which "${state}" was told`, count);
    assert.ok(count > 10);
  }
  figure("crashes of the ledger: kills", kinds.kill);
  figure("crashes of the ledger: power cuts", kinds.cut);
});

async function live(
  life: number,
  kind: "kill" | "cut" | "stop",
  tables: Tables,
  told: Map<string, Told>,
): Promise<void> {
  const paths = ledgerPaths(join(folder, `${life}.db`));
  const disk = new Disk(paths.filter((path) => life > 0 && statSync(path)));
  const ledger = new SqliteLedger({
    file: { path: join(folder, `${life}.db`), durability: "full", addon: null },
    applied: tables.applied,
    async apply(through) {
      if (disk.isGone) return new Promise(() => {});
      // Who reads in the service keeps the files open; here they go with each life.
      using reader = new LedgerReader(paths);
      tables.rows.push(...reader.read(tables.applied, through));
      return { applied: tables.applied, skipped: [] };
    },
    syncTables: async () => (disk.isGone ? new Promise(() => {}) : tables.sync()),
    onDamage: (error) => assert.ifError(error),
    write: (...written) => disk.write(...written),
    sync: (...asked) => disk.sync(...asked),
  });
  await ledger.recover();
  await work(ledger, disk, told);
  if (kind === "stop") await ledger.close();
  disk.isGone = true;
  if (kind === "cut") tables.cut();
  const images = ledgerPaths(join(folder, `${life + 1}.db`));
  for (const [at, path] of paths.entries())
    writeFileSync(images[at] as string, kind === "cut" ? disk.cut(path) : readFileSync(path));
  for (const path of paths) rmSync(path);
}

/** Records of all sizes, some of them on a disk that is full for a moment. */
async function work(ledger: SqliteLedger, disk: Disk, told: Map<string, Told>): Promise<void> {
  for (let left = 4 + random(40); left > 0; left -= 1) {
    const id = String(told.size);
    const length = random(10) === 0 ? 3_000_000 : random(3000);
    const one: Told = { text: `"${id}${"x".repeat(length)}"`, state: "nothing" };
    told.set(id, one);
    const tell = (state: Told["state"]) => (): void => {
      if (!disk.isGone) one.state = state;
    };
    const record = { kind: "end", id, status: "ENDED_SUCCESS", status_message: null } as const;
    const events = { synced: tell("synced"), failed: tell("failed") };
    ledger.append({ ...record, ended_at: 7, response: null }, one.text, events);
    disk.isFull = random(10) === 0;
    for (let turns = random(4); turns > 0; turns -= 1) await new Promise(setImmediate);
    disk.isFull = false;
  }
}
