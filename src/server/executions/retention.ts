import { setTimeout as delay } from "node:timers/promises";
import { now, toIso } from "../../shared/clock.ts";
import { ClockWatch, type Clocks } from "./clock-watch.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { Statement } from "../store/statement.ts";
import { deleteOldAttempts } from "../store/attempts.ts";
import { deleteExpiredClaims } from "../store/claims.ts";
import { deleteExpiredTokens } from "../store/tokens.ts";
import {
  countExecutions,
  deleteExecutions,
  deleteOldRefusals,
  hasOlder,
  listOld,
  newestBefore,
  oldestEnded,
} from "../store/retention.ts";

/** RETENTION_DAYS, RETENTION_MAX_EXECUTIONS and RETENTION_MAX_BYTES; null: no limit. */
export interface RetentionLimits {
  readonly days: number | null;
  readonly maxExecutions: number | null;
  readonly maxBytes: number | null;
}

/** Executions deleted in one commit, which takes a few milliseconds. */
const BATCH = 200;
/** Claims: one row each. */
const CLAIMS_BATCH = 1000;
const MINUTE_MS = 60_000;
/** So long at a time what is free is given back: then it is looked again at what is to go. */
const GIVING_MS = MINUTE_MS / 2;
const INTERVAL_MS = MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** What is old goes only after the time of day was believable for so long. */
const TRUST_MS = HOUR_MS;
/** Clocks of machines are this near to each other. */
const DRIFT_MS = 5 * MINUTE_MS;
const CENTURY_MS = 36_525 * DAY_MS;
const WAITING = "nothing is deleted by its age before the clock has run evenly for an hour";

/**
 * Deletes ended executions beyond the limits once a minute, oldest first, in small batches. By
 * age only while the time of day can be believed: a clock that is set to a year in the future
 * for a minute would make everything old.
 */
export class Retention {
  readonly #store: Store;
  readonly #limits: RetentionLimits;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  readonly #wall: () => number;
  readonly #watch: ClockWatch;
  #sweeping: Promise<number> | null = null;
  #isFirst = true;
  #isClosed = false;

  constructor(store: Store, limits: RetentionLimits, log: Log, clocks?: Clocks) {
    this.#wall = clocks?.wall ?? now;
    this.#watch = new ClockWatch(clocks);
    this.#store = store;
    this.#limits = limits;
    this.#log = log;
    this.#timer = setInterval(() => this.#sweepQuietly(), INTERVAL_MS);
    this.#timer.unref();
    // Also at the start, so that a service that is started often keeps to its limits.
    this.#sweepQuietly();
  }

  /**
   * Deletes what is beyond the limits now; of the services on one database one at a time, none twice.
   *
   * @returns how many were deleted
   */
  sweep(): Promise<number> {
    this.#sweeping ??= this.#sweepOnce().finally(() => (this.#sweeping = null));
    return this.#sweeping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#sweeping?.catch(() => {});
  }

  #sweepQuietly(): void {
    this.sweep().catch((error: unknown) => {
      this.#log.warn({ error: String(error) }, "Cannot delete old executions; tried again later");
    });
  }

  async #sweepOnce(): Promise<number> {
    // Read before the clocks are compared: what is set after that does not count here.
    const at = this.#wall();
    const isTrusted = await this.#isTimeTrusted(at);
    const { shared } = this.#store;
    if (shared === null) return this.#deleteAll(at, isTrusted);
    await using turn = await shared.hold("retention", false);
    return turn === null ? 0 : this.#deleteAll(at, isTrusted);
  }

  /** One that fails keeps no other back. @throws the first error */
  async #deleteAll(at: number, isTrusted: boolean): Promise<number> {
    const failed: unknown[] = [];
    let deleted = 0;
    for (const act of this.#listActs(at, isTrusted))
      try {
        deleted += await act();
      } catch (error) {
        failed.push(error);
      }
    const free = await this.#giveBack();
    if (deleted > 0) this.#log.info({ deleted, free_bytes: free }, "Old executions were deleted");
    if (failed.length > 0) throw failed[0];
    return deleted;
  }

  /**
   * Gives what is free back to the disk, in a tenth of the writer's time at most.
   *
   * @returns what is still free
   */
  async #giveBack(): Promise<number> {
    const end = performance.now() + GIVING_MS;
    for (let before = Infinity; ;) {
      const begun = performance.now();
      const { free, more } = await this.#store.maintain();
      const at = performance.now();
      if (!more || free >= before || this.#isClosed || at > end) return free;
      before = free;
      await delay(9 * (at - begun), undefined, { ref: false });
    }
  }

  /** What takes long comes last. Each tells how many executions it deleted. */
  #listActs(at: number, isTrusted: boolean): (() => Promise<number>)[] {
    const { days, maxExecutions, maxBytes } = this.#limits;
    const before = days === null || !isTrusted ? null : at - days * DAY_MS;
    const store = this.#store;
    const isShared = store.shared !== null;
    const acts: (() => Promise<number>)[] = [];
    const commit = (one: Statement) => acts.push(async () => (await store.commit([one]), 0));
    if (isTrusted) commit(deleteExpiredTokens(store, at));
    if (isTrusted) acts.push(() => this.#deleteExpiredClaims(at));
    if (isShared) commit(deleteOldAttempts(store));
    if (isShared && before !== null) commit(deleteOldRefusals(store, before));
    if (before !== null) acts.push(() => this.#deleteOld(before, at));
    if (maxBytes !== null) acts.push(() => this.#deleteLarge(maxBytes));
    if (maxExecutions !== null) acts.push(() => this.#deleteSurplus(maxExecutions));
    return acts;
  }

  /** Says in the log why nothing is deleted by its age. */
  async #isTimeTrusted(at: number): Promise<boolean> {
    const jumpMs = this.#watch.check();
    if (jumpMs !== 0) {
      const way = jumpMs > 0 ? "ahead" : "back";
      this.#log.warn({ jump_ms: jumpMs }, `The clock was set ${way}; ${WAITING}`);
    }
    if (this.#isFirst) await this.#compareWithRows(at);
    this.#isFirst = false;
    return this.#watch.isTrusted(TRUST_MS);
  }

  /**
   * At the start only what was written before can tell of a clock that is wrong: it is in the
   * future, or there is a gap before the last hour, where a clock that is ahead wrote itself.
   */
  async #compareWithRows(at: number): Promise<void> {
    const newest = await newestBefore(this.#store, at + CENTURY_MS);
    const earlier = await newestBefore(this.#store, at - TRUST_MS);
    const isBehind = newest !== null && newest > at + DRIFT_MS;
    const isAfterGap = earlier !== null && earlier < at - this.#longestGap();
    if (!isBehind && !isAfterGap) return;
    this.#watch.doubt();
    const why = isBehind
      ? "The clock is behind what was written before"
      : "Nothing was written for long, or the clock is ahead";
    const members = { newest_at: toIso(isBehind ? newest : earlier) };
    this.#log[isBehind ? "warn" : "info"](members, `${why}; ${WAITING}`);
  }

  #longestGap(): number {
    return Math.min(DAY_MS, Math.max(DAY_MS / 4, ((this.#limits.days ?? 0) * DAY_MS) / 4));
  }

  async #deleteExpiredClaims(at: number): Promise<number> {
    const unit = [deleteExpiredClaims(this.#store, at, CLAIMS_BATCH)];
    await this.#repeat(async () => (await this.#store.commit(unit))[0] ?? 0);
    return 0;
  }

  /** But those by which calls are known. */
  async #deleteOld(before: number, at: number): Promise<number> {
    // The reader's thread is not started for nothing.
    if (!(await hasOlder(this.#store, before))) return 0;
    let deleted = 0;
    for (let after = ""; !this.#isClosed;) {
      const rows = await listOld(this.#store, { before, after, at, limit: BATCH });
      const ids = rows.filter(({ isClaimed }) => !isClaimed).map(({ id }) => id);
      await this.#delete(ids);
      deleted += ids.length;
      if (rows.length < BATCH) break;
      after = rows.at(-1)?.id ?? "";
    }
    return deleted;
  }

  async #deleteSurplus(max: number): Promise<number> {
    let surplus = (await countExecutions(this.#store, () => !this.#isClosed)) - max;
    return this.#repeat(async () => {
      if (surplus <= 0) return 0;
      const deleted = await this.#deleteOldest(surplus);
      surplus -= deleted;
      return deleted;
    });
  }

  #deleteLarge(maxBytes: number): Promise<number> {
    return this.#repeat(async () =>
      (await this.#store.maintain()).used > maxBytes ? this.#deleteOldest(BATCH) : 0,
    );
  }

  /** @returns how many it deleted; none means that there are no more */
  async #deleteOldest(limit: number): Promise<number> {
    const page = { before: null, limit: Math.min(limit, BATCH) };
    const ids = await oldestEnded(this.#store, page);
    await this.#delete(ids);
    return ids.length;
  }

  async #delete(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#store.commit(deleteExecutions(this.#store, ids));
  }

  async #repeat(act: () => Promise<number>): Promise<number> {
    let total = 0;
    while (!this.#isClosed) {
      const deleted = await act();
      total += deleted;
      if (deleted === 0) break;
    }
    return total;
  }
}
