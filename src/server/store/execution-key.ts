import type { Database } from "better-sqlite3";
import { continueAfter, keyOf } from "../../shared/id.ts";

/** Executions have an integer key, which is made from their id; see lib/id.ts. */

/**
 * The few whose id cannot be made into a key, or into the same as another one's: rows of a release
 * that told its executions apart by the whole id. Ids are made up once, so all stores share it.
 */
const moved = new Map<string, number>();

/** Null where no execution can have this id; another execution may have the same key. */
export function toKey(id: string): number | null {
  return (moved.size === 0 ? undefined : moved.get(id)) ?? keyOf(id);
}

/** @throws Error where it is no id of an execution */
export function requireKey(id: string): number {
  const key = toKey(id);
  if (key === null) throw new Error(`Cannot write an execution with the id "${id}"`);
  return key;
}

/** Learns from a store whose key is not made from its id. */
export function learnMoved(connection: Database): void {
  const rows = connection.prepare("select id, key from execution_moved").all();
  for (const { id, key } of rows as { id: string; key: number }[]) moved.set(id, key);
}

/**
 * Learns from a store which keys are taken.
 *
 * @returns forgets that there is this store
 */
export function learnKeys(connection: Database): () => void {
  learnMoved(connection);
  const largest = connection.prepare("select max(key) from execution").pluck();
  const largestCount = connection
    .prepare("select max(key & 4095) from execution where key between ? and ?")
    .pluck();
  return continueAfter(
    (largest.get() as number | null) ?? Number.NEGATIVE_INFINITY,
    (from, to) => (largestCount.get(from, to) as number | null) ?? -1,
  );
}
