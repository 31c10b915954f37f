import { createHash } from "node:crypto";
import type { Client } from "pg";

/** What nodes agree by. */

/** Milliseconds since the epoch by the clock of the database, which alone decides leases. */
export const CLOCK = "(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** Advisory locks of this database, which end with their transaction: no session holds any. */

/** "flowhook" as a number: for what one node does at a time. */
const NODES = "7381204592834211435";

/** Waits until no other node joins, migrates or puts in order. */
export const NODES_LOCK = `select pg_advisory_xact_lock(${NODES})`;

/** A class of locks of its own, "webh" as a number, in which each webhook has one. */
const WEBHOOKS = 0x77656268;

/** Waits longer for nobody: a node that is frozen may have it. */
const WEBHOOK_MS = 250;

/** SQLSTATE of who has waited for a lock as long as it may. */
const NOT_AVAILABLE = "55P03";

/**
 * Until the end of the transaction no other node decides what these webhooks start. In one order, so
 * that no two nodes wait for each other.
 *
 * @returns whether they are locked: all or none
 */
export async function lockWebhooks(client: Client, ids: Iterable<string>): Promise<boolean> {
  const keys = [...new Set(Array.from(ids, toLockKey))].toSorted((one, other) => one - other);
  const locks = keys.map((key) => `select pg_advisory_xact_lock(${WEBHOOKS}, ${key});`).join(" ");
  try {
    await client.query(`savepoint webhooks; set local lock_timeout = ${WEBHOOK_MS}; ${locks}
      set local lock_timeout to default`);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== NOT_AVAILABLE) throw error;
    await client.query("rollback to savepoint webhooks");
    return false;
  }
}

/** Two webhooks may have the same one: then they wait for each other, and no more. */
function toLockKey(id: string): number {
  return createHash("sha256").update(id).digest().readInt32BE();
}

/** @returns whether no other node has it */
export async function tryNodesLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_xact_lock(${NODES}) as locked`,
  );
  return rows[0]?.locked === true;
}
