/** The only home of the wall clock. */

/** By how much the machine's clock is behind that of all, in milliseconds. */
let behind = 0;

/** From now on the time is that of a clock which several machines share. */
export function correctClock(behindMs: number): void {
  behind = behindMs;
}

/** Milliseconds since the epoch. */
export function now(): number {
  return correct(Date.now());
}

/** As `now`, of a time that a thread has from the machine's clock. */
export function correct(at: number): number {
  return at + behind;
}

/** Milliseconds since the epoch as ISO 8601 in UTC; null stays null. */
export function toIso(at: number): string;
export function toIso(at: number | null): string | null;
export function toIso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
