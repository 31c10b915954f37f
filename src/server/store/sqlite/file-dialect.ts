import type { Database } from "better-sqlite3";
import { SqliteDialect, SqliteDriver, type DatabaseConnection, type Driver } from "kysely";

/** Kysely over one connection to a database file. */
export class FileDialect extends SqliteDialect {
  readonly #database: Database;

  constructor(database: Database) {
    super({ database });
    this.#database = database;
  }

  override createDriver(): Driver {
    return new FileDriver(this.#database);
  }
}

class FileDriver extends SqliteDriver {
  readonly #database: Database;

  constructor(database: Database) {
    super({ database });
    this.#database = database;
  }

  /** SQLite rolls back by itself where its disk is full: to do so again would fail, and hide why. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}
