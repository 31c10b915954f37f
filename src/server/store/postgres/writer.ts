import type { Client } from "pg";
import { Session, setDurability } from "./connection.ts";
import { reach, warnOfDurability } from "./start.ts";
import type { Event, ThreadData } from "./thread-protocol.ts";

/** Writes what is no record: units of any length, one after the other. */
export class Writer {
  readonly #data: ThreadData;
  readonly #tell: (event: Event) => void;
  readonly #session: Session;

  constructor(data: ThreadData, tell: (event: Event) => void) {
    this.#data = data;
    this.#tell = tell;
    this.#session = new Session(data, async (client) => {
      if (data.durability === "full") await setDurability(client, "full");
    });
  }

  /** Reaches the server, and prepares the database. @throws StartError */
  async open<T>(prepare: (client: Client) => Promise<T>): Promise<T> {
    await reach(this.#session, this.#data, (line) => this.#tell({ line }));
    if (this.#data.durability === "full")
      await this.#session.run((client) => warnOfDurability(client, (line) => this.#tell({ line })));
    return this.#session.run(prepare);
  }

  run<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return this.#session.run(act);
  }

  /** What is under way fails. */
  giveUp(): void {
    this.#session.giveUp();
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
