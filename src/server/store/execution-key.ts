import { keyOf } from "../../shared/id.ts";

/** Executions have an integer key, which is made from their id; see shared/id.ts. */

/** An execution whose key is not the one made from its id. */
export interface Moved {
  readonly id: string;
  readonly key: number;
}

/**
 * The few whose id cannot be made into a key, or into the same as another one's: rows of a release
 * that told its executions apart by the whole id. Ids are made up once, so all stores share it.
 */
const moved = new Map<string, number>();

/** Of a store that was opened. */
export function addMoved(rows: readonly Moved[]): void {
  for (const { id, key } of rows) moved.set(id, key);
}

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
