import { crc32 } from "node:zlib";
import { listReplaced, type LedgerEntry, type LedgerRecord } from "../ledger-record.ts";

/**
 * The ledger's files: MAGIC, then rows, one after the other. A row is, little endian:
 *
 *     4 bytes   CRC-32 of the rest of the row (ISO 3309, as zlib has it)
 *     4         length of the heads
 *     4         length of the texts
 *     8         number of the row, as a double
 *     8         generation of the file, random bytes
 *     heads     UTF-8, a JSON list of pairs: a record, and the length of its text in bytes or null
 *     texts     UTF-8, one after the other
 *
 * A file that is written from its beginning again gets another generation, so that what it held
 * before is no row of it: nor is what somebody puts into a text, who cannot know the generation.
 */

/** What a file of the ledger begins with. */
export const MAGIC = Buffer.from("flowhook ledger\n");

/** Of a row, before its heads; bytes. */
export const FIXED_SIZE = 28;
/** Of the generation in a row. */
export const GENERATION_AT = 20;
/** What the heads of each row begin with. */
export const HEADS = Buffer.from('[[{"kind":"');

/** What was written in one turn of the event loop. */
export interface LedgerRow {
  /** Its number, which grows by one from row to row across both files. */
  readonly seq: number;
  /** Bytes that it takes. */
  readonly size: number;
  readonly entries: readonly LedgerEntry[];
  /** Rows of its file before it are damaged. */
  readonly isBehindDamage?: boolean;
}

/** A row as it lies in a file. */
export class RowBytes {
  readonly #bytes: Buffer;

  /** @param bytes from its beginning on; what comes behind it does not matter */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get crc(): number {
    return this.#bytes.readUInt32LE(0);
  }

  get size(): number {
    return FIXED_SIZE + this.#bytes.readUInt32LE(4) + this.#bytes.readUInt32LE(8);
  }

  get seq(): number {
    return this.#bytes.readDoubleLE(12);
  }

  get generation(): bigint {
    return this.#bytes.readBigUInt64LE(GENERATION_AT);
  }

  /** Whether all of it is there as it was written. */
  get isWhole(): boolean {
    const { size } = this;
    if (this.#bytes.length < size) return false;
    return crc32(this.#bytes.subarray(4, size)) === this.crc;
  }

  /** With those that a begin implies. */
  decode(): LedgerRow {
    const { seq, size } = this;
    let at = FIXED_SIZE + this.#bytes.readUInt32LE(4);
    const heads = this.#bytes.toString("utf8", FIXED_SIZE, at);
    const pairs = JSON.parse(heads) as [LedgerRecord, number | null][];
    const entries = pairs.flatMap(([record, length]) => {
      if (length === null) return { record, text: null };
      return toEntries(record, this.#bytes.toString("utf8", at, (at += length)));
    });
    return { seq, size, entries };
  }
}

export function toEntries(record: LedgerRecord, text: string): LedgerEntry[] {
  const entry = { record, text };
  return record.kind === "begin" ? [entry, ...listReplaced(record)] : [entry];
}

/** Up to this size one buffer serves all rows; bytes. */
const KEPT_SIZE = 1024 * 1024;

/** Makes rows of records. */
export class RowEncoder {
  #kept = Buffer.allocUnsafeSlow(64 * 1024);

  /** @returns its bytes; they change with the next row */
  encode(seq: number, generation: bigint, entries: readonly LedgerEntry[]): Buffer {
    let texts = 0;
    const pairs = entries.map(({ record, text }) => {
      const length = text === null ? null : Buffer.byteLength(text);
      texts += length ?? 0;
      return [record, length];
    });
    const heads = JSON.stringify(pairs);
    const headsSize = Buffer.byteLength(heads);
    const bytes = this.#buffer(FIXED_SIZE + headsSize + texts);
    bytes.writeUInt32LE(headsSize, 4);
    bytes.writeUInt32LE(texts, 8);
    bytes.writeDoubleLE(seq, 12);
    bytes.writeBigUInt64LE(generation, GENERATION_AT);
    let at = FIXED_SIZE + bytes.write(heads, FIXED_SIZE);
    for (const { text } of entries) if (text !== null) at += bytes.write(text, at);
    bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
    return bytes;
  }

  #buffer(size: number): Buffer {
    if (size > KEPT_SIZE) return Buffer.allocUnsafeSlow(size);
    if (size > this.#kept.length) this.#kept = Buffer.allocUnsafeSlow(KEPT_SIZE);
    return this.#kept.subarray(0, size);
  }
}
