import type { Client } from "pg";
import { Session } from "./connection.ts";
import { toUnitError } from "./error.ts";
import type { Event, ThreadData } from "./thread-protocol.ts";

/** How often it is asked whether the database is there, in milliseconds. */
const ASK_MS = 1000;
/**
 * An answer that takes longer is none; after the second, what hangs elsewhere hangs for good, and
 * nobody can be asked whether it does.
 */
const [LATE_MS, LOST_MS] = [2000, 10_000];

const LATE = `no answer within ${LATE_MS / 1000} s`;

export interface HeartbeatEvents {
  tell(event: Event): void;
  /** The database is there. */
  onReached(client: Client): Promise<void>;
  /** Nothing was answered for 10 seconds. */
  onLost(): void;
  /** What a new connection needs before it is used. */
  prepare(client: Client): Promise<void>;
}

/**
 * A connection on which nothing takes long: it renews the lease of the node, and tells whether the
 * database can be reached.
 */
export class Heartbeat {
  readonly #session: Session;
  readonly #events: HeartbeatEvents;
  /** Why it cannot be reached, as it was told, each once; empty: it can. */
  readonly #told = new Set<string>();
  #isAsking = false;
  #answeredAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(data: ThreadData, events: HeartbeatEvents) {
    this.#events = events;
    this.#session = new Session(data, (client) => events.prepare(client), true);
  }

  open(): void {
    this.#answeredAt = performance.now();
    this.#timer = setInterval(() => this.#ask(), ASK_MS);
  }

  run<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return this.#session.run(act);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#session.close();
  }

  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const late = setTimeout(() => this.#report(LATE), LATE_MS);
    this.run(async (client) => {
      await client.query("select 1");
      await this.#events.onReached(client);
    })
      .then(
        () => this.#report(null),
        (error: unknown) => this.#report(toUnitError(error).message),
      )
      .finally(() => {
        clearTimeout(late);
        this.#isAsking = false;
      });
  }

  /** @param away why it cannot be reached; null: it can */
  #report(away: string | null): void {
    const at = performance.now();
    if (away === null) this.#answeredAt = at;
    else if (at - this.#answeredAt > LOST_MS) this.#events.onLost();
    if (away === null ? this.#told.size === 0 : this.#told.has(away)) return;
    if (away === null) this.#told.clear();
    else this.#told.add(away);
    this.#events.tell({ away });
  }
}
