import type { Statement, Unit } from "./thread-protocol.ts";

/**
 * Rows of tables that change seldom and that every call asks for: kept until a commit writes to
 * their table. This process alone writes to the store (store/lock.ts). Only rows that are there
 * are kept, so that made-up names fill no memory.
 */
export class KeptRows {
  readonly #rows = new Map<string, Map<unknown, object>>();
  /** Whether a statement's text writes to a kept table. */
  readonly #writes = new Map<string, boolean>();

  /** @param read asks the store; `key` is the statement's one parameter */
  find<Row>({ sql, parameters: [key] }: Statement, read: () => Row | undefined): Row | undefined {
    let rows = this.#rows.get(sql);
    if (rows === undefined) this.#rows.set(sql, (rows = new Map()));
    const kept = rows.get(key) as Row | undefined;
    if (kept !== undefined) return kept;
    const row = read();
    if (row !== undefined) rows.set(key, Object.freeze(row) as object);
    return row;
  }

  isWrittenBy(unit: Unit): boolean {
    return unit.some(({ sql }) => {
      const known = this.#writes.get(sql);
      if (known !== undefined) return known;
      const found = KEPT_TABLES.test(sql);
      this.#writes.set(sql, found);
      return found;
    });
  }

  clear(): void {
    this.#rows.clear();
  }
}

const KEPT_TABLES = /^(?:insert into|update|delete from) "webhook"/;
