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

/** By number; compiled when one is first asked for. */
const queries: (() => CompiledQuery["query"])[] = [];

/** The query of a prepared statement, for a store that reads another SQL. */
export function queryOf(number: number): CompiledQuery["query"] {
  const query = queries[number];
  if (query === undefined) throw new Error(`There is no prepared statement ${number}`);
  return query();
}

interface Compiled<P> {
  readonly query: CompiledQuery["query"];
  readonly text: StatementText;
  readonly fill: readonly ((values: P) => unknown)[];
}

/**
 * Compiles a query once, at its first use: a start needs few of them. `build` sees a placeholder for
 * each member of P and may only pass it on as a value; the result fills in the values of one use.
 */
export function prepare<P extends object>(
  build: (values: P) => Compilable,
  { expect = null, changes = null }: Traits = {},
): (values: P) => Statement {
  let compiled: Compiled<P> | null = null;
  const number = queries.push(() => (compiled ??= compile()).query) - 1;
  function compile(): Compiled<P> {
    const { sql, parameters, query } = build(placeholdersOf<P>()).compile();
    return { query, text: { sql, number, expect, changes }, fill: parameters.map(toFill<P>) };
  }
  return (values) => {
    const { text, fill } = (compiled ??= compile());
    return { text, parameters: fill.map((value) => value(values)) };
  };
}

function placeholdersOf<P extends object>(): P {
  const get = (_: object, name: string | symbol): unknown =>
    derive((values: P) => values[name as keyof P]);
  return new Proxy({}, { get }) as P;
}

function toFill<P>(parameter: unknown): (values: P) => unknown {
  return parameter instanceof Placeholder
    ? (parameter.read as (values: P) => unknown)
    : () => parameter;
}

/** A Kysely query as a statement that is used once. */
export function toStatement(
  query: Compilable,
  { expect = null, changes = null }: Traits = {},
): Statement {
  const { sql, parameters } = query.compile();
  return { text: { sql, number: null, expect, changes }, parameters };
}
