import type { Socket } from "node:net";
import pg from "pg";
import { isLost } from "./error.ts";
import type { ThreadData } from "./thread-protocol.ts";

/** How the thread connects, and what values are like on both sides. */

/** Of 64-bit numbers, and of sums and averages: all are exact as numbers here. */
const [INT8, NUMERIC, BYTEA] = [20, 1700, 17];

const TYPES: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === INT8 || oid === NUMERIC) return Number;
    // The only bytes in the tables are texts that may hold U+0000.
    if (oid === BYTEA) return (value: string) => Buffer.from(value.slice(2), "hex").toString();
    return pg.types.getTypeParser(oid, format);
  },
};

/** Longest wait for a connection, and then for what it needs before it is used, in milliseconds. */
const [CONNECT_MS, PREPARE_MS] = [5000, 10_000];
/**
 * Longest wait for an answer to what is usually answered at once, in milliseconds: a network that
 * swallows what is sent tells nobody.
 */
export const ANSWER_MS = 5000;

/** Bytes that a slow network takes in a millisecond: one that is slower is as one that is away. */
const SLOWEST = 256;

/** How much longer an answer may take where so much is sent before it, in milliseconds. */
export function sendingMs(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + length, 0) / SLOWEST;
}

/** How many bytes a parameter is, where it may be many. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  return value instanceof Uint8Array ? value.length : 0;
}

/** A query with a time of its own for its answer. */
export interface TimedQuery extends pg.QueryConfig {
  /** In milliseconds. */
  readonly query_timeout: number;
}

/**
 * The server gives up what nobody waits for any more, and lets go of what it has locked: it would
 * wait on for what others have locked, and keep its connection, one more at each try.
 */
export const GIVEN_UP_MS = ANSWER_MS - 500;

/** Whoever else keeps a lock is waited for so long: what is answered at once is, and a stop ends. */
export const LOCK_LIMIT = `lock_timeout = ${GIVEN_UP_MS}`;

/** The server notices within half a minute that this machine is gone. */
const toKeepalive = (set: "set" | "set local") => `${set} tcp_keepalives_idle = 10;
  ${set} tcp_keepalives_interval = 5;
  ${set} tcp_keepalives_count = 4`;

/**
 * The server ends a transaction in which it has heard nothing for so long, with all its locks: its
 * node was cut off within it, or stands still, and the others would wait for ever.
 */
const IDLE = `set idle_in_transaction_session_timeout = ${2 * ANSWER_MS}; ${toKeepalive("set")}`;

/**
 * Whatever the database or the user is set to: who has waited for a lock sees what was done under it,
 * and bytes come as TYPES and copy-text.ts read them.
 */
const SETTINGS = "set default_transaction_isolation = 'read committed'; set bytea_output = hex";

/** Where to connect, and under which name. */
export type Address = Pick<ThreadData, "url" | "name">;

export function toClientConfig({ url, name }: Address): pg.ClientConfig {
  return {
    connectionString: toDriverUrl(url),
    types: TYPES,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/**
 * A URL that names what the driver does: with `require`, `prefer` and `verify-ca` it checks the
 * server as with `verify-full`, unless told to be like libpq, and warns of it in lines of its own.
 */
export function toDriverUrl(url: string): string {
  const parsed = new URL(url);
  const { searchParams } = parsed;
  const isChecked = ["require", "prefer", "verify-ca"].includes(searchParams.get("sslmode") ?? "");
  if (!isChecked || searchParams.get("uselibpqcompat") === "true") return url;
  searchParams.set("sslmode", "verify-full");
  return parsed.href;
}

/** Where the database is, without who opens it; for messages. */
export function describePlace(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = hostname || searchParams.get("host") || "localhost";
  return `database "${decodeURIComponent(pathname.slice(1))}" at ${host}:${port || 5432}`;
}

/** PostgreSQL's texts hold no U+0000; it becomes U+FFFD. */
export function toValue(value: unknown): unknown {
  if (typeof value !== "string" || !value.includes("\0")) return value;
  return value.replaceAll("\0", "\u{fffd}");
}

const READ_ONLY =
  "The server takes no writes: it is a standby, or default_transaction_read_only is on";

/** @throws {Error} where it is a server that takes no writes: one that was demoted */
export async function requireWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ state: string }>(
    "select current_setting('transaction_read_only') as state",
  );
  if (rows[0]?.state !== "on") return;
  throw Object.assign(new Error(READ_ONLY), { code: "25006" });
}

/** What each connection needs before it is used. @throws {Error} as requireWritable */
export async function prepareClient(client: pg.ClientBase): Promise<void> {
  await requireWritable(client);
  await client.query(SETTINGS);
}

/**
 * Has commits on disk, or wait for what the server says beyond that, as DURABILITY says: a server,
 * a database or a user may be set to tell of them before.
 */
export async function setDurability(
  client: pg.ClientBase,
  durability: ThreadData["durability"],
): Promise<void> {
  if (durability === "normal") await client.query("set synchronous_commit = off");
  else
    await client.query(`select set_config('synchronous_commit', 'on', false)
      where current_setting('synchronous_commit') = 'off'`);
}

/**
 * One connection, made again where it was lost. What it runs is the only thing that it runs: its
 * callers wait for each other.
 */
export class Session {
  readonly #prepare: (client: pg.Client) => Promise<void>;
  readonly #config: pg.ClientConfig;
  readonly #isLimited: boolean;
  #client: pg.Client | null = null;
  /** The newest, though it may not be connected yet, or any more. */
  #latest: pg.Client | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /**
   * @param prepare what a new connection needs before it is used
   * @param isLimited whether a connection without an answer for 5 seconds is given up; or it is
   *   waited for
   */
  constructor(data: Address, prepare: (client: pg.Client) => Promise<void>, isLimited = false) {
    this.#isLimited = isLimited;
    this.#config = {
      ...toClientConfig(data),
      ...(isLimited ? { query_timeout: ANSWER_MS } : {}),
    };
    this.#prepare = prepare;
  }

  get isConnected(): boolean {
    return this.#client !== null;
  }

  /** @throws {Error} of PostgreSQL or of the connection */
  run<T>(act: (client: pg.Client) => Promise<T>): Promise<T> {
    const result = this.#turn.then(async () => act(await this.#connect()));
    this.#turn = result.catch((error: unknown) => {
      if (isLost(error)) this.giveUp();
    });
    return result;
  }

  /** Closes the connection at once: what runs on it fails. */
  giveUp(): void {
    // The driver's own end waits for an answer.
    this.#latest?.connection.stream.destroy();
    this.#client = null;
  }

  async close(): Promise<void> {
    await this.#turn;
    this.#isClosed = true;
    if (this.#client !== null) await endClient(this.#client);
    this.#client = null;
  }

  async #connect(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client;
    if (this.#isClosed) throw Object.assign(new Error("The store is closed"), { code: "57P01" });
    const client = new pg.Client(this.#config);
    this.#latest = client;
    const forget = (): void => {
      if (this.#client === client) this.#client = null;
    };
    client.on("error", forget);
    client.on("end", forget);
    try {
      await client.connect();
      await within(PREPARE_MS, client, async () => {
        await prepareClient(client);
        await client.query(IDLE);
        if (this.#isLimited) await client.query(`set statement_timeout = ${GIVEN_UP_MS}`);
        await this.#prepare(client);
      });
      return (this.#client = client);
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
  }
}

/** A connection that is not ended after so long is closed at once, in milliseconds. */
const END_MS = 2000;

/** The driver's own end waits for the server, which may be out of reach. */
export async function endClient(client: pg.Client): Promise<void> {
  const late = setTimeout(() => client.connection.stream.destroy(), END_MS);
  await client.end().catch(() => {});
  clearTimeout(late);
}

/** Closes the connection where nothing arrives for 5 seconds: this fails then. */
export async function unlessSilent<T>(client: pg.ClientBase, act: () => Promise<T>): Promise<T> {
  const stream = (client as pg.Client).connection.stream as Socket;
  let arrived = stream.bytesRead;
  const timer = setInterval(() => {
    if (stream.bytesRead === arrived) stream.destroy();
    arrived = stream.bytesRead;
  }, ANSWER_MS);
  return act().finally(() => clearInterval(timer));
}

/** Closes the connection where this takes longer: it fails then. */
async function within(ms: number, client: pg.Client, act: () => Promise<void>): Promise<void> {
  const late = setTimeout(() => client.connection.stream.destroy(), ms);
  await act().finally(() => clearTimeout(late));
}

/** Of a transaction that takes long: the server ends it where this machine is gone, and not before. */
export const UNLIMITED = `${toKeepalive("set local")};
  set local idle_in_transaction_session_timeout = 0;
  set local statement_timeout = 0;
  set local lock_timeout = 0`;

/** An error that tells itself by a kind of the store's. */
export class UnmetError extends Error {
  readonly kind = "expected";
  readonly code: string;

  constructor(code: string) {
    super(`No row was changed: ${code}`);
    this.code = code;
  }
}

/** Sending that takes less is within the limits of any statement, in milliseconds. */
const SHORT_MS = ANSWER_MS / 2;

/** Whether so much is sent that it has to be in a transaction, whose limits are its own. */
export function isLong(sending: number): boolean {
  return sending > SHORT_MS;
}

/** A transaction is idle until the last byte of a statement has come, where nothing came before. */
export function toIdleLimit(sending: number): string {
  return `set local idle_in_transaction_session_timeout = ${2 * ANSWER_MS + Math.ceil(sending)}`;
}

/**
 * The same, for sessions that are limited: the server counts from the first byte of a statement, but
 * cancels none before the last. From PostgreSQL 17 on it ends who stands still in between.
 */
export function toLimits(sending: number): string {
  const more = Math.ceil(sending);
  return `set local statement_timeout = ${GIVEN_UP_MS + more}; ${toIdleLimit(sending)};
    select set_config('transaction_timeout', '${3 * ANSWER_MS + more}', true)
      from pg_settings where name = 'transaction_timeout'`;
}

/**
 * Runs this in one transaction.
 *
 * @param limits statements that set its own, empty for those of the session
 * @throws what it throws, after the rollback
 */
export async function transact<T>(
  client: pg.Client,
  act: () => Promise<T>,
  limits = "",
): Promise<T> {
  await client.query(`begin; ${limits}`);
  try {
    const result = await act();
    await client.query("commit");
    return result;
  } catch (error) {
    // Of a connection that is gone there is nothing to roll back.
    if (!isLost(error)) await client.query("rollback").catch(() => {});
    else await endClient(client);
    throw error;
  }
}
