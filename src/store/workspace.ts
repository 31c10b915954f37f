import type { Insertable, Selectable } from "kysely";
import { toStatement, type Store } from "./database.ts";
import { whileWanted } from "./reading.ts";
import type { AuditTable, SecretTable, SettingTable } from "./schema.ts";
import type { Statement } from "./thread-protocol.ts";

export type SettingRow = Selectable<SettingTable>;
export type SecretRow = Selectable<SecretTable>;
export type AuditRow = Selectable<AuditTable>;

/** Statements on the tables `setting`, `secret` and `audit`. */

export function findSetting(store: Store, name: string): Promise<SettingRow | undefined> {
  return store.rows.selectFrom("setting").selectAll().where("name", "=", name).executeTakeFirst();
}

export function insertSetting(store: Store, row: SettingRow): Statement {
  return toStatement(store.rows.insertInto("setting").values(row));
}

/** Inserts it, or replaces its value. */
export function putSetting(store: Store, row: SettingRow): Statement {
  const { value, modified_at } = row;
  const query = store.rows
    .insertInto("setting")
    .values(row)
    .onConflict((conflict) =>
      conflict.column("name").doUpdateSet((e) => ({
        value,
        // A later state never has the time of an earlier one, which the API's ETag relies on.
        modified_at: e
          .case()
          .when("setting.modified_at", ">=", modified_at)
          .then(e("setting.modified_at", "+", 1))
          .else(modified_at)
          .end(),
      })),
    );
  return toStatement(query);
}

export function findSecret(store: Store, name: string): Promise<SecretRow | undefined> {
  return store.rows.selectFrom("secret").selectAll().where("name", "=", name).executeTakeFirst();
}

export function allSecrets(store: Store): Promise<SecretRow[]> {
  return store.rows.selectFrom("secret").selectAll().orderBy("name").execute();
}

export function insertSecret(store: Store, row: SecretRow): Statement {
  return toStatement(store.rows.insertInto("secret").values(row));
}

/** One page of settings or secrets, in order of their names. */
export function listNamed<T extends "setting" | "secret">(
  store: Store,
  table: T,
  page: { after: string | undefined; limit: number; descending: boolean },
): Promise<{ setting: SettingRow; secret: SecretRow }[T][]>;
export function listNamed(
  store: Store,
  table: "setting" | "secret",
  page: { after: string | undefined; limit: number; descending: boolean },
): Promise<unknown[]> {
  let query = store.lists.selectFrom(table).selectAll().limit(page.limit);
  query = query.orderBy("name", page.descending ? "desc" : "asc");
  if (page.after !== undefined)
    query = query.where("name", page.descending ? "<" : ">", page.after);
  return query.execute();
}

/** Fails with `changed_meanwhile` where somebody else modified it since `seen_at`. */
export function updateSetting(store: Store, row: SettingRow, seen_at: number): Statement {
  const { name, value, modified_at } = row;
  const query = store.rows
    .updateTable("setting")
    .set({ value, modified_at })
    .where("name", "=", name)
    .where("modified_at", "=", seen_at);
  return toStatement(query, "changed_meanwhile");
}

/** As `updateSetting`. */
export function updateSecret(store: Store, row: SecretRow, seen_at: number): Statement {
  const { name, sealed, modified_at } = row;
  const query = store.rows
    .updateTable("secret")
    .set({ sealed, modified_at })
    .where("name", "=", name)
    .where("modified_at", "=", seen_at);
  return toStatement(query, "changed_meanwhile");
}

export function deleteNamed(store: Store, table: "setting" | "secret", name: string): Statement {
  return toStatement(store.rows.deleteFrom(table).where("name", "=", name), "not_found");
}

export function insertAudit(store: Store, row: Insertable<AuditTable>): Statement {
  return toStatement(store.rows.insertInto("audit").values(row));
}

export interface AuditFilter {
  readonly user_name?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly before: number | null;
  readonly limit: number;
}

/** Newest first. */
export function listAudit(store: Store, filter: AuditFilter): Promise<AuditRow[]> {
  let query = store.lists.selectFrom("audit").selectAll().where(whileWanted());
  query = query.orderBy("seq", "desc");
  for (const column of ["user_name", "action", "target"] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  if (filter.before !== null) query = query.where("seq", "<", filter.before);
  return query.limit(filter.limit).execute();
}
