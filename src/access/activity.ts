import { now } from "../lib/clock.ts";
import type { Store } from "../store/database.ts";
import { latestActivity, updateActivity } from "../store/people.ts";

/** When a user was last active in the UI: what the 402 rule asks (section 3.1). */
export interface Activity {
  report(user_id: string): Promise<void>;
  /** Milliseconds since the epoch; null: nobody ever was. */
  latest(): number | null;
}

/** How long a later report may stay in memory only. */
const WRITE_INTERVAL_MS = 30_000;

export async function openActivity(store: Store): Promise<Activity> {
  let latest = await latestActivity(store);
  const written = new Map<string, number>();
  return {
    async report(user_id) {
      latest = now();
      if (latest - (written.get(user_id) ?? 0) < WRITE_INTERVAL_MS) return;
      written.set(user_id, latest);
      await store.commit([updateActivity(store, user_id, latest)]);
    },
    latest: () => latest,
  };
}
