import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { FIXED_SIZE, MAGIC, RowBytes, type LedgerRow } from "./ledger-row.ts";

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
 * The rows behind a place, up to the first that is not whole: nobody was told of what follows.
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
    const fixed = window.take(at, FIXED_SIZE);
    if (fixed === null || !isNext(new RowBytes(fixed), last)) return;
    const bytes = window.take(at, new RowBytes(fixed).size);
    if (bytes === null) return;
    const row = new RowBytes(bytes);
    if (!row.isWhole) return;
    at += row.size;
    last = { seq: row.seq, generation: row.generation };
    yield { row, next: { at, last } };
  }
}

function isNext({ seq, generation }: RowBytes, last: Position["last"]): boolean {
  return last === null || (seq === last.seq + 1 && generation === last.generation);
}

/** Read of a file at once; bytes. */
const CHUNK = 256 * 1024;

const newMemory = (): Buffer => Buffer.allocUnsafeSlow(CHUNK);

/** Bytes of a file, read in chunks from its beginning to its end. */
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
    if (at + size > this.#begin + this.#chunk.length) this.#load(at, size);
    const from = at - this.#begin;
    return from + size > this.#chunk.length ? null : this.#chunk.subarray(from, from + size);
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

  *read(after: number, through: number): Generator<LedgerRow> {
    for (const { row, next } of scanRows(this.#descriptor, this.#placeFor(after), this.#memory)) {
      if (row.seq > through) return;
      this.#position = next;
      if (row.seq > after) yield row.decode();
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

/** Rows that follow each other without a gap: those of a ledger that another process writes. */
export function* unbroken(rows: Iterable<LedgerRow>, after: number): Generator<LedgerRow> {
  let next = after;
  for (const row of rows) {
    next += 1;
    if (row.seq !== next) return;
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
    const firsts = this.#files.map((file) => ({ file, seq: file.first()?.seq ?? 0 }));
    // Both are read: the first row of one may be torn, whatever number it claims to have.
    for (const { file } of firsts.toSorted((a, b) => a.seq - b.seq))
      yield* file.read(after, through);
  }

  [Symbol.dispose](): void {
    for (const file of this.#files) file.close();
  }
}
