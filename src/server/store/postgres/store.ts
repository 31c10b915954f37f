import { setTimeout as wait } from "node:timers/promises";
import { Kysely, type CompiledQuery } from "kysely";
import { NEVER, unlessAborted } from "../../../shared/stopping.ts";
import { addMoved } from "../execution-key.ts";
import type { ReportInterrupted } from "../interrupted.ts";
import type { Kept } from "../kept-rows.ts";
import type { Ledger } from "../ledger.ts";
import { queryOf } from "../prepared.ts";
import { openQueryDriver } from "../query-driver.ts";
import { ReadQueue, type ListReader, type Query } from "../read-queue.ts";
import { currentReading } from "../reading.ts";
import type { Schema } from "../schema.ts";
import type { SharedStore } from "../shared-store.ts";
import type { Row, Statement, Unit } from "../statement.ts";
import type { FileSizes, Store } from "../store.ts";
import { AgedRows, KEPT_MS } from "./aged-rows.ts";
import { Client } from "./client.ts";
import { StoreCompiler, toDialect } from "./compiler.ts";
import { POSTGRES_DIALECT } from "./dialect.ts";
import { PostgresLedger } from "./ledger.ts";
import { openNode } from "./node.ts";
import { RefusedCalls } from "./refused-calls.ts";
import type { NamedQuery, NodeData } from "./thread-protocol.ts";
import { Tokens } from "./tokens.ts";

export interface PostgresOptions {
  readonly url: string;
  readonly durability: "full" | "normal";
  /** DATABASE_CONNECTIONS. */
  readonly connections: number;
  /** Entry of the store's thread. */
  readonly thread: string;
  /** How the server's list of sessions names this one. */
  readonly name: string;
  readonly node: NodeData;
  /** CONNECTION_ALLOWANCE; null unless told. */
  readonly allowance?: number | null;
  /** Longest read of a list, in milliseconds. */
  readonly listMs?: number;
  /** A service may have it open too: it is no node, and nothing is recorded. */
  readonly isBeside?: boolean;
  /** Something is wrong. @param isLost nothing can be written any more */
  readonly onDamage?: (error: Error, isLost: boolean) => void;
  /** @param reason why it cannot be reached from now on, each once; null: it can again */
  readonly onAway?: (reason: string | null) => void;
  /** @param reason why no executions can be recorded from now on, once; null: they can again */
  readonly onUnrecorded?: (reason: string | null) => void;
  /** Aborted once nobody wants it any more, while it is waited for. */
  readonly stopping?: AbortSignal;
  /** Takes a line of what a start that takes long is doing. */
  readonly tell?: (line: string) => void;
  /** Of what the last start in this DATA_DIR had left running, and of what this one leaves. */
  readonly reportInterrupted?: ReportInterrupted;
}

const LIST_MS = 5000;

/**
 * Brings the tables up to date, and becomes a node of the database.
 *
 * @throws StartError
 * @throws the reason of `stopping`
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const { thread, isBeside = false, listMs = LIST_MS, onDamage = rethrow } = options;
  const { url, durability, connections, name, allowance = null, tell = () => {} } = options;
  const { reportInterrupted = () => {}, onAway = () => {}, stopping = NEVER } = options;
  const own = { url, durability, connections, name, allowance, listMs, isBeside };
  const data = { ...own, node: options.node };
  const lost = (error: Error): void => onDamage(error, true);
  const client = new Client(thread, data, { tell, away: onAway, lost });
  await using opened = new AsyncDisposableStack();
  opened.defer(() => client.close());
  const { moved, joined } = await unlessAborted(stopping, client.opened);
  addMoved(moved);
  const node = joined === null ? null : opened.use(openNode(client, options.node.name, joined));
  reportInterrupted(joined?.interrupted ?? []);
  const ledger = new PostgresLedger({
    record: (lane, records) => client.record(lane, records),
    hurry: () => client.hurry(),
    onUnrecorded: (reason) => options.onUnrecorded?.(reason),
    onDamage: (error) => onDamage(error, false),
    isLimited: allowance !== null,
  });
  // What it has written is its own until then.
  if (!isBeside) opened.defer(() => client.leave().then(reportInterrupted, () => {}));
  if (!isBeside) opened.defer(() => ledger.close());
  const settled = (): Promise<boolean> => ledger.settled();
  const { rows, lists } = openTables(client, settled);
  const find = openFinder(client);
  const kept = new AgedRows();
  const writer = openWriter(client, kept);
  const shared = openShared(client, opened);
  const disposal = opened.move();
  return {
    rows,
    lists,
    dialect: POSTGRES_DIALECT,
    find: async <Found>(statement: Statement) => (await find(statement)) as Found | undefined,
    findKept: <Found extends object>(
      table: Kept,
      key: string,
      ask: (key: string) => Statement,
    ): Promise<Readonly<Found> | undefined> =>
      kept.find(table, key, async () => (await find(ask(key))) as Found | undefined),
    commit: writer.commit,
    ledger: isBeside ? NO_LEDGER : ledger,
    node,
    settled,
    maintain: async () => ({ used: await readSize(client), free: 0, more: false }),
    counts() {
      const { batches, records } = ledger.counts();
      const units = writer.count();
      return { commits: units + batches, units: units + records };
    },
    fileSizes: () => readFileSizes(client),
    shared,
    get awaySince() {
      return client.awaySince;
    },
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}

/** @param opened closes it */
function openShared(client: Client, opened: AsyncDisposableStack): SharedStore {
  const query = (one: NamedQuery): Promise<Row[]> => client.query(one);
  const refused = opened.use(new RefusedCalls(query));
  const tokens = new Tokens(query);
  return {
    hold: (task, isWaited) => client.hold(task, isWaited),
    takeToken: (bucket) => tokens.take(bucket),
    addRefused: (call) => refused.add(call),
    listRefused: (webhook_id, limit) => refused.list(webhook_id, limit),
  };
}

function openTables(client: Client, settled: () => Promise<boolean>) {
  const queue = new ReadQueue(() => new PostgresListReader(client));
  return {
    rows: openKysely((query) => client.query({ ...toQuery(query), name: null })),
    lists: openKysely(async (query) => {
      await settled();
      return queue.read(toQuery(query), currentReading());
    }),
  };
}

/** Each unit is a transaction of its own. */
function openWriter(client: Client, kept: AgedRows) {
  let count = 0;
  return {
    count: () => count,
    async commit(unit: Unit): Promise<readonly number[]> {
      const tables = unit.flatMap(({ text }) => text.changes ?? []);
      const statements = unit.map((one) => ({ ...textOf(one), expect: one.text.expect }));
      const changes = await client.commit(statements).finally(() => {
        for (const table of tables) kept.forget(table);
      });
      count += 1;
      // What others have kept is older than this change by then.
      if (tables.length > 0 && (await hasOthers(client))) await wait(KEPT_MS);
      return changes;
    },
  };
}

/** Whether other services use the database, for all that is known: one that seems lost may be back. */
async function hasOthers(client: Client): Promise<boolean> {
  const sql = "select count(*) > 1 as found from node";
  const rows = await client.query({ sql, parameters: [], name: "others" }).catch(() => null);
  return rows === null || rows[0]?.["found"] === true;
}

function rethrow(error: Error): never {
  throw error;
}

/** Of a store that the service may have open too. */
const NO_LEDGER: Ledger = {
  next: 0,
  hasRoom: false,
  isWritable: false,
  backlog: { rows: 0, ratio: 0 },
  append() {
    throw new Error("The ledger belongs to the service");
  },
  beforeWrite() {},
  room: async () => false,
};

async function readSize(client: Client): Promise<number> {
  const sql = "select pg_database_size(current_database()) as size";
  const [row] = await client.query({ sql, parameters: [], name: "size" });
  return Number(row?.["size"] ?? 0);
}

async function readFileSizes(client: Client): Promise<FileSizes> {
  const database = await readSize(client).catch(() => null);
  return { database, wal: null, ledger: 0, free: null, disk: null };
}

function toQuery({ sql, parameters }: CompiledQuery): Query {
  return { sql, parameters };
}

/** Texts of prepared statements, by their number; each is compiled at its first use. */
const texts: string[] = [];
const compiler = new StoreCompiler();

function textOf({ text: { sql, number }, parameters }: Statement): Query {
  if (number === null) return { sql, parameters };
  texts[number] ??= compiler.compileQuery(queryOf(number), { queryId: `${number}` }).sql;
  return { sql: texts[number], parameters };
}

function openFinder(client: Client): (statement: Statement) => Promise<Row | undefined> {
  return async (statement) => {
    const { number } = statement.text;
    const name = number === null ? null : `find-${number}`;
    const [row] = await client.query({ ...textOf(statement), name });
    return row;
  };
}

class PostgresListReader implements ListReader {
  readonly isLost = false;
  readonly #client: Client;
  #id: number | null = null;

  constructor(client: Client) {
    this.#client = client;
  }

  read(query: Query): Promise<Row[]> {
    const { id, rows } = this.#client.list(query);
    this.#id = id;
    return rows.finally(() => (this.#id = null));
  }

  stop(): void {
    if (this.#id !== null) this.#client.stop(this.#id);
  }

  async close(): Promise<void> {}
}

function openKysely(run: (query: CompiledQuery) => Promise<Row[]>): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: toDialect(() => openQueryDriver(run)) });
}
