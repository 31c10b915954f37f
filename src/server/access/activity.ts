import { now } from "../../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { latestActivity, updateActivity } from "../store/people.ts";

/** When a user was last active in the UI: what the 402 rule asks (section 3.1). */
export interface Activity {
  report(user_id: string): Promise<void>;
  /** Milliseconds since the last activity, however the time was set; null: there was none. */
  idleFor(): number | null;
}

/** How long a later report may stay in memory only. */
const WRITE_INTERVAL_MS = 30_000;

export async function openActivity(store: Store): Promise<Activity> {
  let latest = toMonotonic(await latestActivity(store));
  const written = new Map<string, number>();
  return {
    async report(user_id) {
      const at = performance.now();
      latest = at;
      if (at - (written.get(user_id) ?? Number.NEGATIVE_INFINITY) < WRITE_INTERVAL_MS) return;
      written.set(user_id, at);
      await store.commit([updateActivity(store, user_id, now())]);
    },
    idleFor: () => (latest === null ? null : performance.now() - latest),
  };
}

/** A time of the store; one that is still to come counts as now. */
function toMonotonic(at: number | null): number | null {
  return at === null ? null : performance.now() - Math.max(0, now() - at);
}
