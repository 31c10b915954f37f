import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { SharedTask } from "../shared-store.ts";
import { ANSWER_MS, endClient, requireWritable, toClientConfig, UNLIMITED } from "./connection.ts";
import type { ThreadData } from "./thread-protocol.ts";

/** The first half of the numbers of tasks' locks, so that they are nobody else's: "flow". */
const LOCKS = 0x66_6c_6f_77;
const NUMBERS: Readonly<Record<SharedTask, number>> = { firstStart: 1, retention: 2 };

/** How often it is asked whether another service has ended its task, in milliseconds. */
const ASK_MS = 1000;

/**
 * Tasks that this service has, each by a lock of a transaction of its own, which does nothing else:
 * it ends with its connection, and holds back nothing that the server cleans up.
 */
export class Holds {
  readonly #data: ThreadData;
  readonly #clients = new Map<number, pg.Client>();

  constructor(data: ThreadData) {
    this.#data = data;
  }

  /** @returns whether it is held now, until `release` is given the same id */
  async take(id: number, task: SharedTask, isWaited: boolean): Promise<boolean> {
    const config = toClientConfig(this.#data);
    const client = new pg.Client({ ...config, query_timeout: ANSWER_MS });
    client.on("error", () => this.#clients.delete(id));
    try {
      await client.connect();
      this.#clients.set(id, client);
      // Locks of a standby are its own.
      await requireWritable(client);
      await client.query(`begin; ${UNLIMITED}`);
      // Asked again, as a connection that dies in silence tells nobody who waits on it.
      for (; ; await wait(ASK_MS)) {
        if (await lock(client, NUMBERS[task])) return true;
        if (!isWaited) break;
      }
    } catch (error) {
      await this.#end(id, client);
      throw error;
    }
    await this.#end(id, client);
    return false;
  }

  async release(id: number): Promise<false> {
    const client = this.#clients.get(id);
    if (client !== undefined) await this.#end(id, client);
    return false;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients].map(([id, client]) => this.#end(id, client)));
  }

  /** The transaction ends with its connection. */
  async #end(id: number, client: pg.Client): Promise<void> {
    this.#clients.delete(id);
    await endClient(client);
  }
}

async function lock(client: pg.Client, number: number): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    "select pg_try_advisory_xact_lock($1, $2) as locked",
    [LOCKS, number],
  );
  return rows[0]?.locked === true;
}
