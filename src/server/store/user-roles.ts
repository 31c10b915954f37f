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

/** Enabled users, other than one, who have a role. */
export async function countOthersWithRole(
  store: Store,
  role_id: string,
  user_id: string,
): Promise<number> {
  const { count } = await store.rows
    .selectFrom("user_role")
    .innerJoin("user", "user.id", "user_role.user_id")
    .select((e) => e.fn.countAll<number>().as("count"))
    .where("user_role.role_id", "=", role_id)
    .where("user.id", "!=", user_id)
    .where("user.is_enabled", "=", 1)
    .executeTakeFirstOrThrow();
  return count;
}
