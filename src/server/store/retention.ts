import type { Store } from "./store.ts";
import { firstKeyOf } from "../../shared/id.ts";
import { toKey } from "./execution-key.ts";
import { toStatement } from "./prepared.ts";
import type { Statement, Unit } from "./statement.ts";

/** Statements that delete ended executions, oldest first. */

/** Whether there is any execution that was created before a time. */
export async function hasOlder(store: Store, before: number): Promise<boolean> {
  const query = store.rows.selectFrom("execution").select("key").limit(1);
  return (await query.where("key", "<", firstKeyOf(before)).execute()).length > 0;
}

/** When the newest execution or audit entry before a time was made; null where there is none. */
export async function newestBefore(store: Store, before: number): Promise<number | null> {
  const execution = await store.rows
    .selectFrom("execution")
    .select("created_at as at")
    .where("key", "<", firstKeyOf(before))
    .orderBy("key", "desc")
    .limit(1)
    .executeTakeFirst();
  const audit = await store.rows
    .selectFrom("audit")
    .select("at")
    .where("at", "<", before)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  if (execution === undefined) return audit?.at ?? null;
  return Math.max(execution.at, audit?.at ?? 0);
}

/** Identifiers of the oldest ended executions, created before a time where one is given. */
export async function oldestEnded(
  store: Store,
  page: { before: number | null; limit: number },
): Promise<string[]> {
  let query = store.lists
    .selectFrom("execution")
    .select("id")
    .where("ended_at", "is not", null)
    .orderBy("key")
    .limit(page.limit);
  // Keys grow with time: no look at the rows that are younger.
  if (page.before !== null) query = query.where("key", "<", firstKeyOf(page.before));
  return (await query.execute()).map(({ id }) => id);
}

export interface OldExecution {
  readonly id: string;
  /** By its key, or signature, a call is known that was sent before. */
  readonly isClaimed: boolean;
}

/**
 * Ended executions that were created before a time, the oldest first.
 *
 * @param page `after`: the last one of the page before, or empty; `at`: when a claim has to live
 */
export async function listOld(
  store: Store,
  page: { before: number; after: string; at: number; limit: number },
): Promise<OldExecution[]> {
  let query = store.lists
    .selectFrom("execution")
    .select([
      "id",
      ({ exists, selectFrom }) =>
        exists(
          selectFrom("execution_claim")
            .select("hash")
            .whereRef("execution_key", "=", "execution.key")
            .where("expires_at", ">", page.at),
        ).as("claimed"),
    ])
    .where("ended_at", "is not", null)
    .where("key", "<", firstKeyOf(page.before))
    .orderBy("key")
    .limit(page.limit);
  if (page.after !== "") query = query.where("key", ">", toKey(page.after));
  // SQLite says 1, PostgreSQL true.
  return (await query.execute()).map((row) => ({ id: row.id, isClaimed: Boolean(row.claimed) }));
}

/** Of all that there are. @param isWanted asked before each part that is counted by itself */
export async function countExecutions(
  store: Store,
  isWanted: () => boolean = () => true,
): Promise<number> {
  const { countedAtOnce: most } = store.dialect;
  if (most === null) return countAll(store);
  let [total, count, last] = [0, most, Number.MIN_SAFE_INTEGER];
  while (count === most && isWanted()) {
    [count, last] = await countAfter(store, last, most);
    total += count;
  }
  return total;
}

async function countAll(store: Store): Promise<number> {
  const { count } = await store.lists
    .selectFrom("execution")
    .select((of) => of.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

async function countAfter(
  store: Store,
  key: number,
  most: number,
): Promise<[count: number, last: number]> {
  const { count, last } = await store.lists
    .selectFrom((from) =>
      from
        .selectFrom("execution")
        .select("key")
        .where("key", ">", key)
        .orderBy("key")
        .limit(most)
        .as("part"),
    )
    .select((of) => [of.fn.countAll<number>().as("count"), of.fn.max("key").as("last")])
    .executeTakeFirstOrThrow();
  return [count, last ?? key];
}

export function deleteExecutions(store: Store, ids: readonly string[]): Unit {
  const keys = ids.map(toKey);
  const parts = [
    "execution_log",
    "execution_input",
    "execution_output",
    "execution_claim",
  ] as const;
  return [
    ...parts.map((table) =>
      toStatement(store.rows.deleteFrom(table).where("execution_key", "in", keys)),
    ),
    toStatement(store.rows.deleteFrom("execution_moved").where("id", "in", [...ids])),
    toStatement(store.rows.deleteFrom("execution").where("key", "in", keys)),
  ];
}

/** Of a store that several services use. */
export function deleteOldRefusals(store: Store, before: number): Statement {
  return toStatement(store.rows.deleteFrom("refused_call").where("at", "<", before));
}
