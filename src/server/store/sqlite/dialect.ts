import { sql, type SqlBool } from "kysely";
import { containsAny, toGlob, toLike } from "../contained-text.ts";
import type { StoreDialect } from "../store.ts";
import { GO_ON } from "./go-on.ts";
import { RANKED, SORTED } from "./nearest-rank.ts";

export const SQLITE_DIALECT: StoreDialect = {
  countedAtOnce: null,
  // SQLite offers no other way to end a read.
  whileWanted: () => sql<SqlBool>`${sql.raw(GO_ON)}()`,
  contains: (column, text) =>
    containsAny(text, (written) => {
      const like = toLike(written);
      return like === null
        ? sql<SqlBool>`${column} glob ${toGlob(written)}`
        : sql<SqlBool>`${column} like ${like} escape '\\'`;
    }),
  percentile: (value, percent) =>
    sql<number | null>`${sql.raw(RANKED)}(${sql.raw(SORTED)}(${value}), ${sql.lit(percent)})`,
};
