import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import type { Database, Statement as Prepared } from "better-sqlite3";
import { openConnection } from "./sqlite.ts";
import type {
  CommitRequest,
  MaintainRequest,
  ReadAnswer,
  ReadRequest,
  StoreSize,
  StoreThreadData,
  UnitFault,
  UnitResult,
} from "./thread-protocol.ts";

/** Entry of the store's own threads: an fsync or a long list never stops the HTTP loop. */

function writeCommits(db: Database, port: MessagePort): void {
  const texts = new Map<number, string>();
  const prepared = new Map<number, Prepared>();
  // At its first use: while the file cannot be read, preparing fails as well.
  const find = (number: number): Prepared => {
    let statement = prepared.get(number);
    if (statement === undefined)
      prepared.set(number, (statement = db.prepare(texts.get(number) as string)));
    return statement;
  };
  port.on("message", (request: CommitRequest | MaintainRequest) => {
    if ("maintain" in request) return port.postMessage(attempt(() => maintain(db)));
    for (const [number, sql] of request.texts) texts.set(number, sql);
    port.postMessage(commit(db, request, find));
  });
}

/** Pages given back at once: a few milliseconds, during which commits wait. */
const VACUUM_PAGES = 500;

function maintain(db: Database): StoreSize {
  db.pragma(`incremental_vacuum(${VACUUM_PAGES})`);
  // Passive: waits for nobody. Without readers it lets the WAL start again from its beginning.
  db.pragma("wal_checkpoint(PASSIVE)");
  const page = db.pragma("page_size", { simple: true }) as number;
  const free = db.pragma("freelist_count", { simple: true }) as number;
  const all = db.pragma("page_count", { simple: true }) as number;
  return { used: (all - free) * page, free: free * page };
}

/**
 * One transaction for all units. Where one of them fails, none is kept and each is tried in a
 * transaction of its own, so that a fault costs nobody but its unit.
 */
function commit(
  db: Database,
  request: CommitRequest,
  find: (number: number) => Prepared,
): readonly UnitResult[] {
  const run = (unit: CommitRequest["units"][number]): readonly number[] =>
    unit.map(([number, values, expect]) => {
      const { changes } = find(number).run(...values);
      if (changes === 0 && expect !== undefined) throw new Unmet(expect);
      return changes;
    });
  const together = db.transaction(() => request.units.map(run));
  try {
    return together.immediate();
  } catch (fault) {
    const found = toFault(fault);
    // Locked by another process: each would wait for it again, one after the other.
    if (request.units.length === 1 || /^SQLITE_(BUSY|LOCKED)/.test(found.code))
      return request.units.map(() => found);
    const alone = db.transaction(run);
    return request.units.map((unit) => attempt(() => alone.immediate(unit)));
  }
}

/** A statement that had to change a row changed none. */
class Unmet extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`No row was changed: ${code}`);
    this.code = code;
  }
}

function attempt<T>(act: () => T): T | UnitFault {
  try {
    return act();
  } catch (fault) {
    return toFault(fault);
  }
}

function toFault(fault: unknown): UnitFault {
  const { code, message } = fault as { code?: unknown; message?: unknown };
  return {
    code: typeof code === "string" ? code : "SQLITE_ERROR",
    message: typeof message === "string" ? message : String(fault),
  };
}

function answerReads(db: Database, port: MessagePort): void {
  port.on("message", (request: ReadRequest) => {
    port.postMessage(read(db, request));
  });
}

function read(db: Database, { id, sql, parameters }: ReadRequest): ReadAnswer {
  const rows = attempt(() => db.prepare(sql).all(...parameters) as Record<string, unknown>[]);
  return Array.isArray(rows) ? { id, rows } : { id, fault: rows };
}

const { role, file } = workerData as StoreThreadData;
const connection = openConnection(file);
const port = parentPort as MessagePort;
if (role === "writer") writeCommits(connection, port);
else answerReads(connection, port);
port.once("close", () => connection.close());
