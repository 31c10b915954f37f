import { now } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Store } from "../store/database.ts";
import { deleteExpiredTokens } from "../store/people.ts";
import { countExecutions, deleteExecutions, hasOlder, oldestEnded } from "../store/retention.ts";

/** RETENTION_DAYS, RETENTION_MAX_EXECUTIONS and RETENTION_MAX_BYTES; null: no limit. */
export interface RetentionLimits {
  readonly days: number | null;
  readonly max_executions: number | null;
  readonly max_bytes: number | null;
}

/** Executions deleted in one commit, which takes a few milliseconds. */
const BATCH = 200;
const INTERVAL_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Deletes ended executions beyond the limits once a minute, oldest first, in small batches. */
export class Retention {
  readonly #store: Store;
  readonly #limits: RetentionLimits;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  #sweeping: Promise<number> | null = null;
  #is_closed = false;

  constructor(store: Store, limits: RetentionLimits, log: Log) {
    this.#store = store;
    this.#limits = limits;
    this.#log = log;
    this.#timer = setInterval(() => this.#sweepQuietly(), INTERVAL_MS);
    this.#timer.unref();
    // Also at the start, so that a service that is started often keeps to its limits.
    this.#sweepQuietly();
  }

  /** Deletes what is beyond the limits now; resolves with how many were deleted. */
  sweep(): Promise<number> {
    this.#sweeping ??= this.#sweepOnce().finally(() => (this.#sweeping = null));
    return this.#sweeping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#is_closed = true;
    clearInterval(this.#timer);
    await this.#sweeping?.catch(() => {});
  }

  #sweepQuietly(): void {
    this.sweep().catch((fault: unknown) => {
      this.#log.warn({ fault: String(fault) }, "Cannot delete old executions; tried again later");
    });
  }

  async #sweepOnce(): Promise<number> {
    const { days, max_executions, max_bytes } = this.#limits;
    let deleted = days === null ? 0 : await this.#deleteOld(days);
    if (max_executions !== null) deleted += await this.#deleteSurplus(max_executions);
    if (max_bytes !== null) deleted += await this.#deleteLarge(max_bytes);
    await this.#store.commit([deleteExpiredTokens(this.#store, now())]);
    const { free } = await this.#store.maintain();
    if (deleted > 0) this.#log.info({ deleted, free_bytes: free }, "Old executions were deleted");
    return deleted;
  }

  async #deleteOld(days: number): Promise<number> {
    const before = now() - days * DAY_MS;
    // The reader's thread is not started for nothing.
    if (!(await hasOlder(this.#store, before))) return 0;
    return this.#repeat(() => this.#deleteBatch(before, BATCH));
  }

  async #deleteSurplus(max: number): Promise<number> {
    let surplus = (await countExecutions(this.#store)) - max;
    return this.#repeat(async () => {
      if (surplus <= 0) return 0;
      const deleted = await this.#deleteBatch(null, surplus);
      surplus -= deleted;
      return deleted;
    });
  }

  #deleteLarge(max_bytes: number): Promise<number> {
    return this.#repeat(async () =>
      (await this.#store.maintain()).used > max_bytes ? this.#deleteBatch(null, BATCH) : 0,
    );
  }

  /** @returns how many it deleted; none means that there are no more */
  async #deleteBatch(before: number | null, limit: number): Promise<number> {
    const ids = await oldestEnded(this.#store, { before, limit: Math.min(limit, BATCH) });
    if (ids.length > 0) await this.#store.commit(deleteExecutions(this.#store, ids));
    return ids.length;
  }

  async #repeat(act: () => Promise<number>): Promise<number> {
    let total = 0;
    while (!this.#is_closed) {
      const deleted = await act();
      total += deleted;
      if (deleted === 0) break;
    }
    return total;
  }
}
