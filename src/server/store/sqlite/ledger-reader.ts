import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { FIXED_SIZE, GENERATION_AT, MAGIC, RowBytes, type LedgerRow } from "./ledger-row.ts";

/** A place between two rows of a file. */
export interface Position {
  /** Bytes before it. */
  readonly at: number;
  /** Of the row before it; null: it is the beginning. */
  readonly last: { readonly seq: number; readonly generation: bigint } | null;
}

export const BEGINNING: Position = { at: MAGIC.length, last: null };

interface PlacedRow {
  readonly row: RowBytes;
  /** Behind it. */
  readonly next: Position;
}

/**
 * The rows behind a place, up to the first that is not whole.
 *
 * @param memory for what is read; the bytes of a row change with the next one
 */
export function* scanRows(
  descriptor: number,
  position: Position,
  memory = newMemory(),
): Generator<PlacedRow> {
  const window = new Window(descriptor, memory);
  for (let { at, last } = position; ;) {
    const row = takeRow(window, at);
    if (row === null || !isNext(row, last)) return;
    at += row.size;
    last = { seq: row.seq, generation: row.generation };
    yield { row, next: { at, last } };
  }
}

/** The row at a place; null: none that is whole begins there. */
function takeRow(window: Window, at: number): RowBytes | null {
  const fixed = window.take(at, FIXED_SIZE);
  const bytes = fixed === null ? null : window.take(at, new RowBytes(fixed).size);
  const row = bytes === null ? null : new RowBytes(bytes);
  return row?.isWhole === true ? row : null;
}

/**
 * As scanRows, and goes on behind rows that are damaged. After a power cut rows may follow of which
 * nobody was told: they may be there or not.
 *
 * @param expected number of the last row that may be there: a file that has it is not searched
 */
export function* scanAll(
  descriptor: number,
  position: Position,
  expected: number,
  memory = newMemory(),
): Generator<PlacedRow & { readonly isBehindDamage: boolean }> {
  for (let from: Position | null = position; from !== null;) {
    let end: Position = from;
    for (const placed of scanRows(descriptor, from, memory)) {
      yield { ...placed, isBehindDamage: end === from && from !== position };
      end = placed.next;
    }
    from = (end.last?.seq ?? 0) < expected ? findLater(descriptor, end, memory) : null;
  }
}

/** Before the next whole row of a file, where the one at a place is damaged; null: none follows. */
function findLater(descriptor: number, { at, last }: Position, memory: Buffer): Position | null {
  const window = new Window(descriptor, memory);
  const generation = last?.generation ?? generationAt(window, at);
  // Zeros, that lie there for the rows to come.
  if (generation === null || generation === 0n) return null;
  const found = findRow(window, at, { seq: last?.seq ?? 0, generation });
  // Who writes the file may have begun it anew, or have been about to write that row.
  const written = new Window(descriptor, memory);
  if (found === null || generationAt(written, BEGINNING.at) !== generation) return null;
  return takeRow(written, at) === null ? found : { at, last };
}

function findRow(window: Window, after: number, last: NonNullable<Position["last"]>) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(last.generation);
  const begin = after + 1 + GENERATION_AT;
  for (
    let found = window.find(bytes, begin);
    found !== null;
    found = window.find(bytes, found + 1)
  ) {
    const at = found - GENERATION_AT;
    const row = takeRow(window, at);
    if (row !== null && row.seq > last.seq) return { at, last: { ...last, seq: row.seq - 1 } };
  }
  return null;
}

function generationAt(window: Window, at: number): bigint | null {
  const fixed = window.take(at, FIXED_SIZE);
  return fixed === null ? null : new RowBytes(fixed).generation;
}

function isNext({ seq, generation }: RowBytes, last: Position["last"]): boolean {
  return last === null || (seq === last.seq + 1 && generation === last.generation);
}

/** Read of a file at once; bytes. */
const CHUNK = 256 * 1024;

const newMemory = (): Buffer => Buffer.allocUnsafeSlow(CHUNK);

/** Bytes of a file, read in chunks. */
class Window {
  readonly #descriptor: number;
  readonly #memory: Buffer;
  #chunk: Buffer;
  /** Of the chunk. */
  #begin = 0;

  constructor(descriptor: number, memory: Buffer) {
    this.#descriptor = descriptor;
    this.#memory = memory;
    this.#chunk = memory.subarray(0, 0);
  }

  /** @returns null where the file ends before them */
  take(at: number, size: number): Buffer | null {
    if (at < this.#begin || at + size > this.#begin + this.#chunk.length) this.#load(at, size);
    const from = at - this.#begin;
    return from + size > this.#chunk.length ? null : this.#chunk.subarray(from, from + size);
  }

  /** Where some bytes are, from a place on; null: nowhere. */
  find(bytes: Buffer, from: number): number | null {
    for (let at = from; ; at += CHUNK - bytes.length) {
      this.#load(at, CHUNK);
      const found = this.#chunk.indexOf(bytes);
      if (found >= 0) return at + found;
      if (this.#chunk.length < CHUNK) return null;
    }
  }

  #load(at: number, size: number): void {
    const chunk = size > CHUNK ? this.#newMemory(at, size) : this.#memory;
    this.#chunk = chunk.subarray(0, readSync(this.#descriptor, chunk, 0, chunk.length, at));
    this.#begin = at;
  }

  /** A size that is none would ask for more than there is. */
  #newMemory(at: number, size: number): Buffer {
    const rest = fstatSync(this.#descriptor).size - at;
    return Buffer.allocUnsafeSlow(Math.max(0, Math.min(size, rest)));
  }
}

/** Reads a file that another thread or another process may be writing. */
class FileReader {
  readonly #descriptor: number;
  readonly #memory = newMemory();
  #position = BEGINNING;

  constructor(path: string) {
    this.#descriptor = openSync(path, "r");
  }

  /** Its first row, as far as it is told from others; what it holds was not looked at. */
  first(): RowBytes | null {
    const fixed = Buffer.allocUnsafe(FIXED_SIZE);
    const size = readSync(this.#descriptor, fixed, 0, FIXED_SIZE, MAGIC.length);
    return size < FIXED_SIZE ? null : new RowBytes(fixed);
  }

  /** @param expected as scanAll has it */
  *read(after: number, through: number, expected: number): Generator<LedgerRow> {
    const from = this.#placeFor(after);
    const scanned = scanAll(this.#descriptor, from, expected, this.#memory);
    for (const { row, next, isBehindDamage } of scanned) {
      if (row.seq > through) return;
      this.#position = next;
      if (row.seq > after) yield { ...row.decode(), isBehindDamage };
      // It is known what comes next, and not looked at.
      if (row.seq === through) return;
    }
  }

  /** Where it stands, as long as the file goes on from there and nothing is to be read again. */
  #placeFor(after: number): Position {
    const { last } = this.#position;
    const first = last === null ? null : this.first();
    if (last === null || first === null || last.seq > after) return BEGINNING;
    return first.generation === last.generation ? this.#position : BEGINNING;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/**
 * Rows that follow each other without a gap, but for those that are damaged: of a ledger that another
 * process writes.
 */
export function* unbroken(rows: Iterable<LedgerRow>, after: number): Generator<LedgerRow> {
  let last = after;
  for (const row of rows) {
    if (row.seq !== last + 1 && row.isBehindDamage !== true) return;
    last = row.seq;
    yield row;
  }
}

/** Reads the rows of both files of the ledger. */
export class LedgerReader {
  readonly #files: readonly FileReader[];

  /** @param paths of files that are there */
  constructor(paths: readonly string[]) {
    this.#files = paths.map((path) => new FileReader(path));
  }

  /** The rows after one, up to another, in their order. */
  *read(after: number, through = Number.MAX_SAFE_INTEGER): Generator<LedgerRow> {
    // Both are read: the first row of one may be torn, whatever number it claims to have.
    const firsts = this.#files
      .map((file) => ({ file, seq: file.first()?.seq ?? 0 }))
      .toSorted((a, b) => a.seq - b.seq);
    for (const [at, { file }] of firsts.entries()) {
      const last = Math.min(through, (firsts[at + 1]?.seq ?? Infinity) - 1);
      yield* file.read(after, through, last > after ? last : 0);
    }
  }

  [Symbol.dispose](): void {
    for (const file of this.#files) file.close();
  }
}
