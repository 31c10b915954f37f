import type { Insertable, Selectable } from "kysely";
import type { Store } from "./store.ts";
import { builder, prepare, toStatement } from "./prepared.ts";
import type { ProjectTable, RoleTable, UserTable } from "./schema.ts";
import type { Statement } from "./statement.ts";

export type UserRow = Selectable<UserTable>;
export type RoleRow = Selectable<RoleTable>;
export type ProjectRow = Selectable<ProjectTable>;

interface PeopleRows {
  readonly user: UserRow;
  readonly role: RoleRow;
  readonly project: ProjectRow;
}

/** A row as it was read. */
type SeenRow = Pick<UserRow, "id" | "modified_at">;

/** Statements on the tables `user`, `user_role`, `role` and `project`. */

const USER_BY_NAME = prepare<{ name: string }>(({ name }) =>
  builder.selectFrom("user").selectAll().where("name", "=", name),
);

export function findUserByName(store: Store, name: string): Promise<UserRow | undefined> {
  return store.find(USER_BY_NAME({ name }));
}

const USER = prepare<{ id: string }>(({ id }) =>
  builder.selectFrom("user").selectAll().where("id", "=", id),
);

export function findUser(store: Store, id: string): Promise<UserRow | undefined> {
  return store.find(USER({ id }));
}

export async function countUsers(store: Store): Promise<number> {
  const { count } = await store.rows
    .selectFrom("user")
    .select((e) => e.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

export function insertUser(store: Store, row: Insertable<UserTable>): Statement {
  return toStatement(store.rows.insertInto("user").values(row));
}

/** Sets a new password; fails the unit with `not_found` without such a user. */
export function updatePassword(
  store: Store,
  change: { id: string; password_hash: string; at: number },
): Statement {
  const query = store.rows
    .updateTable("user")
    .set({ password_hash: change.password_hash, modified_at: change.at })
    .where("id", "=", change.id);
  return toStatement(query, { expect: "not_found" });
}

/**
 * The first statement of a login: counts it as activity, and fails with `login_void` where the user
 * has not that password any more, or is disabled or gone. It locks the row: a change of the user
 * that comes later sees the token, and ends it.
 */
export function confirmLogin(
  store: Store,
  { id, password_hash }: Pick<UserRow, "id" | "password_hash">,
  at: number,
): Statement {
  const query = store.rows
    .updateTable("user")
    .set({ active_at: at })
    .where("id", "=", id)
    .where("password_hash", "=", password_hash)
    .where("is_enabled", "=", 1);
  return toStatement(query, { expect: LOGIN_VOID });
}

/** The code of a login that was overtaken by a change of its user. */
export const LOGIN_VOID = "login_void";

export function updateActivity(store: Store, id: string, at: number): Statement {
  return toStatement(store.rows.updateTable("user").set({ active_at: at }).where("id", "=", id));
}

export async function latestActivity(store: Store): Promise<number | null> {
  const row = await store.rows
    .selectFrom("user")
    .select((e) => e.fn.max("active_at").as("at"))
    .executeTakeFirst();
  return row?.at ?? null;
}

export function rolesOfUser(store: Store, user_id: string): Promise<RoleRow[]> {
  return store.rows
    .selectFrom("role")
    .innerJoin("user_role", "user_role.role_id", "role.id")
    .where("user_role.user_id", "=", user_id)
    .selectAll("role")
    .orderBy("role.name")
    .execute();
}

export function insertUserRole(store: Store, user_id: string, role_id: string): Statement {
  return toStatement(store.rows.insertInto("user_role").values({ user_id, role_id }));
}

const ROLE = prepare<{ id: string }>(({ id }) =>
  builder.selectFrom("role").selectAll().where("id", "=", id),
);

export function findRole(store: Store, id: string): Promise<RoleRow | undefined> {
  return store.find(ROLE({ id }));
}

export function findRoleByName(store: Store, name: string): Promise<RoleRow | undefined> {
  return store.rows.selectFrom("role").selectAll().where("name", "=", name).executeTakeFirst();
}

export function listRoles(store: Store): Promise<RoleRow[]> {
  return store.rows.selectFrom("role").selectAll().orderBy("name").execute();
}

export function insertRole(store: Store, row: Insertable<RoleTable>): Statement {
  return toStatement(store.rows.insertInto("role").values(row));
}

export function findProject(store: Store, id: string): Promise<ProjectRow | undefined> {
  return store.rows.selectFrom("project").selectAll().where("id", "=", id).executeTakeFirst();
}

export function findProjectByName(store: Store, name: string): Promise<ProjectRow | undefined> {
  return store.rows.selectFrom("project").selectAll().where("name", "=", name).executeTakeFirst();
}

export function insertProject(store: Store, row: Insertable<ProjectTable>): Statement {
  return toStatement(store.rows.insertInto("project").values(row));
}

interface NamedPage {
  readonly after: string | undefined;
  readonly limit: number;
  readonly descending: boolean;
  /** Only these, by their ids; null or undefined: all. */
  readonly ids?: readonly string[] | null | undefined;
}

/** One page of users, roles or projects, in order of their names. */
export function listPeople<T extends keyof PeopleRows>(
  store: Store,
  table: T,
  page: NamedPage,
): Promise<PeopleRows[T][]>;
export function listPeople(
  store: Store,
  table: keyof PeopleRows,
  page: NamedPage,
): Promise<unknown[]> {
  let query = store.lists.selectFrom(table).selectAll().limit(page.limit);
  query = query.orderBy("name", page.descending ? "desc" : "asc");
  if (page.after !== undefined)
    query = query.where("name", page.descending ? "<" : ">", page.after);
  if (page.ids) query = query.where("id", "in", [...page.ids, ""]);
  return query.execute();
}

/** Identifiers and names of all roles, or projects. */
export function listNames(
  store: Store,
  table: "role" | "project",
): Promise<{ id: string; name: string }[]> {
  return store.lists.selectFrom(table).select(["id", "name"]).execute();
}

/** Fails with `changed_meanwhile` where somebody else modified the row since it was seen. */
export function updatePeople<T extends keyof PeopleRows>(
  store: Store,
  table: T,
  seen: SeenRow,
  change: Partial<PeopleRows[T]>,
): Statement {
  const query = store.rows
    .updateTable<keyof PeopleRows>(table)
    .set(change)
    .where("id", "=", seen.id)
    .where("modified_at", "=", seen.modified_at);
  return toStatement(query, { expect: "changed_meanwhile" });
}

/**
 * Fails with the kind `reference` while something refers to it, and with `changed_meanwhile` where
 * it is not as it was seen: who may delete it was decided by that.
 */
export function deletePeople(store: Store, table: keyof PeopleRows, seen: SeenRow): Statement {
  const query = store.rows
    .deleteFrom(table)
    .where("id", "=", seen.id)
    .where("modified_at", "=", seen.modified_at);
  return toStatement(query, { expect: "changed_meanwhile" });
}

export function deleteUserRoles(store: Store, user_id: string): Statement {
  return toStatement(store.rows.deleteFrom("user_role").where("user_id", "=", user_id));
}
