import { compareExchange, exchange, max, store } from "../lib/intrinsics.ts";

/**
 * How many runs of its task a thread has begun: in memory that it shares with the runner, so that
 * the others can be taken back from a thread that is busy, or has ended, and none runs twice.
 */
export type Claims = Int32Array<SharedArrayBuffer>;

/** In place of the number, once the rest was taken back. */
const TAKEN_BACK = -1;

export function newClaims(): Claims {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** The runner, before it gives a task to the thread: the first run of it counts as begun. */
export function openClaims(claims: Claims): void {
  store(claims, 0, 1);
}

/** The thread, before each further run; false where it is not the thread's any more. */
export function claim(claims: Claims, at: number): boolean {
  return compareExchange(claims, 0, at, at + 1) === at;
}

/** The runner: how many have begun. Nothing further of the task begins. */
export function takeBack(claims: Claims): number {
  return max(1, exchange(claims, 0, TAKEN_BACK));
}
