import type { Compilable } from "kysely";
import type { Statement } from "./thread-protocol.ts";

/** Stands in a query for a value that comes later. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Compiles a Kysely query once. `build` sees a placeholder for each member of P and may only
 * pass it on as a value; the result fills in the values of one use.
 */
export function prepare<P extends object>(
  build: (values: P) => Compilable,
  expect?: string,
): (values: P) => Statement {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) }) as P;
  const { sql, parameters } = build(placeholders).compile();
  const fill = parameters.map((parameter) =>
    parameter instanceof Placeholder
      ? (values: P) => values[parameter.name as keyof P] as unknown
      : () => parameter,
  );
  return (values) => {
    const filled = fill.map((value) => value(values));
    return expect === undefined ? { sql, parameters: filled } : { sql, parameters: filled, expect };
  };
}
