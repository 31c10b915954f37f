import { isDeepStrictEqual } from "node:util";
import type { Kept } from "../kept-rows.ts";

/** How long a row is taken as it was read, in milliseconds: another service may change it. */
export const KEPT_MS = 250;

interface Aged {
  /** When it was asked for, as performance.now(). */
  readonly at: number;
  readonly row: Promise<Readonly<object> | undefined>;
  /** As it was read last. */
  latest: object | undefined;
}

/**
 * Rows of tables that change seldom, for a moment. A change by this service is seen at once; one by
 * another service is answered only after its commit is older than whatever is kept here.
 */
export class AgedRows {
  readonly #rows: Readonly<Record<Kept, Map<string, Aged>>> = { webhook: new Map() };

  /**
   * The same object while the row is the same, because more is kept of it elsewhere.
   *
   * @param read asks the store; those who come meanwhile share the answer
   */
  find<Row extends object>(
    kept: Kept,
    name: string,
    read: () => Promise<Row | undefined>,
  ): Promise<Readonly<Row> | undefined> {
    const rows = this.#rows[kept];
    const found = rows.get(name);
    const at = performance.now();
    if (found !== undefined && at - found.at < KEPT_MS)
      return found.row as Promise<Readonly<Row> | undefined>;
    const { latest } = found ?? {};
    const row = read().then((one) => (isDeepStrictEqual(one, latest) ? (latest as Row) : one));
    const entry: Aged = { at, row, latest };
    rows.set(name, entry);
    const settle = (one?: Row): void => {
      entry.latest = one && Object.freeze(one);
      // Only rows that are there are kept, so that made-up names fill no memory.
      if (one === undefined && rows.get(name) === entry) rows.delete(name);
    };
    row.then(settle, () => settle());
    return row;
  }

  forget(kept: Kept): void {
    this.#rows[kept].clear();
  }
}
