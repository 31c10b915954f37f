import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  writeSync,
} from "node:fs";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import type { LedgerEntry } from "../ledger-record.ts";
import { BEGINNING, scanAll } from "./ledger-reader.ts";
import { MAGIC, RowEncoder } from "./ledger-row.ts";

/** Gives the ledger of a database to another name of it; of an earlier release too. */
export function moveLedger(path: string, to: string): void {
  const targets = ledgerPaths(to);
  for (const [at, file] of ledgerPaths(path).entries())
    for (const end of ["", "-wal", "-shm"])
      if (existsSync(file + end)) renameSync(file + end, `${targets[at]}${end}`);
}

/** The files are there after a power cut. */
export function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes all of some bytes to a place of a file, or throws. */
export type Write = (descriptor: number, bytes: Buffer, at: number) => void;

/** A file that has grown beyond this is cut when it begins anew; bytes. */
const KEPT_SIZE = 32 * 1024 * 1024;

/**
 * Lies behind the rows, so that the next ones make the file no longer: the sync of one that does
 * waits for the journal of the file system too, which takes twice as long.
 */
const ZEROS = Buffer.alloc(64 * 1024);

/** One file of the ledger, as who writes it has it. */
export class LedgerFile {
  readonly descriptor: number;
  readonly #write: Write;
  readonly #encoder = new RowEncoder();
  #generation = newGeneration();
  #end = BEGINNING.at;
  #last = 0;
  /** Of the file, in bytes: at least so much is rows, or zeros to write the next ones over. */
  #size: number;

  /** @param applied number of the last row that is not needed any more */
  constructor(path: string, applied: number, write: Write = writeAll) {
    this.#write = write;
    this.descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    if (fstatSync(this.descriptor).size < MAGIC.length) this.#begin();
    this.#size = fstatSync(this.descriptor).size;
    const sought = { after: applied, expected: Infinity };
    for (const { next } of scanAll(this.descriptor, BEGINNING, sought)) {
      this.#end = next.at;
      if (next.last !== null)
        [this.#last, this.#generation] = [next.last.seq, next.last.generation];
    }
  }

  /** Number of the last row that was written to it; 0: none was. */
  get last(): number {
    return this.#last;
  }

  /** Of its rows, in bytes. */
  get length(): number {
    return this.#end - BEGINNING.at;
  }

  /**
   * @returns bytes that it takes
   * @throws Error of the operating system: then it is no row of the file
   */
  append(seq: number, entries: readonly LedgerEntry[]): number {
    const bytes = this.#encoder.encode(seq, this.#generation, entries);
    try {
      this.#write(this.descriptor, bytes, this.#end);
    } catch (error) {
      this.#cut();
      throw error;
    }
    this.#end += bytes.length;
    this.#last = seq;
    if (this.#end > this.#size) this.#lengthen();
    return bytes.length;
  }

  #lengthen(): void {
    this.#size = this.#end;
    try {
      this.#write(this.descriptor, ZEROS, this.#end);
      this.#size += ZEROS.length;
    } catch {
      // Of a full disk the row tells that does not fit on it.
    }
  }

  /** Takes so much of the disk for the next rows. @throws Error of the operating system */
  reserve(length: number): void {
    try {
      for (let at = 0; at < length; at += ZEROS.length)
        this.#write(this.descriptor, ZEROS, this.#end + at);
    } catch (error) {
      this.#cut();
      throw error;
    }
    this.#size = Math.max(this.#size, this.#end + length);
  }

  /** It is told from a file of another kind, whatever a power cut leaves of its rows. */
  #begin(): void {
    writeAll(this.descriptor, MAGIC, 0);
    fdatasyncSync(this.descriptor);
  }

  /** What was written of a row could be made whole by what lay behind it before. */
  #cut(): void {
    try {
      this.#truncate(this.#end);
    } catch {
      // Then the next row is written over it.
    }
  }

  #truncate(size: number): void {
    ftruncateSync(this.descriptor, size);
    this.#size = size;
  }

  /** What it holds is not needed any more: the next row is its first. */
  rewind(): void {
    if (this.#end > KEPT_SIZE) this.#truncate(MAGIC.length);
    this.#generation = newGeneration();
    this.#end = BEGINNING.at;
  }

  /** Nor is the room that it takes. */
  clear(): void {
    this.#truncate(MAGIC.length);
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

function newGeneration(): bigint {
  return randomBytes(8).readBigUInt64LE();
}

function writeAll(descriptor: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
}
