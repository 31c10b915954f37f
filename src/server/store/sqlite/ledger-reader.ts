import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { FIXED_SIZE, GENERATION_AT, HEADS, MAGIC, RowBytes, type LedgerRow } from "./ledger-row.ts";

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
 * @param sought which rows are
 */
export function* scanAll(
  descriptor: number,
  position: Position,
  { after, expected }: Sought,
  memory = newMemory(),
): Generator<PlacedRow & { readonly isBehindDamage: boolean }> {
  for (let from: Position | null = position; from !== null;) {
    let end: Position = from;
    for (const placed of scanRows(descriptor, from, memory)) {
      yield { ...placed, isBehindDamage: end === from && from !== position };
      end = placed.next;
    }
    if ((end.last?.seq ?? 0) >= expected) return;
    from = findLater(descriptor, end, after, memory);
  }
}

interface Sought {
  /** Number of a row: of a file whose first row is damaged, those up to it may be of before it began. */
  readonly after: number;
  /** Number of the last row that may be there: a file that has it is not searched. */
  readonly expected: number;
}

/** Before the next whole row of a file, where the one at a place is damaged; null: none follows. */
function findLater(
  descriptor: number,
  { at, last }: Position,
  after: number,
  memory: Buffer,
): Position | null {
  const window = new Window(descriptor, memory);
  const found = last === null ? findFirst(window, at, after) : findNext(window, at, last);
  if (found === null) return null;
  // Who writes the file may have begun it anew, or have been about to write that row.
  const written = new Window(descriptor, memory);
  if (last !== null && generationAt(written, BEGINNING.at) !== last.generation) return null;
  return takeRow(written, at) === null ? found : { at, last };
}

/** The generation tells its rows from those of before. */
function findNext(window: Window, after: number, last: NonNullable<Position["last"]>) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(last.generation);
  return findRow(window, bytes, after + 1 + GENERATION_AT, GENERATION_AT, last.seq);
}

/**
 * Where the first row is damaged, its generation is not known. The number tells rows from those of
 * before, which were applied. A text is none of them: JSON has no such bytes as begin a row.
 */
function findFirst(window: Window, after: number, applied: number): Position | null {
  return findRow(window, HEADS, after + 1 + FIXED_SIZE, FIXED_SIZE, applied);
}

/**
 * Before the first whole row with a number above another.
 *
 * @param bytes of it, at an offset
 */
function findRow(window: Window, bytes: Buffer, from: number, offset: number, above: number) {
  for (
    let found = window.find(bytes, from);
    found !== null;
    found = window.find(bytes, found + 1)
  ) {
    const at = found - offset;
    const row = takeRow(window, at);
    if (row === null || row.seq <= above) continue;
    return { at, last: { seq: row.seq - 1, generation: row.generation } };
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
    if (!this.#has(at, size)) {
      // A size that is none would ask for more than there is.
      if (size > CHUNK && at + size > fstatSync(this.#descriptor).size) return null;
      this.#load(at, size);
    }
    const from = at - this.#begin;
    return from + size > this.#chunk.length ? null : this.#chunk.subarray(from, from + size);
  }

  /** Where some bytes are, from a place on; null: nowhere. */
  find(bytes: Buffer, from: number): number | null {
    for (let at = from; ; at = this.#begin + this.#chunk.length - bytes.length + 1) {
      if (!this.#has(at, bytes.length)) this.#load(at, CHUNK);
      const found = this.#chunk.indexOf(bytes, at - this.#begin);
      if (found >= 0) return this.#begin + found;
      if (this.#chunk.length < CHUNK) return null;
    }
  }

  #has(at: number, size: number): boolean {
    return at >= this.#begin && at + size <= this.#begin + this.#chunk.length;
  }

  #load(at: number, size: number): void {
    const chunk = size > CHUNK ? Buffer.allocUnsafeSlow(size) : this.#memory;
    this.#chunk = chunk.subarray(0, readSync(this.#descriptor, chunk, 0, chunk.length, at));
    this.#begin = at;
  }
}

/** Reads a file that another thread or another process may be writing. */
class FileReader {
  readonly #descriptor: number;
  readonly #memory = newMemory();
  #position = BEGINNING;
  /** CRC-32 of its first row, where that was found whole. */
  #whole: number | null = null;
  /** CRC-32 of its first row, where that was found damaged, and what was found behind it. */
  #damaged: { readonly crc: number; readonly first: number } | null = null;

  constructor(path: string) {
    this.#descriptor = openSync(path, "r");
  }

  /** Number of its first row, as far as rows after one matter; 0: it has none of them. */
  first(after: number): number {
    const begin = this.#begin();
    if (begin === null) return 0;
    const { crc, seq } = begin;
    if (crc === this.#whole) return seq;
    if (takeRow(new Window(this.#descriptor, this.#memory), BEGINNING.at) !== null) {
      this.#whole = crc;
      return seq;
    }
    if (crc !== this.#damaged?.crc) {
      const found = findLater(this.#descriptor, BEGINNING, after, this.#memory);
      this.#damaged = { crc, first: found?.last ? found.last.seq + 1 : 0 };
    }
    return this.#damaged.first;
  }

  /** What tells its first row from others; what that holds was not looked at. */
  #begin(): RowBytes | null {
    const fixed = Buffer.allocUnsafe(FIXED_SIZE);
    const size = readSync(this.#descriptor, fixed, 0, FIXED_SIZE, MAGIC.length);
    return size < FIXED_SIZE ? null : new RowBytes(fixed);
  }

  /** @param expected as scanAll has it */
  *read(after: number, through: number, expected: number): Generator<LedgerRow> {
    const from = this.#placeFor(after);
    const scanned = scanAll(this.#descriptor, from, { after, expected }, this.#memory);
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
    const begin = last === null ? null : this.#begin();
    if (last === null || begin === null || last.seq > after) return BEGINNING;
    return begin.generation === last.generation ? this.#position : BEGINNING;
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
    // Both are read: the first row of one may be torn.
    const firsts = this.#files
      .map((file) => ({ file, seq: file.first(after) }))
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
