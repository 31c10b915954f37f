import { setTimeout as wait } from "node:timers/promises";
import { Kysely, type CompiledQuery, type DatabaseConnection, type Driver } from "kysely";
import type { Client } from "pg";
import { StartError } from "../../../shared/errors.ts";
import { apply, listDue, openProgress, refuseNewer } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { toDialect } from "./compiler.ts";
import {
  ANSWER_MS,
  describePlace,
  LOCK_LIMIT,
  transact,
  type Session,
  type TimedQuery,
} from "./connection.ts";
import { isDeadlock, isDenied, isLocked, toUnitError } from "./error.ts";
import { CLOCK, NODES_LOCK, tryNodesLock } from "./locks.ts";
import type { Opened, ThreadData } from "./thread-protocol.ts";

/** What a start looks at before anything else uses the database. */

const [PATIENCE_MS, TELL_MS, RETRY_MS] = [30_000, 5000, 500];
const OLDEST = 150_000;

/**
 * Tries for 30 seconds to reach the server.
 *
 * @throws StartError where it cannot be reached, or is none that can be used
 */
export async function reach(
  session: Session,
  { url }: Pick<ThreadData, "url">,
  tell: (line: string) => void,
): Promise<void> {
  const place = describePlace(url);
  const until = performance.now() + PATIENCE_MS;
  for (let toldAt = performance.now(); ;) {
    const error = await session.run(requireUsable).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (error === null) return;
    if (error instanceof StartError) throw error;
    const { kind, message, code } = toUnitError(error);
    if (kind !== "unavailable" || code === "25006" || isDenied(error))
      throw new StartError(`Cannot open the ${place}: ${message}. ${adviceFor(code)}`, 78);
    if (performance.now() >= until)
      throw new StartError(`Cannot reach the ${place} within 30 s: ${message}`);
    if (performance.now() - toldAt >= TELL_MS) {
      toldAt = performance.now();
      tell(`Cannot reach the ${place} yet: ${message}. It is tried again`);
    }
    await wait(RETRY_MS);
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  "28P01": "Look at the user and the password in DATABASE_URL",
  "28000": "Look at the user in DATABASE_URL, and at pg_hba.conf of the server",
  "3D000": "Create it: createdb --encoding UTF8 NAME",
  "25006": "Name the primary in DATABASE_URL",
};

function adviceFor(code: string): string {
  return ADVICE[code] ?? "Look at DATABASE_URL";
}

const USED = `select current_setting('server_version_num')::integer as version,
  current_setting('fsync') as fsync, current_setting('server_encoding') as encoding`;

/** @throws StartError */
async function requireUsable(client: Client): Promise<void> {
  const asked: TimedQuery = { text: USED, query_timeout: ANSWER_MS };
  const { rows } = await client.query<{ version: number; fsync: string; encoding: string }>(asked);
  const { version = 0, fsync, encoding } = rows[0] ?? {};
  if (version < OLDEST)
    throw new StartError(
      `Found PostgreSQL ${Math.floor(version / 10_000)}, expected 15 or later`,
      78,
    );
  if (fsync === "off")
    throw new StartError(
      "Found fsync = off at PostgreSQL, expected on: a crash of the server would lose what was " +
        "acknowledged, or all of it",
      78,
    );
  if (encoding !== "UTF8")
    throw new StartError(`Found a database with the encoding ${encoding}, expected UTF8`, 78);
}

/** Tells of settings with which the server would acknowledge, or keep, less than DURABILITY promises. */
export async function warnOfDurability(
  client: Client,
  tell: (line: string) => void,
): Promise<void> {
  // What a new connection has, whatever this one has set.
  const { rows } = await client.query<{ commits: string; pages: string }>(
    `select (select reset_val from pg_settings where name = 'synchronous_commit') as commits,
      current_setting('full_page_writes') as pages`,
  );
  if (rows[0]?.commits === "off")
    tell(
      "Found synchronous_commit = off at PostgreSQL: it is on for what this service writes, " +
        "because DURABILITY is full",
    );
  if (rows[0]?.pages === "off")
    tell(
      "Found full_page_writes = off at PostgreSQL: unless its file system writes whole pages, a " +
        "crash of the machine can damage the database",
    );
}

/**
 * Brings the tables up to this version, one node at a time.
 *
 * @param isBeside who is no node changes no table of one that runs: its release may be the older one
 * @throws StartError
 */
export async function prepareTables(
  client: Client,
  tell: (line: string) => void,
  isBeside = false,
): Promise<Pick<Opened, "moved">> {
  await transact(client, () => bringUpToDate(client, tell, isBeside));
  return { moved: await openTables(client).selectFrom("execution_moved").selectAll().execute() };
}

/**
 * In the transaction that the connection is in: until it ends, no other node starts.
 *
 * @throws StartError
 */
export async function bringUpToDate(
  client: Client,
  tell: (line: string) => void,
  isBeside = false,
): Promise<void> {
  // Behind a pooler those of another client's statements may still be set.
  await client.query("set local statement_timeout = 0; set local lock_timeout = 0");
  if (!(await tryNodesLock(client))) {
    tell("Another service starts on the database, or a move fills it: waiting for it");
    await client.query(NODES_LOCK);
  }
  // No other node starts, or looks for lost ones, while this one waits.
  await client.query(`set local ${LOCK_LIMIT}`);
  const applied = await readApplied(client);
  refuseNewer(applied);
  const due = listDue(applied, true);
  if (due.length === 0) return;
  if (applied.length > 0 && isBeside) await refuseServed(client);
  if (applied.length > 0) tell("The database is brought up to date");
  await client.query("set local lock_timeout = 0");
  await apply(openTables(client), due, openProgress(tell));
}

const TRIES = 20;

/**
 * Tries again what a start does with the tables. Of a node that goes on meanwhile, a unit may have one
 * table and want another that is changed already; others may keep a lock, for up to 30 seconds.
 *
 * @throws StartError where they keep it longer
 */
export async function untilFree<T>(
  { url }: Pick<ThreadData, "url">,
  tell: (line: string) => void,
  act: () => Promise<T>,
): Promise<T> {
  const lock = `a lock on a table of the ${describePlace(url)}`;
  const until = performance.now() + PATIENCE_MS;
  let [left, isTold] = [TRIES, false];
  for (;;)
    try {
      return await act();
    } catch (error) {
      if (isDeadlock(error) && (left -= 1) >= 0) continue;
      if (!isLocked(error)) throw error;
      if (performance.now() >= until)
        throw new StartError(`Another client of the server keeps ${lock}: see pg_locks there`);
      if (!isTold) tell(`Another client of the server keeps ${lock}: waiting for it`);
      isTold = true;
      await wait(RETRY_MS);
    }
}

/** @throws StartError */
async function refuseServed(client: Client): Promise<void> {
  const node = await findLiving(client);
  if (node === null) return;
  throw new StartError(
    `The database is that of an earlier version, and its node "${node}" runs. Restart the service ` +
      "with this version first: it brings the database up to date",
  );
}

/** The name of a node that runs on the database; null without any. */
export async function findLiving(client: Client): Promise<string | null> {
  const { rows } = await client.query<{ name: string }>(
    `select name from node where lease_until > ${CLOCK} limit 1`,
  );
  return rows[0]?.name ?? null;
}

function openTables(client: Client): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: toDialect(() => new ClientDriver(client)) });
}

async function readApplied(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = current_schema()",
  );
  if (rows.length === 0) return [];
  if (!rows.some(({ name }) => name === "migration"))
    throw new StartError("The database has tables, but none of Flowhook. Name an empty one", 78);
  const found = await client.query<{ name: string }>("select name from migration");
  return found.rows.map(({ name }) => name);
}

/** Kysely over one connection that is in a transaction already. */
class ClientDriver implements Driver {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return {
      executeQuery: async <R>({ sql, parameters }: CompiledQuery) => {
        const { rows } = await this.#client.query(sql, [...parameters]);
        return { rows: rows as R[] };
      },
      streamQuery() {
        throw new Error("Cannot stream from the store");
      },
    };
  }

  async beginTransaction(): Promise<void> {}

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}
