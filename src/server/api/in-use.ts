import type { Principal } from "../access/login.ts";
import { isAllowed } from "../access/permission.ts";
import { RequestError } from "../../shared/errors.ts";
import { deletePeople } from "../store/people.ts";
import { usersOfRole } from "../store/user-roles.ts";
import { StoreError } from "../store/store-error.ts";
import { listWebhooks } from "../store/webhooks.ts";
import type { Api } from "./api.ts";
import { commitNamed } from "./named.ts";
import { withinVisible } from "./webhook-record.ts";

/** Names in one sentence. */
const MOST_NAMES = 10;

/**
 * Deletes a role or a project that nothing refers to.
 *
 * @throws RequestError conflict naming by whom it is used, as far as the principal may see them
 */
export async function removeUnused(
  api: Api,
  principal: Principal,
  table: "role" | "project",
  row: { readonly id: string; readonly name: string; readonly modified_at: number },
): Promise<void> {
  const { id, name } = row;
  try {
    await commitNamed(api.store, name, [deletePeople(api.store, table, row)]);
  } catch (error) {
    const { cause } = error as Error;
    if (!(cause instanceof StoreError) || cause.kind !== "reference") throw error;
    const users = await findUsers(api, principal, table, id);
    throw new RequestError("conflict", `"${name}" is still used by ${users}`, { cause });
  }
}

async function findUsers(
  api: Api,
  principal: Principal,
  table: "role" | "project",
  id: string,
): Promise<string> {
  const limit = MOST_NAMES + 1;
  const maySeeWebhooks = isAllowed(principal.grants, "webhook.read");
  const maySeeUsers = table === "role" && isAllowed(principal.grants, "user.read");
  const place = { within: withinVisible(api, principal), [`${table}_id`]: id, limit };
  const webhooks = maySeeWebhooks ? await listWebhooks(api.store, place) : [];
  const users = maySeeUsers ? await usersOfRole(api.store, id, limit) : [];
  const parts = [
    ...(webhooks.length === 0 ? [] : [`webhooks: ${joinNames(webhooks.map(({ name }) => name))}`]),
    ...(users.length === 0 ? [] : [`users: ${joinNames(users)}`]),
  ];
  return parts.join("; ") || "webhooks or users that your roles do not show";
}

/** The first ten in quotes. */
export function joinNames(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).map((name) => `"${name}"`);
  return names.length > MOST_NAMES ? `${shown.join(", ")} and others` : shown.join(", ");
}
