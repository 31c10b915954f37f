/** Tables that change seldom and that every call asks for, each row by its name. */
export type Kept = "webhook";

/**
 * Their rows as they were read last: kept until a statement that says that it changes them is
 * committed. This process alone writes to the store (sqlite/lock.ts). Only rows that are there are
 * kept, so that made-up names fill no memory.
 */
export class KeptRows {
  readonly #rows: Readonly<Record<Kept, Map<string, object>>> = { webhook: new Map() };

  find<Row extends object>(
    kept: Kept,
    name: string,
    read: () => Row | undefined,
  ): Readonly<Row> | undefined {
    const rows = this.#rows[kept] as Map<string, Readonly<Row>>;
    const found = rows.get(name);
    if (found !== undefined) return found;
    const row = read();
    if (row !== undefined) rows.set(name, Object.freeze(row));
    return row;
  }

  forget(kept: Kept): void {
    this.#rows[kept].clear();
  }
}
