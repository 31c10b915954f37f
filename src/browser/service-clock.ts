import { correctClock, now } from "../shared/clock.ts";

/** A clock that is further from the service's is wrong, in milliseconds: answers take time too. */
const WRONG_MS = 60_000;

let behindMs = 0;

/**
 * From now on the time is that of the service, whose times the pages show: the last hour of a browser
 * whose clock is an hour ahead would have no calls.
 *
 * @param date when an answer was sent, as its header of this name has it
 */
export function followServiceClock(date: string | null): void {
  const more = Date.parse(date ?? "") - now();
  if (Number.isNaN(more) || Math.abs(more) < WRONG_MS) return;
  behindMs += more;
  correctClock(behindMs);
}
