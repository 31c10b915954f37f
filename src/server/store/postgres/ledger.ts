import type { Ledger, RecordEvents } from "../ledger.ts";
import type { LedgerEntry, LedgerRecord } from "../ledger-record.ts";
import { newUnavailable, StoreError } from "../store-error.ts";
import type { Lane, Recorded } from "./thread-protocol.ts";

export interface LedgerOptions {
  /** Writes a batch. @throws StoreError */
  record(lane: Lane, records: readonly LedgerEntry[]): Promise<Recorded>;
  /** Something that was told of a record failed. */
  onDamage(error: Error): void;
}

interface Waiting extends LedgerEntry {
  readonly events: RecordEvents;
}

/** While more is not written, new executions wait; in UTF-16 units. */
const MOST_LENGTH = 64 * 1024 * 1024;
/** Records of one batch at most, and their texts: a statement has its limits too. */
const [MOST_RECORDS, MOST_BATCH_LENGTH] = [500, 16 * 1024 * 1024];

/**
 * What comes in one turn of the event loop, and while a batch is under way, is the next batch: the
 * more there is, the fewer commits. What was committed is written, on disk and in the tables at
 * once. There are three lanes, so that no kind of record waits for another kind: beginnings, with
 * what follows them before they are written; endings; and lines of logs.
 */
export class PostgresLedger implements Ledger {
  readonly #lanes: Readonly<Record<Lane, LaneQueue>>;
  /** Executions whose beginning is not written yet. */
  readonly #beginning = new Set<string>();
  #length = 0;
  #count = 0;
  #batches = 0;
  #records = 0;
  #isClosed = false;
  /** New executions that wait for room. */
  #starters: ((hasRoom: boolean) => void)[] = [];

  constructor(options: LedgerOptions) {
    const open = (lane: Lane): LaneQueue =>
      new LaneQueue({
        write: (records) => {
          this.#batches += 1;
          this.#records += records.length;
          return options.record(lane, records);
        },
        done: (entry) => this.#done(entry),
        onDamage: (error) => options.onDamage(error),
      });
    this.#lanes = { begin: open("begin"), end: open("end"), log: open("log") };
  }

  get next(): number {
    return this.#lanes.begin.next;
  }

  get hasRoom(): boolean {
    return this.#length < MOST_LENGTH;
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
    this.#count += 1;
    this.#length += text?.length ?? 0;
    if (record.kind === "begin") this.#beginning.add(record.row.id);
    this.#lanes[this.#laneOf(record)].add({ record, text, events });
    return this.next;
  }

  beforeWrite(act: () => void): void {
    this.#lanes.begin.beforeWrite(act);
  }

  /** Resolves once all that was appended until now is in the tables, or has failed. */
  async settled(): Promise<boolean> {
    const settled = await Promise.all(Object.values(this.#lanes).map((lane) => lane.settled()));
    return settled.every(Boolean);
  }

  /** Batches that were written, and records in them, since the start. */
  counts(): { batches: number; records: number } {
    return { batches: this.#batches, records: this.#records };
  }

  /** Writes what it has. */
  async close(): Promise<void> {
    while (this.#count > 0) await this.settled();
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
    if (this.hasRoom) for (const resolve of this.#starters.splice(0)) resolve(true);
  }
}

interface LaneOptions {
  write(records: readonly LedgerEntry[]): Promise<Recorded>;
  /** It was written, or will not be. */
  done(entry: LedgerEntry): void;
  onDamage(error: Error): void;
}

/** Records of one lane: at most one batch is under way. */
class LaneQueue {
  readonly #options: LaneOptions;
  #gathered: Waiting[] = [];
  #before: (() => void)[] = [];
  #next = 1;
  #isFlushing = false;
  #underWay = false;
  /** Whether the latest batch was written. */
  #isWell = true;
  #readers: { readonly batch: number; resolve(isSettled: boolean): void }[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Number of the batch that is sent next. */
  get next(): number {
    return this.#next;
  }

  add(entry: Waiting): void {
    this.#gathered.push(entry);
    this.#flushSoon();
  }

  beforeWrite(act: () => void): void {
    this.#before.push(act);
    this.#flushSoon();
  }

  settled(): Promise<boolean> {
    const isIdle = this.#gathered.length === 0;
    if (isIdle && !this.#underWay) return Promise.resolve(true);
    const batch = isIdle ? this.#next - 1 : this.#next;
    return new Promise((resolve) => this.#readers.push({ batch, resolve }));
  }

  #flushSoon(): void {
    if (this.#isFlushing || this.#underWay) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    for (const act of this.#before.splice(0)) this.#tell(act);
    const entries = this.#take();
    if (entries.length === 0) return;
    const number = this.#next++;
    this.#underWay = true;
    const records = entries.map(({ record, text }) => ({ record, text }));
    this.#options.write(records).then(
      (recorded) => this.#written(number, entries, recorded),
      (error: unknown) => this.#written(number, entries, failAll(entries, error)),
    );
  }

  /** As many as one batch takes. */
  #take(): Waiting[] {
    let [count, length] = [0, 0];
    for (const { text } of this.#gathered) {
      length += text?.length ?? 0;
      if (count >= MOST_RECORDS || (count > 0 && length > MOST_BATCH_LENGTH)) break;
      count += 1;
    }
    return this.#gathered.splice(0, count);
  }

  #written(number: number, entries: readonly Waiting[], recorded: Recorded): void {
    this.#underWay = false;
    this.#isWell = recorded.errors.length === 0;
    const errors = new Map(recorded.errors);
    const overtaken = new Set(recorded.overtaken);
    // The next batch is under way while these are told.
    this.#flush();
    entries.forEach((entry, at) => {
      const error = errors.get(at);
      this.#options.done(entry);
      if (error !== undefined) this.#tell(() => entry.events.failed(new StoreError(error)));
      else this.#tellWritten(entry, overtaken);
    });
    const due = this.#readers.filter(({ batch }) => batch <= number);
    this.#readers = this.#readers.filter(({ batch }) => batch > number);
    for (const reader of due) reader.resolve(this.#isWell);
  }

  #tellWritten({ record, events }: Waiting, overtaken: ReadonlySet<string>): void {
    const own = overtaken.size === 0 ? [] : idsOf(record);
    const lost = own.filter((id) => overtaken.has(id));
    if (lost.length > 0) this.#tell(() => events.overtaken?.(lost));
    if (own.length > 0 && lost.length === own.length) return;
    this.#tell(() => events.written?.());
    this.#tell(() => events.synced?.());
    this.#tell(() => events.applied?.());
  }

  /** One that throws keeps no other from being told. */
  #tell(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#options.onDamage(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** Executions that a record changes; one that begins is nobody else's. */
function idsOf(record: LedgerRecord): readonly string[] {
  if (record.kind === "end") return [record.id];
  return record.kind === "start" || record.kind === "wait" ? record.ids : [];
}

function failAll(entries: readonly Waiting[], error: unknown): Recorded {
  const { kind = "other", code = "POSTGRES", message = "" } = error as Partial<StoreError>;
  const errors = entries.map((_, at) => [at, { kind, code, message }] as const);
  return { errors, overtaken: [] };
}
