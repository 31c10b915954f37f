import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { RequestError } from "../../shared/errors.ts";
import { CheckTurns } from "./check-turns.ts";
import { openOwnCounts, type FailureCounts } from "./failure-counts.ts";
import { refuseCrowded } from "./hash-thread.ts";
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
 * locked for all of them. Addresses of one network count as one.
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

/** @param counts kept in memory, unless others are told */
export function openLockout(
  limits: AttemptLimits,
  counts: FailureCounts = openOwnCounts(limits),
): Lockout {
  const turns = new CheckTurns();
  return {
    async guard({ subject, address }, check, onFailed = () => {}) {
      const all = networkOf(address);
      const keys = { pair: `${all} ${hashOf(subject)}`, address: all };
      const mayAskAgain = () => counts.mayAskAgain(keys);
      const failed = await turns.begin(keys.pair, () => counts.add(keys), mayAskAgain);
      if (failed === null) throw refuse(await counts.lockLeftMs(keys));
      if (failed === "crowded") throw refuseCrowded();
      try {
        const passed = await check();
        if (passed !== null) {
          await counts.forgive(keys);
          return passed;
        }
      } catch (error) {
        // Turned away, or its client is gone: whether it was right is not known.
        await counts.takeBack(keys);
        throw error;
      } finally {
        turns.end(keys.pair);
      }
      const { ofPair, ofAddress } = failed;
      // Each attempt knows its own number: of many at once, one is the last.
      if (ofAddress + 1 === limits.mostOfAddress) onFailed("address");
      else onFailed(ofPair + 1 === limits.most ? "subject" : null);
      if (ofPair >= limits.free) await wait(Math.min(100 * 2 ** (ofPair - limits.free), 3000));
      return null;
    },
  };
}

/** A subject is as long as whoever guesses wants it to be. */
function hashOf(subject: string): string {
  return createHash("sha256").update(subject).digest("base64url");
}

function refuse(leftMs: number): RequestError {
  const seconds = Math.max(1, Math.ceil(leftMs / 1000));
  const minutes = Math.ceil(seconds / 60);
  return new RequestError(
    "too_many_attempts",
    `Too many failed attempts. Try again in ${minutes === 1 ? "a minute" : `${minutes} minutes`}`,
    { headers: { "retry-after": String(seconds) } },
  );
}
