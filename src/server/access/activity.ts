import { now } from "../../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { latestActivity, updateActivity } from "../store/people.ts";

/** When a user was last active in the UI: what the 402 rule asks (section 3.1). */
export interface Activity {
  report(user_id: string): Promise<void>;
  /**
   * Milliseconds since the last activity, however the time was set; null: there was none.
   *
   * @param enoughMs where it is no longer than this, what was known a second ago will do
   */
  idleFor(enoughMs: number): Promise<number | null>;
}

/** How long a later report may stay in memory only. */
const WRITE_INTERVAL_MS = 30_000;
/** The same where other services want to know of it, and how long they take it as they read it. */
const SHARED_INTERVAL_MS = 1000;

export async function openActivity(store: Store): Promise<Activity> {
  let latest = toMonotonic(await latestActivity(store));
  let readAt = performance.now();
  const isShared = store.shared !== null;
  const intervalMs = isShared ? SHARED_INTERVAL_MS : WRITE_INTERVAL_MS;
  const written = new Map<string, number>();
  const idle = (): number | null => (latest === null ? null : performance.now() - latest);
  return {
    async report(user_id) {
      const at = performance.now();
      latest = at;
      if (at - (written.get(user_id) ?? Number.NEGATIVE_INFINITY) < intervalMs) return;
      written.set(user_id, at);
      await store.commit([updateActivity(store, user_id, now())]);
    },
    async idleFor(enoughMs) {
      const isEnough = (idle() ?? Infinity) <= enoughMs;
      if (!isShared || (isEnough && performance.now() - readAt < SHARED_INTERVAL_MS)) return idle();
      const at = performance.now();
      const read = toMonotonic(await latestActivity(store));
      readAt = at;
      latest = read === null ? latest : Math.max(read, latest ?? read);
      return idle();
    },
  };
}

/** A time of the store; one that is still to come counts as now. */
function toMonotonic(at: number | null): number | null {
  return at === null ? null : performance.now() - Math.max(0, now() - at);
}
