import { StoreError } from "../store-error.ts";
import { isDamage } from "./error.ts";
import type { Applied } from "./thread-protocol.ts";

/** A row of the ledger that is on disk, and has no rows in the store's tables yet. */
export interface BacklogRow {
  readonly seq: number;
  /** In bytes. */
  readonly length: number;
}

export interface BacklogOptions<Row> {
  /** Number of the last row that the store's tables have. */
  readonly applied: number;
  /** Has rows up to one made rows of the store, in the store's thread. @throws StoreError */
  apply(through: number): Promise<Applied>;
  /** These rows were applied, the last of them with this number. */
  onApplied(rows: readonly Row[], applied: number): void;
  /** A record was passed over. */
  onSkipped(why: string): void;
  /** @param error why rows cannot be applied from now on; null: they can again */
  onFailing(error: Error | null): void;
}

/** Rows are applied so long after they were synced, so that many are in one transaction. */
const APPLY_MS = 25;
const RETRY_MS = 500;
/** While more is not applied, new executions wait; bytes. */
const MOST_LENGTH = 64 * 1024 * 1024;

/** What the ledger has and the store's tables lack, and who waits until they have it. */
export class Backlog<Row extends BacklogRow> {
  readonly #options: BacklogOptions<Row>;
  #rows: Row[] = [];
  #applied: number;
  #synced: number;
  /** Of all rows that were written and are not applied. */
  #length = 0;
  #isApplying = false;
  /** The store could not be written when it was tried last. */
  #isFailing = false;
  /** Its file is damaged: what is recorded may never be in it. */
  #isDamaged = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  /** New executions that wait for room. */
  #starters: ((hasRoom: boolean) => void)[] = [];
  #readers: { readonly seq: number; resolve(isSettled: boolean): void }[] = [];

  constructor(options: BacklogOptions<Row>) {
    this.#options = options;
    this.#applied = this.#synced = options.applied;
  }

  /** Whether new executions may be recorded now. */
  get hasRoom(): boolean {
    return this.#length < MOST_LENGTH && !this.#isDamaged;
  }

  /** Whether new executions are refused: there is no room, and the store cannot be written. */
  get isBlocked(): boolean {
    return !this.hasRoom && this.#isFailing;
  }

  /** Rows on disk that the tables lack, and how much of what may be is taken; from 1 on, too much. */
  get size(): { readonly rows: number; readonly ratio: number } {
    return { rows: this.#rows.length, ratio: this.#length / MOST_LENGTH };
  }

  /** Whether somebody waits until rows are applied. */
  get isAwaited(): boolean {
    return this.#readers.length > 0;
  }

  /**
   * Resolves once there is room for new executions.
   *
   * @returns whether there is: not where the store cannot be written just now
   */
  room(): Promise<boolean> {
    if (this.hasRoom) return YES;
    if (this.#isFailing || this.#isClosed) return NO;
    return new Promise((resolve) => this.#starters.push(resolve));
  }

  /**
   * Resolves once a row is applied.
   *
   * @returns whether it is: not where the store cannot be written just now
   */
  settled(seq: number): Promise<boolean> {
    if (seq <= this.#applied) return YES;
    if (this.#isFailing || this.#isClosed) return NO;
    return new Promise((resolve) => {
      this.#readers.push({ seq, resolve });
      this.#apply();
    });
  }

  /** A row of this length was written. */
  grow(length: number): void {
    this.#length += length;
  }

  /** Rows were synced: only what is on disk is applied, so that nothing is seen and lost. */
  add(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.push(row);
    this.#synced = rows.at(-1)?.seq ?? this.#synced;
    if (this.isAwaited) this.#apply();
    else this.#applyIn(APPLY_MS);
  }

  /** Applies what an earlier start has left, up to a row. @throws StoreError */
  async recover(through: number): Promise<void> {
    this.#synced = through;
    while (this.#applied < through) await this.#applyOnce();
  }

  /** What is not applied is left to the next start. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#dismiss();
  }

  #applyIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#apply();
    }, ms);
  }

  #apply(): void {
    if (this.#isApplying || this.#isClosed || this.#applied >= this.#synced) return;
    this.#isApplying = true;
    this.#applyOnce().then(
      () => {
        this.#isApplying = false;
        this.#setFailing(null);
        if (this.isAwaited) this.#apply();
        else if (this.#applied < this.#synced) this.#applyIn(APPLY_MS);
      },
      (error: Error) => {
        this.#isApplying = false;
        this.#setFailing(error);
        this.#dismiss();
        if (error instanceof StoreError && !this.#isClosed) this.#applyIn(RETRY_MS);
      },
    );
  }

  /** Told once, however often it is tried. */
  #setFailing(error: Error | null): void {
    const [isFailing, isDamaged] = [error !== null, error !== null && isDamage(error)];
    const isKnown = this.#isFailing === isFailing && this.#isDamaged === isDamaged;
    if (isKnown || this.#isClosed) return;
    [this.#isFailing, this.#isDamaged] = [isFailing, isDamaged];
    this.#options.onFailing(error);
  }

  async #applyOnce(): Promise<void> {
    const { applied, skipped } = await this.#options.apply(this.#synced);
    if (applied === this.#applied && applied < this.#synced)
      throw new Error(`Row ${applied + 1} of the ledger is not there`);
    for (const why of skipped) this.#options.onSkipped(why);
    this.#applied = applied;
    const rest = this.#rows.findIndex(({ seq }) => seq > applied);
    const rows = this.#rows.splice(0, rest < 0 ? this.#rows.length : rest);
    for (const { length } of rows) this.#length -= length;
    this.#options.onApplied(rows, applied);
    if (this.hasRoom) for (const resolve of this.#starters.splice(0)) resolve(true);
    const due = this.#readers.filter(({ seq }) => seq <= applied);
    this.#readers = this.#readers.filter(({ seq }) => seq > applied);
    for (const reader of due) reader.resolve(true);
  }

  /** Nobody waits for what cannot be just now. */
  #dismiss(): void {
    for (const reader of this.#readers.splice(0)) reader.resolve(false);
    for (const resolve of this.#starters.splice(0)) resolve(false);
  }
}

const YES = Promise.resolve(true);
const NO = Promise.resolve(false);
