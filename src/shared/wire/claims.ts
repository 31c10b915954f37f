import { BigInt, Number, compareExchange, exchange, load, max } from "../intrinsics.ts";

/**
 * How many of its runs a thread has begun: in memory that it shares with the runner, so that the
 * others can be recalled from a thread that is busy, or has ended, and none runs twice. A recall
 * begins a new round; what was given in an earlier one does not begin any more. The first run of a
 * round counts as begun whether it is or not: it may be what ends the thread, and a thread that is
 * slow to begin is not to lose it again and again. One that has not even begun after long is taken
 * from a thread that then ends: that makes two rounds at once, after which the first does not begin.
 */
export type Claims = BigUint64Array<SharedArrayBuffer>;

/** A round and how many have begun in it are one number: no thread comes to the end of either. */
const ROUND = 2n ** 32n;

/** How many rounds later it is once all was recalled. */
export const UNBEGUN_ROUNDS = 2;

export function newClaims(): Claims {
  return new BigUint64Array(new SharedArrayBuffer(BigUint64Array.BYTES_PER_ELEMENT));
}

/** The thread, before each run of a round; false where it was recalled. @param at from 0 on */
export function claim(claims: Claims, round: number, at: number): boolean {
  const before = BigInt(round) * ROUND + BigInt(at);
  const found = compareExchange(claims, 0, before, before + 1n);
  return found === before || (at === 0 && found < BigInt(round + UNBEGUN_ROUNDS) * ROUND);
}

/** The runner: how many of this round have begun. Nothing further of it begins. */
export function recall(claims: Claims, round: number): number {
  return toCount(exchange(claims, 0, BigInt(round + 1) * ROUND));
}

/**
 * The runner: as `recall`, with the first. Not of a thread that has begun none at all: it may be slow to start.
 *
 * @param begun of this round; where more have, nothing is recalled
 * @returns whether it was: what has not begun of this round never will
 */
export function recallUnbegun(claims: Claims, round: number, begun: number): boolean {
  const before = BigInt(round) * ROUND + BigInt(begun);
  const after = BigInt(round + UNBEGUN_ROUNDS) * ROUND;
  return before > 0n && compareExchange(claims, 0, before, after) === before;
}

/** How many of the latest round have begun. */
export function countBegun(claims: Claims): number {
  return toCount(load(claims, 0));
}

/** A thread that its flow has taken over may have written anything. */
function toCount(value: bigint): number {
  return max(1, Number(value % ROUND));
}
