import { lengthOf, type LedgerEntry, type LedgerRecord } from "../ledger-record.ts";
import type { RecordEvents } from "../ledger.ts";
import { isRefusal, StoreError } from "../store-error.ts";
import { MOST_OF_BATCH, type Recorded } from "./thread-protocol.ts";

/** A record, and who is told what becomes of it. */
export interface Waiting extends LedgerEntry {
  readonly events: RecordEvents;
}

/** Batches that the thread has at a time: while it writes one, it gathers those that follow. */
const MOST_UNDER_WAY = 16;

export interface LaneOptions {
  write(records: readonly LedgerEntry[]): Promise<Recorded>;
  /** It was written, or will not be. */
  done(entry: LedgerEntry): void;
  onDamage(error: Error): void;
}

/** Records of one lane, which are sent to its thread in each turn of the event loop. */
export class LaneQueue {
  readonly #options: LaneOptions;
  #gathered: Waiting[] = [];
  #before: (() => void)[] = [];
  #next = 1;
  /** Records that were added, and those of which it is known what became: they end in their order. */
  #added = 0;
  #ended = 0;
  #isFlushing = false;
  #underWay = 0;
  #lengthUnderWay = 0;
  #readers: Reader[] = [];
  /** When it became known last what became of some, as performance.now(). */
  #movedAt = 0;
  #hasLimit = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Number of the batch that is sent next. */
  get next(): number {
    return this.#next;
  }

  add(entry: Waiting): void {
    if (this.#ended === this.#added) this.#movedAt = performance.now();
    this.#added += 1;
    this.#gathered.push(entry);
    this.#flushSoon();
  }

  beforeWrite(act: () => void): void {
    this.#before.push(act);
    this.#flushSoon();
  }

  /**
   * Resolves once all that was added until now has ended: with whether it was written.
   *
   * @param mostMs false where none has ended for so long; without end unless told
   */
  settled(mostMs = Infinity): Promise<boolean> {
    const until = this.#added;
    if (this.#ended === until) return Promise.resolve(true);
    if (performance.now() - this.#movedAt >= mostMs) return Promise.resolve(false);
    if (mostMs !== Infinity) this.#letGoAfter(mostMs);
    return new Promise((resolve) => this.#readers.push({ until, isWell: true, resolve }));
  }

  /** One timer for all who wait. */
  #letGoAfter(mostMs: number): void {
    if (this.#hasLimit) return;
    this.#hasLimit = true;
    const leftMs = this.#movedAt + mostMs - performance.now();
    setTimeout(() => {
      this.#hasLimit = false;
      if (this.#readers.length === 0) return;
      if (performance.now() - this.#movedAt < mostMs) return this.#letGoAfter(mostMs);
      for (const { resolve } of this.#readers.splice(0)) resolve(false);
    }, leftMs).unref();
  }

  #flushSoon(): void {
    if (this.#isFlushing || this.#isBusy) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      if (!this.#isBusy) this.#flush();
    });
  }

  /** Whether the thread has enough for now. */
  get #isBusy(): boolean {
    const isLong = this.#underWay > 0 && this.#lengthUnderWay >= MOST_OF_BATCH.length;
    return isLong || this.#underWay >= MOST_UNDER_WAY;
  }

  #flush(): void {
    for (const act of this.#before.splice(0)) this.#tell(act);
    const entries = this.#take();
    if (entries.length === 0) return;
    this.#next += 1;
    this.#underWay += 1;
    this.#lengthUnderWay += sumOf(entries);
    const records = entries.map(({ record, text }) => ({ record, text }));
    this.#options.write(records).then(
      (recorded) => this.#written(entries, recorded),
      (error: unknown) => this.#written(entries, failAll(entries, error)),
    );
  }

  /** As many as one batch takes. */
  #take(): Waiting[] {
    let [count, length] = [0, 0];
    for (const entry of this.#gathered) {
      length += lengthOf(entry);
      if (count >= MOST_OF_BATCH.records || (count > 0 && length > MOST_OF_BATCH.length)) break;
      count += 1;
    }
    return this.#gathered.splice(0, count);
  }

  #written(entries: readonly Waiting[], recorded: Recorded): void {
    this.#underWay -= 1;
    this.#lengthUnderWay -= sumOf(entries);
    const isWell = recorded.errors.every(([, { kind }]) => isRefusal(kind));
    if (!isWell) for (const reader of this.#readers) reader.isWell = false;
    this.#ended += entries.length;
    this.#movedAt = performance.now();
    const errors = new Map(recorded.errors);
    const left = {
      overtaken: new Set(recorded.overtaken),
      heldBack: new Set(recorded.heldBack),
    };
    // The next batch is under way while these are told.
    if (!this.#isBusy) this.#flush();
    entries.forEach((entry, at) => {
      const error = errors.get(at);
      this.#options.done(entry);
      if (error !== undefined) this.#tell(() => entry.events.failed(new StoreError(error)));
      else this.#tellWritten(entry, left);
    });
    const due = this.#readers.filter(({ until }) => until <= this.#ended);
    this.#readers = this.#readers.filter(({ until }) => until > this.#ended);
    for (const reader of due) reader.resolve(reader.isWell);
  }

  #tellWritten({ record, events }: Waiting, { overtaken, heldBack }: Left): void {
    const own = overtaken.size + heldBack.size === 0 ? [] : idsOf(record);
    const lost = own.filter((id) => overtaken.has(id));
    if (lost.length > 0) this.#tell(() => events.overtaken?.(lost));
    const held = record.kind === "start" ? own.filter((id) => heldBack.has(id)) : [];
    if (held.length > 0) this.#tell(() => events.heldBack?.(held));
    const left = lost.length + held.length;
    const isWhole = record.kind === "begin" || record.kind === "start";
    if (!isWhole && own.length > 0 && left === own.length) return;
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

function sumOf(entries: readonly Waiting[]): number {
  return entries.reduce((sum, entry) => sum + lengthOf(entry), 0);
}

/** Who waits for what was added before. */
interface Reader {
  /** How many records have ended by then. */
  readonly until: number;
  /** Whether those that have ended since were written. */
  isWell: boolean;
  resolve(isSettled: boolean): void;
}

/** Executions that were left as they are. */
type Left = Readonly<Record<"overtaken" | "heldBack", ReadonlySet<string>>>;

/** Executions that a record changes. One that begins may be another's after a try that was not answered. */
function idsOf(record: LedgerRecord): readonly string[] {
  if (record.kind === "begin") return [record.row.id, ...(record.replaces ?? [])];
  if (record.kind === "end") return [record.id];
  return record.kind === "start" || record.kind === "wait" ? record.ids : [];
}

function failAll(entries: readonly Waiting[], error: unknown): Recorded {
  const { kind = "other", code = "POSTGRES", message = "" } = error as Partial<StoreError>;
  const errors = entries.map((_, at) => [at, { kind, code, message }] as const);
  return { errors, overtaken: [], heldBack: [] };
}
