import { sql, type SqlBool } from "kysely";
import { containsAny, toRegularExpression } from "../contained-text.ts";
import type { StoreDialect } from "../store.ts";

export const POSTGRES_DIALECT: StoreDialect = {
  // Some 10 ms.
  countedAtOnce: 50_000,
  // Reads are ended from outside: by their time, or by whoever asked for them.
  whileWanted: () => sql<SqlBool>`true`,
  contains: (column, text) =>
    containsAny(text, (written) => sql<SqlBool>`${column} ~ ${toRegularExpression(written)}`),
  percentile: (value, percent) =>
    sql<number | null>`percentile_disc(${sql.lit(percent / 100)}) within group (order by ${value})`,
};
