import type { Client } from "pg";
import { StartError } from "../../../shared/errors.ts";
import { describePlace, Session } from "./connection.ts";
import { reach, takeDatabase, tryLock } from "./start.ts";
import type { Event, ThreadData } from "./thread-protocol.ts";

/** How often it is asked whether the database is there, in milliseconds. */
const ASK_MS = 1000;
/** An answer that takes longer is none. */
const ANSWER_MS = 2000;

/**
 * Holds the database for this service, by a lock that ends with its connection, and writes what
 * is no record. Whoever cannot hold it writes nothing.
 */
export class Guard {
  readonly #data: ThreadData;
  readonly #tell: (event: Event) => void;
  readonly #session: Session;
  #isOpen = false;
  #isReachable = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(data: ThreadData, tell: (event: Event) => void) {
    this.#data = data;
    this.#tell = tell;
    this.#session = new Session(data, (client) => this.#retake(client));
  }

  /** Reaches the server, takes the database and prepares it. @throws StartError */
  async open<T>(prepare: (client: Client) => Promise<T>): Promise<T> {
    await reach(this.#session, this.#data, (line) => this.#tell({ line }));
    const prepared = await this.#session.run(async (client) => {
      if (!this.#data.isBeside) await takeDatabase(client, this.#data);
      return prepare(client);
    });
    this.#isOpen = true;
    this.#timer = setInterval(() => this.#ask(), ASK_MS);
    return prepared;
  }

  run<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return this.#session.run(act);
  }

  /** Resolves while the database is held. @throws {Error} where it cannot be reached */
  async require(): Promise<void> {
    if (!this.#session.isConnected) await this.#session.run(async () => {});
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#session.close();
  }

  /** On a new connection: nobody else may have taken the database meanwhile. */
  async #retake(client: Client): Promise<void> {
    if (!this.#isOpen || this.#data.isBeside) return;
    if (await tryLock(client)) return;
    await takeDatabase(client, this.#data).catch((error: unknown) => {
      if (error instanceof StartError)
        this.#tell({ taken: `Another service has taken the ${describePlace(this.#data.url)}` });
      throw error;
    });
  }

  #ask(): void {
    const late = setTimeout(() => this.#report(false), ANSWER_MS);
    this.#session
      .run((client) => client.query("select 1"))
      .then(
        () => this.#report(true),
        () => this.#report(false),
      )
      .finally(() => clearTimeout(late));
  }

  #report(isReachable: boolean): void {
    if (this.#isReachable === isReachable) return;
    this.#isReachable = isReachable;
    this.#tell({ isReachable });
  }
}
