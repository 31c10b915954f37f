import type { Client } from "pg";
import { Session } from "./connection.ts";
import { reach } from "./start.ts";
import type { Event, ThreadData } from "./thread-protocol.ts";

/** How often it is asked whether the database is there, in milliseconds. */
const ASK_MS = 1000;
/** An answer that takes longer is none; after the second, the connection is given up. */
const [ANSWER_MS, LOST_MS] = [2000, 10_000];

/** Writes what is no record, and tells whether the database can be reached. */
export class Writer {
  readonly #data: ThreadData;
  readonly #tell: (event: Event) => void;
  readonly #session: Session;
  #isReachable = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(data: ThreadData, tell: (event: Event) => void) {
    this.#data = data;
    this.#tell = tell;
    this.#session = new Session(data, async () => {});
  }

  /** Reaches the server, and prepares the database. @throws StartError */
  async open<T>(prepare: (client: Client) => Promise<T>): Promise<T> {
    await reach(this.#session, this.#data, (line) => this.#tell({ line }));
    const prepared = await this.#session.run(prepare);
    this.#timer = setInterval(() => this.#ask(), ASK_MS);
    return prepared;
  }

  run<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return this.#session.run(act);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#session.close();
  }

  #ask(): void {
    const late = setTimeout(() => this.#report(false), ANSWER_MS);
    const lost = setTimeout(() => this.#session.giveUp(), LOST_MS);
    this.#session
      .run((client) => client.query("select 1"))
      .then(
        () => this.#report(true),
        () => this.#report(false),
      )
      .finally(() => {
        clearTimeout(late);
        clearTimeout(lost);
      });
  }

  #report(isReachable: boolean): void {
    if (this.#isReachable === isReachable) return;
    this.#isReachable = isReachable;
    this.#tell({ isReachable });
  }
}
