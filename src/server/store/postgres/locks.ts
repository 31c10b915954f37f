import type { Client } from "pg";

/** What nodes agree by. */

/** Milliseconds since the epoch by the clock of the database, which alone decides leases. */
export const CLOCK = "(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** Advisory locks of this database, which end with their transaction: no session holds any. */

/** "flowhook" as a number: for what one node does at a time. */
const NODES = "7381204592834211435";

/** Waits until no other node joins, migrates or puts in order. */
export const NODES_LOCK = `select pg_advisory_xact_lock(${NODES})`;

/** @returns whether no other node has it */
export async function tryNodesLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_xact_lock(${NODES}) as locked`,
  );
  return rows[0]?.locked === true;
}
