import { setTimeout as wait } from "node:timers/promises";
import { now } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";

/**
 * Slows and then refuses whoever fails again and again, counted per name and per address.
 * Kept in memory: a restart forgives.
 */
export interface Attempts {
  /**
   * Runs a check that answers null for a failure.
   *
   * @throws Refusal too_many_attempts where one of the keys failed too often
   */
  guard<T>(keys: readonly string[], check: () => Promise<T | null>): Promise<T | null>;
}

export interface AttemptLimits {
  /** Failures without any delay. */
  readonly free: number;
  /** Failures after which attempts are refused. */
  readonly most: number;
  /** Time after the latest failure that forgives all. */
  readonly window_ms: number;
}

interface Failures {
  count: number;
  at: number;
}

/** Beyond it the oldest are forgotten, so that many names cost no memory. */
const MOST_KEYS = 10_000;

export function openAttempts(limits: AttemptLimits): Attempts {
  const failures = new Map<string, Failures>();

  function count(key: string): number {
    const found = failures.get(key);
    if (found === undefined) return 0;
    if (found.at + limits.window_ms > now()) return found.count;
    failures.delete(key);
    return 0;
  }

  function add(key: string): void {
    const failed = count(key) + 1;
    failures.delete(key);
    failures.set(key, { count: failed, at: now() });
    if (failures.size > MOST_KEYS) failures.delete(failures.keys().next().value as string);
  }

  return {
    async guard(keys, check) {
      const worst = Math.max(...keys.map(count));
      if (worst >= limits.most) throw refuse(limits.window_ms);
      // Counted before the check, so that many attempts at once are not all free.
      for (const key of keys) add(key);
      const passed = await check();
      if (passed !== null) {
        for (const key of keys) failures.delete(key);
        return passed;
      }
      if (worst >= limits.free) await wait(Math.min(100 * 2 ** (worst - limits.free), 3000));
      return null;
    },
  };
}

function refuse(window_ms: number): Refusal {
  const seconds = Math.ceil(window_ms / 1000);
  return new Refusal(
    "too_many_attempts",
    `Too many failed attempts. Try again in ${Math.ceil(seconds / 60)} minutes`,
    { headers: { "retry-after": String(seconds) } },
  );
}
