import { isId } from "../../shared/id.ts";
import { findRoleByName, findUserByName, listNames } from "../store/people.ts";
import type { Api } from "./api.ts";
import { describeMissing } from "./missing.ts";
import { invalid } from "./named.ts";

/** Filters name roles and users; rows have their ids. */

/** @throws RequestError invalid naming the nearest that there is */
export async function findRoleId({ store }: Api, name: string): Promise<string> {
  const role = await findRoleByName(store, name.normalize("NFC"));
  if (role !== undefined) return role.id;
  throw invalid("role", await describeMissingRole({ store }, name));
}

/** In words for a member that names a role. */
export async function describeMissingRole(
  { store }: Pick<Api, "store">,
  name: string,
): Promise<string> {
  const names = (await listNames(store, "role")).map((role) => role.name);
  return `there is no ${describeMissing("role", name, names)}`;
}

/** An id is taken as it is: its user may be gone. @throws RequestError invalid */
export async function findUserId({ store }: Api, nameOrId: string): Promise<string> {
  if (isId(nameOrId)) return nameOrId;
  const user = await findUserByName(store, nameOrId.normalize("NFC"));
  if (user !== undefined) return user.id;
  throw invalid("created_by", `there is no user "${nameOrId}"`);
}
