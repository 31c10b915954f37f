import type { Client } from "pg";
import { findOwn, isDirect, isWorking, type Backend } from "./backend.ts";
import { ANSWER_MS, LOCK_LIMIT, Session, setDurability } from "./connection.ts";
import { reach } from "./start.ts";
import type { Event, ThreadData } from "./thread-protocol.ts";

/** Writes what is no record: units of any length, one after the other. */
export class Writer {
  readonly #data: ThreadData;
  readonly #tell: (event: Event) => void;
  readonly #session: Session;
  /** Its connection; null where it has none, or a pooler stands between. */
  #backend: Backend | null = null;
  /** Since when it waits for what is under way, as performance.now(); null: nothing is. */
  #waitsSince: number | null = null;
  /** How long a statement of that may take to be sent, in milliseconds. */
  #sending = 0;

  constructor(data: ThreadData, tell: (event: Event) => void) {
    this.#data = data;
    this.#tell = tell;
    this.#session = new Session(data, async (client) => {
      await client.query(`set ${LOCK_LIMIT}`);
      if (data.durability === "full") await setDurability(client, "full");
      const own = await findOwn(client);
      this.#backend = own !== null && isDirect(client, own) ? own : null;
    });
  }

  /** Reaches the server. @throws StartError */
  reach(): Promise<void> {
    return reach(this.#session, this.#data, (line) => this.#tell({ line }));
  }

  /** @param sending how long what is written may take to be sent, in milliseconds */
  run<T>(act: (client: Client) => Promise<T>, sending = 0): Promise<T> {
    return this.#session.run(async (client) => {
      this.#waitsSince = performance.now();
      this.#sending = sending;
      return act(client).finally(() => (this.#waitsSince = null));
    });
  }

  /**
   * Gives up what is under way where the server does nothing for it any more: what was sent, or
   * answered, was lost with a connection that tells nobody that it is dead.
   *
   * @param client another connection, which lives
   */
  async giveUpDead(client: Client): Promise<void> {
    const [backend, since] = [this.#backend, this.#waitsSince];
    if (backend === null || since === null || performance.now() - since < ANSWER_MS) return;
    const isAlive = await isWorking(client, backend, ANSWER_MS + this.#sending);
    if (!isAlive && this.#waitsSince === since) this.giveUp();
  }

  /** What is under way fails. */
  giveUp(): void {
    this.#session.giveUp();
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
