import { sql } from "kysely";
import type { Store } from "./store.ts";
import { toStatement } from "./prepared.ts";
import type { Statement } from "./statement.ts";

/** Statements on the table `attempt`, which only a store that several services use has. */

interface Keys {
  readonly pair: string;
  readonly address: string;
}

interface Limits {
  readonly most: number;
  readonly mostOfAddress: number;
  readonly windowMs: number;
}

/** The time of the database, in milliseconds: that of all services. */
const NOW = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/**
 * Counts one failure of both keys; what is older than the window counts no more. Of those that come
 * at the same time each gets its own number.
 *
 * @returns failures before this one; null: one key has reached its limit
 */
export async function addAttempt(
  store: Store,
  { pair, address }: Keys,
  { most, mostOfAddress, windowMs }: Limits,
): Promise<{ ofPair: number; ofAddress: number } | null> {
  const { rows } = await sql<{ key: string; failures: number }>`
    insert into attempt (key, failures, failed_at)
    select key, 1, ${NOW} from (values (${pair}::text), (${address}::text)) as given (key)
    where not exists (select from attempt where failed_at > ${NOW} - ${windowMs}::bigint
      and (key = ${pair} and failures >= ${most} or key = ${address} and failures >= ${mostOfAddress}))
    order by key
    on conflict (key) do update set failed_at = excluded.failed_at, failures = 1 + case
      when attempt.failed_at > ${NOW} - ${windowMs}::bigint then attempt.failures else 0 end
    returning key, failures`.execute(store.rows);
  const count = (key: string): number =>
    (rows.find((row) => row.key === key)?.failures ?? Infinity) - 1;
  const failed = { ofPair: count(pair), ofAddress: count(address) };
  return failed.ofPair >= most || failed.ofAddress >= mostOfAddress ? null : failed;
}

/** Until both keys are below their limits again, in milliseconds; 0: they are. */
export async function lockLeftMs(
  store: Store,
  { pair, address }: Keys,
  { most, mostOfAddress, windowMs }: Limits,
): Promise<number> {
  const { rows } = await sql<{ rest: number | null }>`
    select max(failed_at) + ${windowMs}::bigint - ${NOW} as rest from attempt
    where key = ${pair} and failures >= ${most} or key = ${address} and failures >= ${mostOfAddress}
  `.execute(store.rows);
  return Math.max(0, rows[0]?.rest ?? 0);
}

/** Forgives all failures of the pair, and one of the address. */
export async function forgiveAttempt(store: Store, { pair, address }: Keys): Promise<void> {
  const all = store.rows.deleteFrom("attempt").where("key", "=", pair);
  await store.commit([subtractOne(store, address), toStatement(all)]);
}

/** One failure less of both keys, in the order in which they are counted. */
export async function takeAttemptBack(store: Store, { pair, address }: Keys): Promise<void> {
  await store.commit([pair, address].toSorted().map((key) => subtractOne(store, key)));
}

function subtractOne({ rows }: Store, key: string): Statement {
  return toStatement(
    rows
      .updateTable("attempt")
      .set((e) => ({ failures: e("failures", "-", 1) }))
      .where("key", "=", key)
      .where("failures", ">", 0),
  );
}

/** Longer than any window: what is older counts no more. */
const OLD_MS = 3_600_000;

export function deleteOldAttempts(store: Store): Statement {
  const query = store.rows.deleteFrom("attempt");
  return toStatement(query.where("failed_at", "<", sql<number>`${NOW} - ${OLD_MS}::bigint`));
}
