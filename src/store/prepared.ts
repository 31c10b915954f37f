import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Compilable } from "kysely";
import type { Schema } from "./schema.ts";
import type { Statement } from "./thread-protocol.ts";

/** Builds queries and runs none: what is compiled once needs no connection. */
export const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/** Stands in a query for a value that comes later. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Compiles a query once. `build` sees a placeholder for each member of P and may only pass it on
 * as a value; the result fills in the values of one use.
 *
 * @param expect code with which a unit fails unless the statement changes at least one row
 */
export function prepare<P extends object>(
  build: (values: P) => Compilable,
  expect?: string,
): (values: P) => Statement {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) }) as P;
  const { sql, parameters } = build(placeholders).compile();
  const fill = parameters.map((parameter) =>
    parameter instanceof Placeholder
      ? (values: P): unknown => values[parameter.name as keyof P]
      : () => parameter,
  );
  return (values) => {
    const filled = fill.map((value) => value(values));
    return expect === undefined ? { sql, parameters: filled } : { sql, parameters: filled, expect };
  };
}
