import pg from "pg";
import type { Query } from "../read-queue.ts";
import type { Row } from "../statement.ts";
import {
  ANSWER_MS,
  LOCK_LIMIT,
  prepareClient,
  toClientConfig,
  toValue,
  unlessSilent,
  type TimedQuery,
} from "./connection.ts";
import type { NamedQuery, ThreadData } from "./thread-protocol.ts";

/** What is not for reads: one to hold the database, and three to record. */
const OTHERS = 4;
/** With fewer in all, lists have one. */
const [MANY, MOST_LISTS] = [8, 2];

/** SQLSTATE of a named statement whose table has got columns since: a newer program runs beside. */
const PLAN_CHANGED = "0A000";
/** SQLSTATE of a statement that was given up. */
const CANCELED = "57014";

/** A connection that was idle for longer is asked first, and has so long for its answer. */
const [IDLE_MS, ASK_MS] = [1000, 1000];
const ASKED: TimedQuery = { text: "select 1", query_timeout: ASK_MS };

/** A list that is read, or waits for a connection. */
interface Listing {
  /** The server's number of the process that reads it; null: none does yet. */
  processId: number | null;
  isStopped: boolean;
}

/** Reads, on connections of their own. */
export class Reads {
  readonly #rows: pg.Pool;
  readonly #lists: pg.Pool;
  /** By the ids of their requests. */
  readonly #listings = new Map<number, Listing>();
  /** When each was read from last, as performance.now(). */
  readonly #usedAt = new WeakMap<pg.PoolClient, number>();
  /** One that was read from last before that is dead, as another one is. */
  #deadBefore = 0;

  constructor(data: ThreadData) {
    // A standby that is not promoted yet would answer, with what it had then, for as long as it is read.
    const config: pg.PoolConfig = {
      ...toClientConfig(data),
      idleTimeoutMillis: 60_000,
      verify: (client, done) => void prepareClient(client).then(() => done(), done),
    };
    const lists = data.connections < MANY ? 1 : MOST_LISTS;
    const max = data.connections - OTHERS - lists;
    // Set at the start of a connection, it would be one more thing that a pooler has to know.
    const prepareRows = (client: pg.PoolClient): Promise<unknown> =>
      unlessSilent(client, () =>
        prepareClient(client).then(() => client.query(`set ${LOCK_LIMIT}`)),
      );
    this.#rows = new pg.Pool({
      ...config,
      max,
      verify: (client, done) => void prepareRows(client).then(() => done(), done),
    });
    const limits = { statement_timeout: data.listMs, query_timeout: data.listMs + ANSWER_MS };
    this.#lists = new pg.Pool({ ...config, ...limits, max: lists });
    for (const pool of [this.#rows, this.#lists]) {
      // One that ends while nobody uses it is made again at the next use; in use, its query tells.
      pool.on("error", () => {});
      pool.on("connect", (client) => client.on("error", () => {}));
    }
  }

  async query({ sql, parameters, name }: NamedQuery): Promise<Row[]> {
    const values = parameters.map(toValue);
    const query = name === null ? { text: sql, values } : { name, text: sql, values };
    for (let left = this.#rows.options.max; ; left -= 1)
      try {
        return await this.#queryRows(query);
      } catch (error) {
        // The pool has let go of that connection; each of them may have such a plan.
        if (left === 0 || (error as { code?: unknown }).code !== PLAN_CHANGED) throw error;
      }
  }

  /** For as long as something of it arrives: what is large may take its time. */
  async #queryRows(query: pg.QueryConfig): Promise<Row[]> {
    const client = await this.#take(this.#rows);
    try {
      const { rows } = await unlessSilent(client, () => client.query<Row>(query));
      this.#giveBack(client);
      return rows;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  async list(id: number, query: Query): Promise<Row[]> {
    const listing: Listing = { processId: null, isStopped: false };
    this.#listings.set(id, listing);
    try {
      return await this.#readList(listing, query);
    } catch (error) {
      throw toListError(error);
    } finally {
      this.#listings.delete(id);
    }
  }

  async #readList(listing: Listing, { sql, parameters }: Query): Promise<Row[]> {
    const client = await this.#take(this.#lists);
    if (listing.isStopped) {
      this.#giveBack(client);
      return [];
    }
    listing.processId = (client as unknown as { processID: number }).processID;
    try {
      const { rows } = await client.query<Row>(sql, parameters.map(toValue));
      // What was to stop it may come late: it would stop whatever is read there next.
      if (listing.isStopped) client.release(true);
      else this.#giveBack(client);
      return rows;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  /** A connection that has died in silence costs no reader more than a second. */
  async #take(pool: pg.Pool): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect();
      const usedAt = this.#usedAt.get(client);
      if (usedAt === undefined || performance.now() - usedAt < IDLE_MS) return client;
      const isDead = usedAt < this.#deadBefore;
      if (!isDead && (await client.query(ASKED).catch(() => null)) !== null) return client;
      if (!isDead) this.#deadBefore = performance.now() - IDLE_MS;
      client.release(true);
    }
  }

  #giveBack(client: pg.PoolClient): void {
    this.#usedAt.set(client, performance.now());
    client.release();
  }

  stop(id: number): void {
    const listing = this.#listings.get(id);
    if (listing === undefined) return;
    listing.isStopped = true;
    const { processId } = listing;
    if (processId !== null)
      this.#rows.query("select pg_cancel_backend($1)", [processId]).catch(() => {});
  }

  async close(): Promise<void> {
    await Promise.all([this.#rows.end(), this.#lists.end()]);
  }
}

function toListError(error: unknown): unknown {
  if ((error as { code?: unknown }).code !== CANCELED) return error;
  return Object.assign(error as Error, { kind: "too_long" });
}
