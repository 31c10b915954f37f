/** As many as all threads of a flow have in most configurations: each may have kept what broke. */
const MOST = 8;
/** One more may be renewed after so long, in milliseconds: a start costs 40 ms of a processor. */
const EACH_MS = 5_000;

/**
 * How many threads of a flow are renewed because something has failed in them, or was aborted. What a flow keeps
 * from run to run may be why, as a connection that broke: in a new thread it is made anew. Not each
 * time: whoever makes runs fail, or hangs up, would decide how many threads are started.
 */
export class Renewals {
  #left = MOST;
  /** Since when it has been counted towards the next. */
  #since = 0;

  /** @param now in milliseconds, monotonic. @returns whether one may be renewed, which it counts as */
  take(now: number): boolean {
    const more = Math.floor((now - this.#since) / EACH_MS);
    this.#left = Math.min(MOST, this.#left + more);
    this.#since = this.#left === MOST ? now : this.#since + more * EACH_MS;
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
