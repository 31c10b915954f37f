import type { Selectable } from "kysely";
import type { NodeTable } from "./shared-schema.ts";
import type { Store } from "./store.ts";

export type NodeRow = Omit<Selectable<NodeTable>, "state"> & { readonly state: NodeState };

/** `lost`: its lease is over, and the others are about to give it up. */
type NodeState = NodeTable["state"] | "lost";

/** Reads of the table `node`, which PostgreSQL alone has; postgres/membership.ts writes it. */

/** By name, the older one first. @param at by the database's clock */
export async function listNodes(store: Store, at: number): Promise<NodeRow[]> {
  const query = store.rows.selectFrom("node").selectAll().orderBy("name").orderBy("started_at");
  const rows = await query.execute();
  return rows.map((row) => ({ ...row, state: row.lease_until <= at ? "lost" : row.state }));
}

/** How many there are in each state. */
export async function countNodes(store: Store, at: number): Promise<Record<NodeState, number>> {
  const counts = { ready: 0, draining: 0, lost: 0 };
  for (const { state } of await listNodes(store, at)) counts[state] += 1;
  return counts;
}

/** Executions of all nodes, and of lost ones, that wait. */
export async function countWaiting(store: Store): Promise<number> {
  const { count } = await store.rows
    .selectFrom("execution")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("status", "=", "PENDING")
    .where("ended_at", "is", null)
    .executeTakeFirstOrThrow();
  return count;
}
