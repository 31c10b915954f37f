import { sql, type SqlBool } from "kysely";
import { toGlob } from "../contained-text.ts";
import type { StoreDialect } from "../store.ts";
import { GO_ON } from "./go-on.ts";

export const SQLITE_DIALECT: StoreDialect = {
  // SQLite offers no other way to end a read.
  whileWanted: () => sql<SqlBool>`${sql.raw(GO_ON)}()`,
  contains: (column, text) => sql<SqlBool>`${column} glob ${toGlob(text)}`,
  percentile: (value, percent) => sql<number | null>`percentile(${value}, ${sql.lit(percent)})`,
};
