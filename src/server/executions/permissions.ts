import { toGrants } from "../access/login.ts";
import type { Grant } from "../../shared/contract/permission.ts";
import type { Store } from "../store/store.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findRole, findUser, rolesOfUser } from "../store/people.ts";

/**
 * What an execution may do (section 1, role permissions): what its role allows, if that
 * propagates; or what the user allows for whom it acts: the webhook's creator in earlier
 * releases, or whoever started it without a webhook. Read anew for each use, so that a role
 * that is taken away is taken away at once.
 */
export async function grantsOf(
  store: Store,
  row: Pick<ExecutionRow, "role_id" | "acts_for">,
): Promise<readonly Grant[]> {
  if (row.acts_for !== null) return grantsOfUser(store, row.acts_for);
  if (row.role_id === null) return [];
  const role = await findRole(store, row.role_id);
  return role?.propagate === 1 ? toGrants(role.permissions) : [];
}

async function grantsOfUser(store: Store, user_id: string): Promise<readonly Grant[]> {
  const user = await findUser(store, user_id);
  if (user?.is_enabled !== 1) return [];
  const roles = await rolesOfUser(store, user_id);
  return roles.flatMap((role) => toGrants(role.permissions));
}
