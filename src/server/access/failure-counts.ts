import { setTimeout as wait } from "node:timers/promises";
import type { Store } from "../store/store.ts";
import { addAttempt, forgiveAttempt, lockLeftMs, takeAttemptBack } from "../store/attempts.ts";

/** By what failures are counted. */
export interface AttemptKeys {
  /** An address with one subject, whose success forgives all. */
  readonly pair: string;
  /** An address with any subject, to which a success forgives one. */
  readonly address: string;
}

export interface CountLimits {
  readonly most: number;
  readonly mostOfAddress: number;
  readonly windowMs: number;
}

/** Failures of each key before this attempt. */
export interface Failed {
  readonly ofPair: number;
  readonly ofAddress: number;
}

/** Counts attempts as failed before they are checked, so that many at once are not all free. */
export interface FailureCounts {
  /** @returns null where one of both has reached its limit: nothing is counted */
  add(keys: AttemptKeys): Promise<Failed | null>;
  /**
   * Whether attempts at other services, that nothing is known of yet, may be what has reached a limit.
   * Takes a while then, after which one may ask again; else it is reached by what has failed.
   */
  mayAskAgain(keys: AttemptKeys): Promise<boolean>;
  /** Until all that is at its limit is forgiven, in milliseconds; 0: nothing is. */
  lockLeftMs(keys: AttemptKeys): Promise<number>;
  /** It has not failed. */
  forgive(keys: AttemptKeys): Promise<void>;
  /** It was not checked: one failure less of each. */
  takeBack(keys: AttemptKeys): Promise<void>;
}

interface Failures {
  count: number;
  /** By the monotonic clock: a lock does not last longer because the time was set. */
  at: number;
}

/** Beyond it the oldest are forgotten, so that many names cost no memory. */
const MOST_KEYS = 10_000;

/** In memory: a restart forgives. */
export function openOwnCounts({ most, mostOfAddress, windowMs }: CountLimits): FailureCounts {
  const failures = new Map<string, Failures>();

  function count(key: string): number {
    const found = failures.get(key);
    if (found === undefined) return 0;
    if (found.at + windowMs > performance.now()) return found.count;
    failures.delete(key);
    return 0;
  }

  function add(key: string, failed: number): void {
    failures.delete(key);
    failures.set(key, { count: failed + 1, at: performance.now() });
    if (failures.size > MOST_KEYS) failures.delete(failures.keys().next().value as string);
  }

  function subtract(key: string): void {
    const found = failures.get(key);
    if (found !== undefined && found.count > 0) found.count -= 1;
  }

  return {
    async add({ pair, address }) {
      const [ofPair, ofAddress] = [count(pair), count(address)];
      if (ofPair >= most || ofAddress >= mostOfAddress) return null;
      add(pair, ofPair);
      add(address, ofAddress);
      return { ofPair, ofAddress };
    },
    mayAskAgain: () => Promise.resolve(false),
    async lockLeftMs({ pair, address }) {
      const left = (key: string, limit: number): number =>
        count(key) < limit ? 0 : (failures.get(key)?.at ?? 0) + windowMs - performance.now();
      return Math.max(left(pair, most), left(address, mostOfAddress));
    },
    async forgive({ pair, address }) {
      failures.delete(pair);
      subtract(address);
    },
    async takeBack({ pair, address }) {
      subtract(pair);
      subtract(address);
    },
  };
}

/** What was counted so long ago has been checked; milliseconds. */
const CHECK_MS = 2000;

/** Between two questions about one pair, in milliseconds. */
const ASK_AGAIN_MS = 100;

/** Questions of one address at a time that are asked again: names cost whoever tries many nothing. */
const MOST_ASKING = 4;

/** In the store, over all services that use it. A crash of the database server forgives. */
export function openSharedCounts(store: Store, limits: CountLimits): FailureCounts {
  const asking = new Map<string, number>();
  return {
    add: (keys) => addAttempt(store, keys, limits),
    async mayAskAgain(keys) {
      const { address } = keys;
      const others = asking.get(address) ?? 0;
      if (others >= MOST_ASKING) return false;
      asking.set(address, others + 1);
      try {
        return await isRecent(store, keys, limits);
      } finally {
        const left = (asking.get(address) ?? 0) - 1;
        if (left > 0) asking.set(address, left);
        else asking.delete(address);
      }
    },
    lockLeftMs: (keys) => lockLeftMs(store, keys, limits),
    forgive: (keys) => forgiveAttempt(store, keys),
    takeBack: (keys) => takeAttemptBack(store, keys),
  };
}

/** Whether what has reached a limit may still be checked; takes a while then. */
async function isRecent(store: Store, keys: AttemptKeys, limits: CountLimits): Promise<boolean> {
  const leftMs = await lockLeftMs(store, keys, limits);
  const sinceMs = limits.windowMs - leftMs;
  // Less than none: the clock of the database was set back.
  if (leftMs > 0 && (sinceMs < 0 || sinceMs >= CHECK_MS)) return false;
  await wait(ASK_AGAIN_MS);
  return true;
}
