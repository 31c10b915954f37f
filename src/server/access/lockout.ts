import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { RequestError } from "../../shared/errors.ts";
import { networkOf } from "./network.ts";

/** Who tries what: the failures of both together, and of the address alone, are counted. */
export interface Attempt {
  /** What is guessed at, such as a user's password. */
  readonly subject: string;
  readonly address: string;
}

/**
 * Slows and then refuses whoever fails again and again. A subject is locked for the address that
 * failed, so that nobody can lock out somebody else; an address that fails with many subjects is
 * locked for all of them. Addresses of one network count as one. Kept in memory: a restart forgives.
 */
export interface Lockout {
  /**
   * Runs a check that answers null for a failure.
   *
   * @param onFailed is told of it at once, and what the failure has locked; null: nothing
   * @throws RequestError too_many_attempts
   */
  guard<T>(
    attempt: Attempt,
    check: () => Promise<T | null>,
    onFailed?: (locked: Locked | null) => void,
  ): Promise<T | null>;
}

/** The subject for one address, or the address with any subject. */
export type Locked = keyof Attempt;

export interface AttemptLimits {
  /** Failures without any delay. */
  readonly free: number;
  /** Failures of an address with one subject after which attempts are refused. */
  readonly most: number;
  /** Failures of an address with any subjects, which a success with one does not forgive. */
  readonly mostOfAddress: number;
  /** Time after the latest failure that forgives all. */
  readonly windowMs: number;
}

interface Failures {
  count: number;
  /** By the monotonic clock: a lock does not last longer because the time was set. */
  at: number;
}

/** Beyond it the oldest are forgotten, so that many names cost no memory. */
const MOST_KEYS = 10_000;

export function openLockout(limits: AttemptLimits): Lockout {
  const failures = new Map<string, Failures>();

  function count(key: string): number {
    const found = failures.get(key);
    if (found === undefined) return 0;
    if (found.at + limits.windowMs > performance.now()) return found.count;
    failures.delete(key);
    return 0;
  }

  function add(key: string): void {
    const failed = count(key) + 1;
    failures.delete(key);
    failures.set(key, { count: failed, at: performance.now() });
    if (failures.size > MOST_KEYS) failures.delete(failures.keys().next().value as string);
  }

  /** Takes back one failure that was counted before. */
  function forgive(key: string): void {
    const found = failures.get(key);
    if (found !== undefined) found.count -= 1;
  }

  return {
    async guard({ subject, address }, check, onFailed = () => {}) {
      const all = networkOf(address);
      const pair = `${all} ${hashOf(subject)}`;
      const failed = count(pair);
      const failedOfAddress = count(all);
      if (failed >= limits.most || failedOfAddress >= limits.mostOfAddress)
        throw refuse(limits.windowMs);
      // Counted before the check, so that many attempts at once are not all free.
      add(pair);
      add(all);
      const passed = await check();
      if (passed !== null) {
        failures.delete(pair);
        forgive(all);
        return passed;
      }
      // Each attempt knows its own number: of many at once, one is the last.
      if (failedOfAddress + 1 === limits.mostOfAddress) onFailed("address");
      else onFailed(failed + 1 === limits.most ? "subject" : null);
      if (failed >= limits.free) await wait(Math.min(100 * 2 ** (failed - limits.free), 3000));
      return null;
    },
  };
}

/** A subject is as long as whoever guesses wants it to be. */
function hashOf(subject: string): string {
  return createHash("sha256").update(subject).digest("base64url");
}

function refuse(windowMs: number): RequestError {
  const seconds = Math.ceil(windowMs / 1000);
  return new RequestError(
    "too_many_attempts",
    `Too many failed attempts. Try again in ${Math.ceil(seconds / 60)} minutes`,
    { headers: { "retry-after": String(seconds) } },
  );
}
