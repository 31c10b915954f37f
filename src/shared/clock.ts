/** The only home of the wall clock. */

/** Milliseconds since the epoch. */
export function now(): number {
  return Date.now();
}

/** Milliseconds since the epoch as ISO 8601 in UTC; null stays null. */
export function toIso(at: number): string;
export function toIso(at: number | null): string | null;
export function toIso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
