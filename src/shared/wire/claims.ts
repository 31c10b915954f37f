import { BigInt, Number, compareExchange, exchange, load, max } from "../intrinsics.ts";

/**
 * How many of its runs a thread has begun: in memory that it shares with the runner, so that the
 * others can be recalled from a thread that is busy, or has ended, and none runs twice. A recall
 * begins a new round; what was given in an earlier one does not begin any more. The first run of a
 * round counts as begun whether it is or not: it may be what ends the thread, and a thread that is
 * slow to begin is not to lose it again and again.
 */
export type Claims = BigUint64Array<SharedArrayBuffer>;

/** A round and how many have begun in it are one number: no thread comes to the end of either. */
const ROUND = 2n ** 32n;

export function newClaims(): Claims {
  return new BigUint64Array(new SharedArrayBuffer(BigUint64Array.BYTES_PER_ELEMENT));
}

/** The thread, before each run of a round; false where it was recalled. @param at from 0 on */
export function claim(claims: Claims, round: number, at: number): boolean {
  const before = BigInt(round) * ROUND + BigInt(at);
  return compareExchange(claims, 0, before, before + 1n) === before || at === 0;
}

/** The runner: how many of this round have begun. Nothing further of it begins. */
export function recall(claims: Claims, round: number): number {
  return toCount(exchange(claims, 0, BigInt(round + 1) * ROUND));
}

/** How many of the latest round have begun. */
export function countBegun(claims: Claims): number {
  return toCount(load(claims, 0));
}

/** A thread that its flow has taken over may have written anything. */
function toCount(value: bigint): number {
  return max(1, Number(value % ROUND));
}
