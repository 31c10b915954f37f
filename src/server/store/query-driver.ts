import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";

/**
 * A driver for queries that are built here and answered elsewhere. Nothing is written through it:
 * units of work go through commit.
 *
 * @param run gives the rows of a query
 */
export function openQueryDriver(
  run: (query: CompiledQuery) => Promise<readonly unknown[]>,
): Driver {
  const connection: DatabaseConnection = {
    executeQuery: async <R>(query: CompiledQuery): Promise<QueryResult<R>> => ({
      rows: (await run(query)) as R[],
    }),
    streamQuery() {
      throw new Error("Cannot stream from the store");
    },
  };
  const refuse = async (): Promise<void> => {
    throw new Error("Cannot write but through commit");
  };
  return {
    async init() {},
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    async releaseConnection() {},
    async destroy() {},
  };
}
