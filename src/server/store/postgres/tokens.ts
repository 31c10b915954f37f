import type { Row } from "../statement.ts";
import { isPassing, StoreError } from "../store-error.ts";
import type { TokenBucket, TokenTaken } from "../shared-store.ts";
import type { NamedQuery } from "./thread-protocol.ts";

/** Buckets that one statement takes from at most. */
const MOST_BUCKETS = 500;

/** Buckets of partitions that are kept: beyond it those are forgotten that are full soonest. */
const MOST_PARTITIONS = 10_000;
/** How often that is looked at: after so many buckets of partitions were taken from. */
const FORGET_AFTER = 1000;

/** The clock of the database, in seconds. */
const CLOCK = "extract(epoch from clock_timestamp())";

/**
 * A bucket is known by the time at which it is full: each token that is taken puts that off by the
 * time that one takes to come. Answers how many of those that were wanted could be taken, and in how
 * many seconds it is full. In one order, so that no two services wait for each other.
 */
const TAKE = `insert into rate_bucket as bucket (key, is_partition, burst, token_sec, full_at, taken)
  select key, is_partition, burst, token_sec, ${CLOCK} + taken * token_sec, taken
  from (select key, is_partition, burst, per_sec::numeric / calls as token_sec,
      least(wanted, burst) as taken
    from unnest($1::text[], $2::boolean[], $3::integer[], $4::integer[], $5::integer[], $6::integer[])
      as given (key, is_partition, calls, per_sec, burst, wanted)) as given
  order by key
  on conflict (key) do update set (full_at, taken) = (
    select at + missing_sec + taken * bucket.token_sec, taken
    from (select at, missing_sec, least(excluded.taken,
        floor(bucket.burst - missing_sec / bucket.token_sec + 1e-9))::integer as taken
      from (select at, least(greatest(bucket.full_at - at, 0), bucket.burst * bucket.token_sec)
          as missing_sec
        from (select ${CLOCK} as at) as clock) as bucket_now) as next)
  returning key, taken, full_at - ${CLOCK} as full_in_sec`;

/** A bucket that is full is as one that was never there. Nobody waits for this, nor this for anybody. */
const FORGET = `delete from rate_bucket where key in (
  select key from rate_bucket where full_at <= ${CLOCK} or is_partition and full_at <= (
    select full_at from rate_bucket where is_partition
      order by full_at desc offset ${MOST_PARTITIONS} limit 1)
  for update skip locked)`;

/** Who waits for a token. */
interface Taker {
  readonly bucket: TokenBucket;
  resolve(taken: TokenTaken): void;
  reject(error: unknown): void;
}

/** Tokens of all services on one database: what comes while a statement is under way is the next one. */
export class Tokens {
  readonly #query: (query: NamedQuery) => Promise<Row[]>;
  /** By the keys of their buckets, first come first served. */
  readonly #takers = new Map<string, Taker[]>();
  #isTaking = false;
  #partitions = 0;

  constructor(query: (query: NamedQuery) => Promise<Row[]>) {
    this.#query = query;
  }

  take(bucket: TokenBucket): Promise<TokenTaken> {
    const { promise, resolve, reject } = Promise.withResolvers<TokenTaken>();
    const taker = { bucket, resolve, reject };
    const takers = this.#takers.get(bucket.key);
    if (takers === undefined) this.#takers.set(bucket.key, [taker]);
    else takers.push(taker);
    if (!this.#isTaking) {
      this.#isTaking = true;
      // What comes in this turn of the event loop is taken together.
      setImmediate(() => this.#takeNext());
    }
    return promise;
  }

  #takeNext(): void {
    const some = [...this.#takers].slice(0, MOST_BUCKETS);
    this.#isTaking = some.length > 0;
    if (!this.#isTaking) return;
    for (const [key] of some) this.#takers.delete(key);
    const next = (): void => this.#takeNext();
    this.#takeSome(some.map(([, takers]) => takers)).then(next, next);
  }

  async #takeSome(some: readonly Taker[][]): Promise<void> {
    try {
      const rows = await this.#query({ name: "take-tokens", sql: TAKE, parameters: listsOf(some) });
      const taken = new Map(rows.map((row) => [row["key"], row]));
      for (const takers of some) tell(takers, taken.get(takers[0]?.bucket.key));
    } catch (error) {
      for (const { reject } of some.flat()) reject(error);
      if (isPassing(error)) this.#refuseWaiting(error);
    }
    this.#partitions += some.filter(([taker]) => taker?.bucket.isPartition).length;
    if (this.#partitions >= FORGET_AFTER) await this.#forget();
  }

  /** While the store is away, nobody waits longer than who came first. */
  #refuseWaiting(error: unknown): void {
    for (const { reject } of [...this.#takers.values()].flat()) reject(error);
    this.#takers.clear();
  }

  /** Where it fails, it is tried again after as many more. */
  async #forget(): Promise<void> {
    this.#partitions = 0;
    await this.#query({ name: "forget-buckets", sql: FORGET, parameters: [] });
  }
}

/** A list for each column. */
function listsOf(some: readonly Taker[][]): unknown[] {
  const buckets = some.map(([taker]) => (taker as Taker).bucket);
  const column = (name: keyof TokenBucket): unknown[] => buckets.map((bucket) => bucket[name]);
  return [
    column("key"),
    column("isPartition"),
    column("calls"),
    column("per_sec"),
    column("burst"),
    some.map(({ length }) => length),
  ];
}

/** Each is told of what was left behind it. */
function tell(takers: readonly Taker[], row: Row | undefined): void {
  if (row === undefined) throw new StoreError(NO_ROW);
  const [taken, fullInSec] = [Number(row["taken"]), Number(row["full_in_sec"])];
  takers.forEach(({ bucket, resolve }, at) => {
    const { calls, per_sec, burst } = bucket;
    const tokens = Math.min(burst, burst - (fullInSec * calls) / per_sec);
    resolve({ isTaken: at < taken, tokens: tokens + Math.max(0, taken - 1 - at) });
  });
}

const NO_ROW = { kind: "other", code: "tokens", message: "A bucket was not answered" } as const;
