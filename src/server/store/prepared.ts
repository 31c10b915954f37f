import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Compilable, CompiledQuery } from "kysely";
import type { Schema } from "./schema.ts";
import type { Statement, StatementText } from "./statement.ts";

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
  readonly read: (values: never) => unknown;

  constructor(read: (values: never) => unknown) {
    this.read = read;
  }
}

/** Stands in a query of `prepare` for what is made from the values of one use. */
export function derive<P, T>(read: (values: P) => T): T {
  return new Placeholder(read) as T;
}

/** What a statement says of itself. */
export type Traits = Partial<Pick<StatementText, "expect" | "changes">>;

const queries: CompiledQuery["query"][] = [];

/** The query of a prepared statement, for a store that reads another SQL. */
export function queryOf(number: number): CompiledQuery["query"] {
  const query = queries[number];
  if (query === undefined) throw new Error(`There is no prepared statement ${number}`);
  return query;
}

/**
 * Compiles a query once. `build` sees a placeholder for each member of P and may only pass it on
 * as a value; the result fills in the values of one use.
 */
export function prepare<P extends object>(
  build: (values: P) => Compilable,
  { expect = null, changes = null }: Traits = {},
): (values: P) => Statement {
  const placeholders = new Proxy(
    {},
    { get: (_, name) => derive((values: P) => values[name as keyof P]) },
  ) as P;
  const { sql, parameters, query } = build(placeholders).compile();
  const number = queries.push(query) - 1;
  const text: StatementText = { sql, number, expect, changes };
  const fill = parameters.map((parameter) =>
    parameter instanceof Placeholder ? (parameter.read as (values: P) => unknown) : () => parameter,
  );
  return (values) => ({ text, parameters: fill.map((value) => value(values)) });
}

/** A Kysely query as a statement that is used once. */
export function toStatement(
  query: Compilable,
  { expect = null, changes = null }: Traits = {},
): Statement {
  const { sql, parameters } = query.compile();
  return { text: { sql, number: null, expect, changes }, parameters };
}
