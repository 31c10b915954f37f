import type { Database } from "better-sqlite3";
import { continueAfter } from "../../../shared/id.ts";
import { addMoved, type Moved } from "../execution-key.ts";

/** Learns from a store whose key is not made from its id. */
export function learnMoved(connection: Database): void {
  addMoved(connection.prepare("select id, key from execution_moved").all() as Moved[]);
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
