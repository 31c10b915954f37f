import { sql, type Insertable, type Selectable } from "kysely";
import type { Store } from "./store.ts";
import { builder, prepare, toStatement } from "./prepared.ts";
import type { AuditTable, SecretTable, SettingTable } from "./schema.ts";
import type { Statement } from "./statement.ts";

export type SettingRow = Selectable<SettingTable>;
export type SecretRow = Selectable<SecretTable>;
export type AuditRow = Selectable<AuditTable>;

interface NamedRows {
  readonly setting: SettingRow;
  readonly secret: SecretRow;
}

/** A row as it was read. */
type SeenRow = Pick<SettingRow, "name" | "modified_at">;

/** Statements on the tables `setting`, `secret` and `audit`. */

const SETTING = prepare<{ name: string }>(({ name }) =>
  builder.selectFrom("setting").selectAll().where("name", "=", name),
);

export function findSetting(store: Store, name: string): Promise<SettingRow | undefined> {
  return store.find(SETTING({ name }));
}

export function insertSetting(store: Store, row: SettingRow): Statement {
  return toStatement(store.rows.insertInto("setting").values(row));
}

const PUT_SETTING = prepare<SettingRow>(({ name, value, created_at, modified_at }) =>
  builder
    .insertInto("setting")
    .values({ name, value, created_at, modified_at })
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
    ),
);

/** Inserts it, or replaces its value. */
export function putSetting(row: SettingRow): Statement {
  return PUT_SETTING(row);
}

const SECRET = prepare<{ name: string }>(({ name }) =>
  builder.selectFrom("secret").selectAll().where("name", "=", name),
);

export function findSecret(store: Store, name: string): Promise<SecretRow | undefined> {
  return store.find(SECRET({ name }));
}

export function allSecrets(store: Store): Promise<SecretRow[]> {
  return store.rows.selectFrom("secret").selectAll().orderBy("name").execute();
}

export function insertSecret(store: Store, row: SecretRow): Statement {
  return toStatement(store.rows.insertInto("secret").values(row));
}

interface NamedPage {
  readonly after: string | undefined;
  readonly limit: number;
  readonly descending: boolean;
}

/** Values of one page of settings, in bytes; one alone may be larger. */
const PAGE_BYTES = 1024 * 1024;

/** One page of settings in order of their names, as many as fit into a page's bytes. */
export async function listSettings(
  store: Store,
  page: NamedPage,
): Promise<{ rows: SettingRow[]; hasMore: boolean }> {
  const sizes = await settings(store, page, page.limit + 1)
    .select(sql<number>`octet_length(value)`.as("size"))
    .execute();
  const limit = Math.min(countFitting(sizes.map(({ size }) => size)), page.limit);
  const rows = await settings(store, page, limit).selectAll().execute();
  return { rows, hasMore: sizes.length > limit };
}

function settings(store: Store, { after, descending }: NamedPage, limit: number) {
  const all = store.lists.selectFrom("setting").orderBy("name", descending ? "desc" : "asc");
  const page = all.limit(limit);
  return after === undefined ? page : page.where("name", descending ? "<" : ">", after);
}

/** The first one always fits. */
function countFitting(sizes: readonly number[]): number {
  let left = PAGE_BYTES;
  const fits = (size: number, at: number): boolean => (left -= size) >= 0 || at === 0;
  const beyond = sizes.findIndex((size, at) => !fits(size, at));
  return beyond < 0 ? sizes.length : beyond;
}

/** One page of secrets in order of their names, without what they hold. */
export function listSecrets(
  store: Store,
  { after, limit, descending }: NamedPage,
): Promise<Omit<SecretRow, "sealed">[]> {
  let query = store.lists.selectFrom("secret").select(["name", "created_at", "modified_at"]);
  query = query.orderBy("name", descending ? "desc" : "asc").limit(limit);
  if (after !== undefined) query = query.where("name", descending ? "<" : ">", after);
  return query.execute();
}

/** Fails with `changed_meanwhile` where somebody else modified it since it was seen. */
export function updateNamed<T extends keyof NamedRows>(
  store: Store,
  table: T,
  seen: SeenRow,
  change: Omit<NamedRows[T], "name" | "created_at">,
): Statement {
  const query = store.rows
    .updateTable<keyof NamedRows>(table)
    .set(change)
    .where("name", "=", seen.name)
    .where("modified_at", "=", seen.modified_at);
  return toStatement(query, { expect: "changed_meanwhile" });
}

/** As `updateNamed`. */
export function deleteNamed(store: Store, table: keyof NamedRows, seen: SeenRow): Statement {
  const query = store.rows
    .deleteFrom(table)
    .where("name", "=", seen.name)
    .where("modified_at", "=", seen.modified_at);
  return toStatement(query, { expect: "changed_meanwhile" });
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
  let query = store.lists.selectFrom("audit").selectAll().where(store.dialect.whileWanted());
  query = query.orderBy("seq", "desc");
  for (const column of ["user_name", "action", "target"] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  if (filter.before !== null) query = query.where("seq", "<", filter.before);
  return query.limit(filter.limit).execute();
}
