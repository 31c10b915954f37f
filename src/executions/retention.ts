import { now } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Store } from "../store/database.ts";
import { deleteExpiredTokens } from "../store/people.ts";
import { countExecutions, deleteExecutions, oldestEnded } from "../store/retention.ts";

/** RETENTION_DAYS, RETENTION_MAX_EXECUTIONS and RETENTION_MAX_BYTES; null: no limit. */
export interface RetentionLimits {
  readonly days: number | null;
  readonly max_executions: number | null;
  readonly max_bytes: number | null;
}

export interface Retention {
  /** Deletes what is beyond the limits now; resolves with how many were deleted. */
  sweep(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Executions deleted in one commit, which takes a few milliseconds. */
const BATCH = 200;
const INTERVAL_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Deletes ended executions beyond the limits once a minute, oldest first, in small batches. */
export function openRetention(store: Store, limits: RetentionLimits, log: Log): Retention {
  let sweeping: Promise<number> | null = null;
  let is_closed = false;

  /** @returns how many it deleted; fewer than a batch means that there are no more */
  async function deleteBatch(before: number | null, limit: number): Promise<number> {
    const ids = await oldestEnded(store, { before, limit: Math.min(limit, BATCH) });
    if (ids.length > 0) await store.commit(deleteExecutions(store, ids));
    return ids.length;
  }

  async function deleteOld(days: number): Promise<number> {
    const before = now() - days * DAY_MS;
    return repeat(() => deleteBatch(before, BATCH));
  }

  async function deleteSurplus(max: number): Promise<number> {
    let surplus = (await countExecutions(store)) - max;
    return repeat(async () => {
      if (surplus <= 0) return 0;
      const deleted = await deleteBatch(null, surplus);
      surplus -= deleted;
      return deleted;
    });
  }

  async function deleteLarge(max_bytes: number): Promise<number> {
    return repeat(async () =>
      (await store.maintain()).used > max_bytes ? deleteBatch(null, BATCH) : 0,
    );
  }

  async function repeat(act: () => Promise<number>): Promise<number> {
    let total = 0;
    while (!is_closed) {
      const deleted = await act();
      total += deleted;
      if (deleted === 0) break;
    }
    return total;
  }

  async function sweepOnce(): Promise<number> {
    const { days, max_executions, max_bytes } = limits;
    let deleted = days === null ? 0 : await deleteOld(days);
    if (max_executions !== null) deleted += await deleteSurplus(max_executions);
    if (max_bytes !== null) deleted += await deleteLarge(max_bytes);
    await store.commit([deleteExpiredTokens(store, now())]);
    const { free } = await store.maintain();
    if (deleted > 0) log.info({ deleted, free_bytes: free }, "Old executions were deleted");
    return deleted;
  }

  function sweep(): Promise<number> {
    sweeping ??= sweepOnce().finally(() => (sweeping = null));
    return sweeping;
  }

  const timer = setInterval(() => {
    sweep().catch((fault: unknown) => {
      log.warn({ fault: String(fault) }, "Cannot delete old executions; tried again later");
    });
  }, INTERVAL_MS);
  timer.unref();

  return {
    sweep,
    async [Symbol.asyncDispose]() {
      is_closed = true;
      clearInterval(timer);
      await sweeping?.catch(() => {});
    },
  };
}
