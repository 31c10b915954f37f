import { fdatasync } from "node:fs";
import { dirname } from "node:path";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { newUnavailable, StoreError } from "../store-error.ts";
import { Backlog, type BacklogRow } from "./ledger-backlog.ts";
import type { Ledger, RecordEvents } from "../ledger.ts";
import type { LedgerEntry, LedgerRecord } from "../ledger-record.ts";
import { LedgerFile, syncFolder } from "./ledger-file.ts";
import type { LedgerOptions, Sync } from "./ledger-options.ts";
import { LedgerRoom } from "./ledger-room.ts";

/** Records that are written though a sync is under way. */
const MOST_GATHERED = 64;
/** A row is synced at once where somebody waits for it, and else at the latest after so long. */
const SYNC_MS = 5;
/** A file that holds more is let be, once the other one is empty, and so much is not gathered; bytes. */
const FULL_LENGTH = 8 * 1024 * 1024;
const UNLOCKED = "The lock of the ledger is gone";

interface Waiting extends LedgerEntry {
  readonly events: RecordEvents;
}

/** A row that was written, and what waits for it. */
interface WrittenRow extends BacklogRow {
  readonly file: LedgerFile;
  readonly events: readonly RecordEvents[];
}

/**
 * The log in which the life of executions is written before anything else knows of it. What comes
 * in one turn of the event loop is one row; rows are synced beside the loop, one sync at a time
 * for all that were written before it; the store's thread makes rows of its tables of them a
 * little later (applier.ts). There are two files: while one is written, the other is emptied.
 */
export class SqliteLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #files: readonly LedgerFile[];
  readonly #sync: Sync;
  #current: LedgerFile;
  #gathered: Waiting[] = [];
  /** Of their texts, in UTF-16 units. */
  #gatheredLength = 0;
  #before: (() => void)[] = [];
  /** Of the last row that was written. */
  #seq: number;
  /** Rows that are written and not synced. */
  #unsynced: WrittenRow[] = [];
  readonly #backlog: Backlog<WrittenRow>;
  readonly #room: LedgerRoom;
  #rows = 0;
  #records = 0;
  #isFlushing = false;
  #isSyncing = false;
  #rewinding: Promise<void> | null = null;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LedgerOptions) {
    this.#options = options;
    const { file, applied, write } = options;
    this.#sync = options.sync ?? fdatasync;
    this.#files = ledgerPaths(file.path).map((path) => new LedgerFile(path, applied, write));
    syncFolder(dirname(file.path));
    this.#current = this.#files.toSorted((a, b) => b.last - a.last)[0] as LedgerFile;
    this.#seq = Math.max(applied, this.#current.last);
    this.#backlog = new Backlog({
      applied,
      apply: (through) => options.apply(through),
      onApplied: (rows, applied) => this.#onApplied(rows, applied),
      onSkipped: (why) => options.onDamage(new Error(why), false),
      onFailing: (error) => options.onFailing?.(error),
    });
    this.#room = new LedgerRoom({
      reserve: (length) => this.#reserve(length),
      onChange: (error) => options.onRoom?.(error),
    });
  }

  /** Rows that were written, and records in them, since the start. */
  counts(): { rows: number; records: number } {
    return { rows: this.#rows, records: this.#records };
  }

  /** What the store's tables lack; see ledger-backlog.ts. */
  get backlog(): { readonly rows: number; readonly ratio: number } {
    return this.#backlog.size;
  }

  /** Whether new executions may be recorded now: what is not applied is not too much. */
  get hasRoom(): boolean {
    return this.#backlog.hasRoom && !this.#isLost;
  }

  get isWritable(): boolean {
    return this.#room.isThere && !this.#backlog.isBlocked && !this.#isLost;
  }

  get #isLost(): boolean {
    return this.#options.isLost?.() ?? false;
  }

  get #isUnlocked(): boolean {
    return this.#options.isUnlocked?.() ?? false;
  }

  /**
   * Resolves once there is room for new executions.
   *
   * @returns whether there is: not where the store cannot be written just now
   */
  room(): Promise<boolean> {
    return this.#isLost ? Promise.resolve(false) : this.#backlog.room();
  }

  /** Number of the row that is written next. */
  get next(): number {
    return this.#seq + 1;
  }

  /** @returns number of the row that it is written in: all of a row is written, or none */
  append(record: LedgerRecord, text: string | null, events: RecordEvents): number {
    if (this.#isClosed) events.failed(newUnavailable("The ledger is closed"));
    else {
      this.#gathered.push({ record, text, events });
      this.#gatheredLength += text?.length ?? 0;
      this.#flushSoon();
    }
    return this.next;
  }

  /** Calls back once, before the next row is written: what is appended then is in it. */
  beforeWrite(act: () => void): void {
    this.#before.push(act);
    this.#flushSoon();
  }

  /** While a sync is under way more is gathered: fewer and larger rows, that wait for the next. */
  #flushSoon(): void {
    const length = this.#gathered.length + this.#before.length;
    const isFull = length >= MOST_GATHERED || this.#gatheredLength >= FULL_LENGTH;
    if (this.#isFlushing || length === 0 || (this.#isSyncing && !isFull)) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  /**
   * Resolves once the store's tables have all that was written until now.
   *
   * @returns whether they have: not where the store cannot be written just now
   */
  settled(): Promise<boolean> {
    const settled = this.#backlog.settled(this.#seq);
    this.#syncSoon();
    return settled;
  }

  /** Applies what an earlier start has left. @throws StoreError */
  async recover(): Promise<void> {
    await this.#backlog.recover(this.#seq);
    await this.#rewind(this.#files);
  }

  /** Writes, syncs and applies what it has; what cannot be applied is left to the next start. */
  async close(): Promise<void> {
    let isApplied = false;
    // What comes while it is applied is written too.
    for (let isRest = true; isRest;) {
      this.#flush();
      while (this.#unsynced.length > 0 || this.#isSyncing) {
        this.#syncNext();
        await new Promise((resolve) => setImmediate(resolve));
      }
      const last = this.#seq;
      isApplied = await this.settled();
      isRest = this.#gathered.length > 0 || this.#seq > last;
    }
    this.#isClosed = true;
    this.#backlog.close();
    this.#room.close();
    clearTimeout(this.#timer);
    await this.#rewinding;
    // Where files were moved or deleted, it may be all that is left.
    if (isApplied && !this.#isLost) await this.#clear();
    for (const file of this.#files) file.close();
  }

  #flush(): void {
    for (const act of this.#before.splice(0)) this.#tell(act);
    const entries = this.#gathered;
    this.#gathered = [];
    this.#gatheredLength = 0;
    if (entries.length === 0) return;
    const error = this.#write(entries);
    if (error === null) return;
    // One that is too large for what is left of the disk keeps no other out.
    for (const entry of entries) {
      const isFinal = entries.length === 1 || isWithBegin(entry);
      const own = isFinal ? error : this.#write([entry]);
      if (own !== null) this.#tell(() => entry.events.failed(own));
    }
  }

  #write(entries: readonly Waiting[]): StoreError | null {
    if (this.#isUnlocked) return newUnavailable(UNLOCKED);
    const file = this.#current;
    const seq = this.next;
    let length: number;
    try {
      length = file.append(seq, entries);
    } catch (error) {
      this.#room.missed();
      return unwritten(error as NodeJS.ErrnoException);
    }
    this.#seq = seq;
    this.#rows += 1;
    this.#records += entries.length;
    this.#backlog.grow(length);
    // Not the records: nobody reads them again from memory.
    const events = entries.map((entry) => entry.events);
    this.#unsynced.push({ seq, length, file, events });
    for (const one of events) if (one.written) this.#tell(() => one.written?.());
    this.#changeFile();
    this.#syncSoon();
    return null;
  }

  /** @throws Error where the disk lacks it, or where it would be written over another's rows */
  #reserve(length: number): void {
    if (this.#isUnlocked) throw newUnavailable(UNLOCKED);
    this.#current.reserve(length);
  }

  /** The next row goes to the other file, where this one is long and that one empty. */
  #changeFile(): void {
    const other = this.#files.find((file) => file !== this.#current) as LedgerFile;
    if (this.#current.length > FULL_LENGTH && other.length === 0) this.#current = other;
  }

  #syncSoon(): void {
    if (this.#isAwaited) this.#syncNext();
    else if (this.#unsynced.length > 0) this.#timer ??= setTimeout(() => this.#syncNext(), SYNC_MS);
  }

  /** Whether somebody waits until what was written is on disk. */
  get #isAwaited(): boolean {
    if (this.#backlog.isAwaited) return true;
    return this.#unsynced.some(({ events }) => events.some(({ synced }) => synced !== undefined));
  }

  #syncNext(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const file = this.#unsynced[0]?.file;
    if (this.#isSyncing || file === undefined) return;
    const next = this.#unsynced.findIndex((row) => row.file !== file);
    const rows = this.#unsynced.splice(0, next < 0 ? this.#unsynced.length : next);
    if (this.#options.file.durability === "normal") return this.#onSynced(rows);
    this.#isSyncing = true;
    this.#sync(file.descriptor, (error) => {
      this.#isSyncing = false;
      this.#flushSoon();
      if (error !== null) return this.#options.onDamage(unsynced(error), true);
      this.#onSynced(rows);
    });
  }

  #onSynced(rows: readonly WrittenRow[]): void {
    // The next sync is under way while these are told.
    this.#syncSoon();
    for (const { events } of rows)
      for (const one of events) if (one.synced) this.#tell(() => one.synced?.());
    this.#backlog.add(rows);
  }

  #onApplied(rows: readonly WrittenRow[], applied: number): void {
    for (const { events } of rows)
      for (const one of events) if (one.applied) this.#tell(() => one.applied?.());
    const isOver = (file: LedgerFile) => file !== this.#current && file.last <= applied;
    const over = this.#files.filter((file) => file.length > 0 && isOver(file));
    if (over.length === 0 || this.#rewinding !== null || this.#isLost) return;
    this.#rewinding = this.#rewind(over)
      .catch((error: Error) => this.#options.onDamage(error, false))
      .finally(() => (this.#rewinding = null));
  }

  /** Lets go of what was applied, once it is on disk in the tables. */
  async #rewind(files: readonly LedgerFile[]): Promise<void> {
    await this.#options.syncTables();
    for (const file of files) file.rewind();
  }

  /** The next start has nothing to look at. */
  async #clear(): Promise<void> {
    try {
      await this.#options.syncTables();
    } catch {
      return;
    }
    for (const file of this.#files) file.clear();
  }

  /** One that throws keeps no other from being told. */
  #tell(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#options.onDamage(error instanceof Error ? error : new Error(String(error)), false);
    }
  }
}

/**
 * Whether a start is in the row of its begin, on which its run relies: one of both could be lost
 * if they were written apart. A start that has to be on disk before the run relies on nothing.
 */
function isWithBegin({ record, events }: Waiting): boolean {
  return record.kind === "start" && events.synced === undefined;
}

function unwritten({ code = "unavailable", message }: NodeJS.ErrnoException): StoreError {
  return new StoreError({ kind: "unavailable", code, message });
}

function unsynced(cause: Error): Error {
  const why = `Cannot sync the ledger: what the disk has is not known (${cause.message})`;
  return new Error(why, { cause });
}
