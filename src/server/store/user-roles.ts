import { toStatement } from "./prepared.ts";
import type { Unit } from "./statement.ts";
import type { Store } from "./store.ts";

/** Who has which role: statements on the table `user_role`. */

/** Roles of many users at once: [user_id, role name]. */
export async function roleNamesOf(
  store: Store,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await store.lists
    .selectFrom("user_role")
    .innerJoin("role", "role.id", "user_role.role_id")
    .select(["user_role.user_id", "role.name"])
    .where("user_role.user_id", "in", [...userIds, ""])
    .orderBy("role.name")
    .execute();
  const names = new Map<string, string[]>();
  for (const { user_id, name } of rows) names.set(user_id, [...(names.get(user_id) ?? []), name]);
  return names;
}

/** Names of users who have a role. */
export async function usersOfRole(store: Store, role_id: string, limit: number): Promise<string[]> {
  const rows = await store.lists
    .selectFrom("user_role")
    .innerJoin("user", "user.id", "user_role.user_id")
    .select("user.name")
    .where("role_id", "=", role_id)
    .orderBy("user.name")
    .limit(limit)
    .execute();
  return rows.map(({ name }) => name);
}

/** The role that is the way back in. */
export const ADMIN = "admin";

/** The code of a unit that would leave nobody who may do everything. */
export const NO_ADMIN = "no_admin";

/**
 * Puts statements that may take the role `admin` from somebody between two that see to it that an
 * enabled user keeps it: else the unit fails with `no_admin`. Units that do so wait for each other
 * at the row of the role, so that of two, each sees what the other has done.
 */
export function keepingAdmin(store: Store, unit: Unit): Unit {
  const admin = store.rows
    .updateTable("role")
    .set((e) => ({ propagate: e.ref("propagate") }))
    .where("name", "=", ADMIN);
  const isKept = admin.where((e) =>
    e.exists(
      e
        .selectFrom("user_role")
        .innerJoin("user", "user.id", "user_role.user_id")
        .select("user.id")
        .whereRef("user_role.role_id", "=", "role.id")
        .where("user.is_enabled", "=", 1),
    ),
  );
  return [toStatement(admin), ...unit, toStatement(isKept, { expect: NO_ADMIN })];
}
