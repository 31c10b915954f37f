import type { Ledger, RecordEvents } from "../ledger.ts";
import { lengthOf, type LedgerEntry, type LedgerRecord } from "../ledger-record.ts";
import { newUnavailable } from "../store-error.ts";
import { PATIENCE_MS } from "./patience.ts";
import { BeginFailures } from "./begin-failures.ts";
import { LaneQueue, type Waiting } from "./lane-queue.ts";
import type { Lane, Written } from "./thread-protocol.ts";

export interface LedgerOptions {
  /** Writes records, with others of their lane that wait. @throws StoreError */
  record(lane: Lane, records: readonly LedgerEntry[]): Promise<Written>;
  /** Lines of logs are tried no longer than the rest from now on. */
  hurry(): void;
  /** @param reason why no executions can be recorded from now on, once; null: they can again */
  onUnrecorded(reason: string | null): void;
  /** Something that was told of a record failed. */
  onDamage(error: Error): void;
  /** Whether executions begin one node after the other. */
  readonly isLimited: boolean;
}

/** While more is not written, new executions wait; in UTF-16 units. */
const MOST_LENGTH = 64 * 1024 * 1024;
/** While more lines of logs are not written, others are given back; in the same units. */
const MOST_LINES_LENGTH = 16 * 1024 * 1024;

/**
 * What comes in one turn of the event loop goes to the thread, which writes what has come while a
 * batch was under way as the next one: the more there is, the fewer commits. What was committed is
 * written, on disk and in the tables at once. Beginnings and endings are one lane, because two would
 * be twice the commits, each half as large; where beginnings may wait for other nodes, endings have
 * a lane of their own. Lines of logs always have.
 */
export class PostgresLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #lanes: Readonly<Record<Lane, LaneQueue>>;
  readonly #failures: BeginFailures;
  /** Executions whose beginning is not written yet. */
  readonly #beginning = new Set<string>();
  /** Executions with lines of their log that are not written yet, and endings that wait for those. */
  readonly #logging = new Map<string, { count: number; readonly endings: Waiting[] }>();
  #length = 0;
  /** Of lines of logs that are not written. */
  #linesLength = 0;
  #count = 0;
  #batches = 0;
  #records = 0;
  #isClosed = false;
  /** New executions that wait for room. */
  #starters: ((hasRoom: boolean) => void)[] = [];

  constructor(options: LedgerOptions) {
    this.#options = options;
    const failures = new BeginFailures((reason) => options.onUnrecorded(reason));
    this.#failures = failures;
    const open = (lane: Lane): LaneQueue =>
      new LaneQueue({
        write: async (records) => {
          this.#records += records.length;
          const written = await options.record(lane, records);
          failures.learn(records, written.errors);
          this.#batches += written.batches;
          return written;
        },
        done: (entry) => this.#done(entry),
        onDamage: (error) => options.onDamage(error),
      });
    const begin = open("begin");
    this.#lanes = { begin, end: options.isLimited ? open("end") : begin, log: open("log") };
  }

  get next(): number {
    return this.#lanes.begin.next;
  }

  get hasRoom(): boolean {
    return this.#length < MOST_LENGTH;
  }

  /** That the server is away, or takes no lease, is told elsewhere too. */
  get isWritable(): boolean {
    return !this.#failures.isFailing;
  }

  get backlog(): { readonly rows: number; readonly ratio: number } {
    return { rows: this.#count, ratio: this.#length / MOST_LENGTH };
  }

  room(): Promise<boolean> {
    if (this.hasRoom) return Promise.resolve(true);
    return new Promise((resolve) => this.#starters.push(resolve));
  }

  append(record: LedgerRecord, text: string | null, events: RecordEvents): number {
    if (this.#isClosed) {
      events.failed(newUnavailable("The ledger is closed"));
      return this.next;
    }
    if (record.kind === "log" && this.#linesLength > MOST_LINES_LENGTH) {
      events.failed(newUnavailable("Too many lines of logs wait"));
      return this.next;
    }
    this.#count += 1;
    this.#length += text?.length ?? 0;
    if (record.kind === "begin") this.#beginning.add(record.row.id);
    this.#add({ record, text, events });
    return this.next;
  }

  /** Whoever reads that an execution has ended finds its log. */
  #add(entry: Waiting): void {
    const { record } = entry;
    const logging = record.kind === "end" ? this.#logging.get(record.id) : undefined;
    if (logging !== undefined) return void logging.endings.push(entry);
    if (record.kind === "log") {
      this.#linesLength += lengthOf(entry);
      this.#countLog(record.id);
    }
    this.#lanes[this.#laneOf(record)].add(entry);
  }

  #countLog(id: string): void {
    const logging = this.#logging.get(id);
    if (logging === undefined) this.#logging.set(id, { count: 1, endings: [] });
    else logging.count += 1;
  }

  #logWritten(id: string): void {
    const logging = this.#logging.get(id);
    if (logging === undefined || (logging.count -= 1) > 0) return;
    this.#logging.delete(id);
    for (const ending of logging.endings) this.#add(ending);
  }

  beforeWrite(act: () => void): void {
    this.#lanes.begin.beforeWrite(act);
  }

  /** Resolves once all that was appended until now is in the tables, or has failed. */
  settled(): Promise<boolean> {
    return this.#settled(PATIENCE_MS);
  }

  /** @param linesMs how long lines of logs are waited for: they are tried for as long as it takes */
  async #settled(linesMs: number): Promise<boolean> {
    const isEnding = [...this.#logging.values()].some(({ endings }) => endings.length > 0);
    const { begin, end, log } = this.#lanes;
    const settled = await Promise.all([begin.settled(), end.settled(), log.settled(linesMs)]);
    const isSettled = settled.every(Boolean);
    return isEnding && isSettled ? this.#settled(linesMs) : isSettled;
  }

  /** Batches that were written, and records in them, since the start. */
  counts(): { batches: number; records: number } {
    return { batches: this.#batches, records: this.#records };
  }

  /** Writes what it has. */
  async close(): Promise<void> {
    this.#options.hurry();
    while (this.#count > 0) await this.#settled(Infinity);
    this.#isClosed = true;
  }

  #laneOf(record: LedgerRecord): Lane {
    if (record.kind === "log") return "log";
    return record.kind === "end" && !this.#beginning.has(record.id) ? "end" : "begin";
  }

  #done({ record, text }: LedgerEntry): void {
    this.#count -= 1;
    this.#length -= text?.length ?? 0;
    if (record.kind === "begin") this.#beginning.delete(record.row.id);
    if (record.kind === "log") {
      this.#linesLength -= lengthOf({ record, text });
      this.#logWritten(record.id);
    }
    if (this.hasRoom) for (const resolve of this.#starters.splice(0)) resolve(true);
  }
}
