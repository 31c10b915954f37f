import type { Database } from "better-sqlite3";

/**
 * So many of a hundred values are at most this one of them: the nearest rank, which is what
 * percentile_disc of PostgreSQL finds. That of SQLite has another rank for the same name, and its
 * percentile lies between two values.
 */

/** An aggregate, and what looks a value up in it. SQLite gathers once for all that look. */
export const SORTED = "sorted_values";
export const RANKED = "ranked_value";

export function defineRanks(db: Database): void {
  db.aggregate<number[]>(SORTED, {
    start: () => [],
    step: (values, value: number | null) => {
      if (value !== null) values.push(value);
    },
    result: (values) => Buffer.from(Float64Array.from(values).sort().buffer),
  });
  db.function(RANKED, { deterministic: true }, (sorted: Buffer, percent: number) => {
    const count = sorted.length / Float64Array.BYTES_PER_ELEMENT;
    if (count === 0) return null;
    const rank = Math.max(1, Math.ceil((percent * count) / 100));
    const at = (rank - 1) * Float64Array.BYTES_PER_ELEMENT;
    return new DataView(sorted.buffer, sorted.byteOffset).getFloat64(at, true);
  });
}
