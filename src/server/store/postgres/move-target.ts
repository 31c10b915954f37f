import { createHash, type Hash } from "node:crypto";
import type { Client } from "pg";
import { StartError } from "../../../shared/errors.ts";
import { MOVED_TABLES, type MovedTable, type MoveSource } from "../move-source.ts";
import { describePlace, Session, setDurability, UNLIMITED, type Address } from "./connection.ts";
import { copyIn, copyOut } from "./copy.ts";
import { toLine } from "./copy-text.ts";
import { isLost, toUnitError } from "./error.ts";
import { bringUpToDate, findLiving, reach } from "./start.ts";

/** An empty database, in a transaction that nothing is seen of before its end. */
export interface MoveTarget extends AsyncDisposable {
  /**
   * Fills it with all of a store, compares each row, and commits.
   *
   * @param keyCheck tells services which data key it is; see access/key-check.ts
   * @throws StartError
   */
  fill(source: MoveSource, keyCheck: string): Promise<void>;
}

/**
 * Begins to fill a database: in whatever way that ends before its commit, the database is as it
 * was. Services that start on it meanwhile wait.
 *
 * @throws StartError where it cannot be reached, is in use, or is not empty
 */
export async function openMoveTarget(
  to: Address,
  tell: (line: string) => void,
): Promise<MoveTarget> {
  const place = describePlace(to.url);
  await using opened = new AsyncDisposableStack();
  const session = new Session(to, (client) => setDurability(client, "full"));
  opened.defer(() => session.close());
  await reach(session, to, tell);
  // This one alone: what is made anew after a loss is in no transaction.
  const client = await session.run(async (connected) => connected);
  await explain(place, async () => {
    await client.query(`begin; ${UNLIMITED}`);
    await bringUpToDate(client, tell);
    await requireEmpty(client, place);
  });
  const disposal = opened.move();
  return {
    fill: (source, keyCheck) =>
      explain(place, async () => {
        for (const table of source.tables) await fillTable({ client, source, tell }, table);
        await client.query("insert into key_check (id, hmac) values (1, $1)", [keyCheck]);
        // Until the server does it by itself, lists would be read the slow way.
        await client.query(`analyze ${list(source.tables.map(({ name }) => name))}`);
        await client.query("commit");
      }),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}

/** @throws StartError that says what became of the database */
async function explain(place: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (error instanceof StartError) throw error;
    const outcome = isLost(error)
      ? "The connection was lost: the database has all of it, or nothing. Run it again to see"
      : "Nothing was moved";
    throw new StartError(`Cannot fill the ${place}: ${toUnitError(error).message}. ${outcome}`);
  }
}

/** @throws StartError where a service runs on it, or ever did */
async function requireEmpty(client: Client, place: string): Promise<void> {
  const node = await findLiving(client);
  if (node !== null)
    throw new StartError(`The service "${node}" runs on the ${place}. Stop it first`);
  for (const name of [...MOVED_TABLES, "key_check"]) {
    const { rowCount } = await client.query(`select from "${name}" limit 1`);
    if (rowCount !== 0)
      throw new StartError(
        `The ${place} is not empty: there are rows in "${name}". It holds a store already, ` +
          `perhaps that of an earlier move. Start the service on it, or name an empty one`,
      );
  }
}

interface Filling {
  readonly client: Client;
  readonly source: MoveSource;
  readonly tell: (line: string) => void;
}

/** What PostgreSQL gives back is compared with what was sent, in the same order. */
async function fillTable({ client, source, tell }: Filling, table: MovedTable): Promise<void> {
  const { name, columns, key, lastNumber } = table;
  const [sent, found] = [createHash("sha256"), createHash("sha256")];
  const isSent = openReport(`${name}: sent`, table, tell);
  const lines = toLines(source.rows(table), await findBytes(client, table), isSent);
  const into = `"${name}" (${list(columns)})`;
  await copyIn(client, `copy ${into} from stdin`, toChunks(lines, sent));
  const isCompared = openReport(`${name}: compared`, table, tell);
  const sorted = `select ${list(columns)} from "${name}" order by ${list(key)}`;
  await copyOut(client, `copy (${sorted}) to stdout`, (line) => {
    found.update(line);
    isCompared();
  });
  if (sent.digest("hex") !== found.digest("hex"))
    throw new Error(`The rows of "${name}" are not those that were sent`);
  if (lastNumber !== null && lastNumber > 0)
    await client.query("select setval(pg_get_serial_sequence($1, $2), $3)", [
      `"${name}"`,
      key[0],
      lastNumber,
    ]);
}

/** For each column, whether it holds bytes in PostgreSQL. */
async function findBytes(client: Client, table: MovedTable): Promise<boolean[]> {
  const { rows } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
      where table_schema = current_schema() and table_name = $1 and udt_name = 'bytea'`,
    [table.name],
  );
  return table.columns.map((column) => rows.some(({ name }) => name === column));
}

function* toLines(
  rows: Iterable<readonly unknown[]>,
  areBytes: readonly boolean[],
  isSent: () => void,
): Iterable<string> {
  for (const row of rows) {
    yield toLine(row, areBytes);
    isSent();
  }
}

/** Characters sent at once, about. */
const CHUNK = 64 * 1024;

function* toChunks(lines: Iterable<string>, sent: Hash): Iterable<Buffer> {
  let text = "";
  for (const line of lines) {
    text += line;
    if (text.length < CHUNK) continue;
    yield hash(text, sent);
    text = "";
  }
  yield hash(text, sent);
}

function hash(text: string, sent: Hash): Buffer {
  const chunk = Buffer.from(text);
  sent.update(chunk);
  return chunk;
}

const TELL_MS = 2000;

/** Counts rows of a table, and tells from time to time how far it is. */
function openReport(act: string, { count }: MovedTable, tell: (line: string) => void): () => void {
  let [done, told] = [0, performance.now()];
  return () => {
    done += 1;
    if (performance.now() - told < TELL_MS) return;
    told = performance.now();
    tell(`${act} ${done} of ${count} rows`);
  };
}

function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
