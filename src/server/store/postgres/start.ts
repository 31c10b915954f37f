import { setTimeout as wait } from "node:timers/promises";
import { Kysely, type CompiledQuery, type DatabaseConnection, type Driver } from "kysely";
import type { Client } from "pg";
import { StartError } from "../../../shared/errors.ts";
import { apply, listDue, openProgress, refuseNewer } from "../migrate.ts";
import type { Schema } from "../schema.ts";
import { toDialect } from "./compiler.ts";
import { describePlace, type Session } from "./connection.ts";
import { toUnitError } from "./error.ts";
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
  { url }: ThreadData,
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
    if (kind !== "unavailable" || code === "25006")
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

/** @throws StartError */
async function requireUsable(client: Client): Promise<void> {
  const { rows } = await client.query<{ version: number; fsync: string; encoding: string }>(
    `select current_setting('server_version_num')::integer as version,
      current_setting('fsync') as fsync, current_setting('server_encoding') as encoding`,
  );
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

/** "flowhook" as a number: what whoever serves a database holds as long as it is connected. */
const LOCK = "7381204592834211435";
/** A service that was killed leaves its session for a moment. */
const LOCK_PATIENCE_MS = 5000;

/** Takes the database for one service. @throws StartError where another one has it */
export async function takeDatabase(client: Client, { url }: ThreadData): Promise<void> {
  for (const until = performance.now() + LOCK_PATIENCE_MS; ; await wait(RETRY_MS / 2)) {
    if (await tryLock(client)) return;
    if (performance.now() < until) continue;
    throw new StartError(
      `Another service uses the ${describePlace(url)}${await describeHolder(client)}. A database ` +
        `serves one service: stop that one, or name another database with DATABASE_URL. One whose ` +
        `machine is gone holds it for half a minute`,
      78,
    );
  }
}

export async function tryLock(client: Client): Promise<boolean> {
  // The server notices within half a minute that this machine is gone.
  await client.query(
    "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4",
  );
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(${LOCK}) as locked`,
  );
  return rows[0]?.locked === true;
}

/** As the server's own list of sessions has it. */
async function describeHolder(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string; address: string | null }>(
    `select application_name as name, client_addr::text as address from pg_stat_activity
     where pid in (select pid from pg_locks where locktype = 'advisory' and granted
       and ((classid::bigint << 32) | objid::bigint) = ${LOCK}
       and database = (select oid from pg_database where datname = current_database()))`,
  );
  const [row] = rows;
  if (row === undefined) return "";
  return row.address === null ? ` ("${row.name}")` : ` ("${row.name}", from ${row.address})`;
}

/** Brings the tables up to this version, and tells what they hold. @throws StartError */
export async function prepareTables(client: Client, tell: (line: string) => void): Promise<Opened> {
  const db = new Kysely<Schema>({ dialect: toDialect(() => new ClientDriver(client)) });
  const applied = await readApplied(client);
  refuseNewer(applied);
  const due = listDue(applied, true);
  if (applied.length > 0 && due.length > 0) tell("The database is brought up to date");
  if (due.length > 0) await apply(db, due, openProgress(tell));
  const moved = await db.selectFrom("execution_moved").selectAll().execute();
  const { largest } = await db
    .selectFrom("execution")
    .select((e) => e.fn.max<number | null>("key").as("largest"))
    .executeTakeFirstOrThrow();
  return { moved, largestKey: largest };
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

/** Kysely over one connection. */
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

  async beginTransaction(): Promise<void> {
    await this.#client.query("begin");
  }

  async commitTransaction(): Promise<void> {
    await this.#client.query("commit");
  }

  async rollbackTransaction(): Promise<void> {
    await this.#client.query("rollback");
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}
