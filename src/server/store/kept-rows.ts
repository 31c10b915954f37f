/** Tables that change seldom and that every call asks for, each row by its name. */
export type Kept = "webhook";

/**
 * Their rows as they were read last: kept until a statement that says that it changes them is
 * committed. This process alone writes to the store (sqlite/lock.ts). Only rows that are there are
 * kept, so that made-up names fill no memory.
 */
export class KeptRows {
  readonly #rows: Readonly<Record<Kept, Map<string, object>>> = { webhook: new Map() };

  #changes = 0;

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

  /** The same of a store that answers later: what was changed meanwhile is not kept. */
  async findLater<Row extends object>(
    kept: Kept,
    name: string,
    read: () => Promise<Row | undefined>,
  ): Promise<Readonly<Row> | undefined> {
    const rows = this.#rows[kept] as Map<string, Readonly<Row>>;
    const found = rows.get(name);
    if (found !== undefined) return found;
    const changes = this.#changes;
    const row = await read();
    if (row !== undefined && changes === this.#changes) rows.set(name, Object.freeze(row));
    return row;
  }

  forget(kept: Kept): void {
    this.#changes += 1;
    this.#rows[kept].clear();
  }
}
