import type { Principal } from "../access/login.ts";
import { isAllowed } from "../access/permission.ts";
import { isId } from "../../shared/id.ts";
import { findRoleByName, findUserByName, listNames } from "../store/people.ts";
import type { Store } from "../store/store.ts";
import type { Api } from "./api.ts";
import { describeMissing, namesOf } from "./missing.ts";
import { invalid } from "./named.ts";

/** Filters name roles and users; rows have their ids. */

/** No row has this id: whoever may not see names is not told which there are. */
const NOBODY = "";

/** @throws RequestError invalid naming the nearest that there is */
export async function findRoleId(
  { store }: Api,
  principal: Principal,
  name: string,
): Promise<string> {
  const role = await findRoleByName(store, name.normalize("NFC"));
  if (role !== undefined) return role.id;
  if (!isAllowed(principal.grants, "role.read")) return NOBODY;
  throw invalid("role", await describeMissingRole(store, principal, name));
}

/** In words for a member that names a role. */
export async function describeMissingRole(
  store: Store,
  principal: Principal,
  name: string,
): Promise<string> {
  return `there is no ${describeMissing("role", name, await roleNames(store, principal))}`;
}

/** Of all roles, as far as whoever asks may see them. */
export async function roleNames(store: Store, { grants }: Principal): Promise<string[]> {
  if (!isAllowed(grants, "role.read")) return [];
  return namesOf(listNames(store, "role"));
}

/** An id is taken as it is: its user may be gone. @throws RequestError invalid */
export async function findUserId(
  { store }: Api,
  { grants }: Principal,
  nameOrId: string,
): Promise<string> {
  if (isId(nameOrId)) return nameOrId;
  const user = await findUserByName(store, nameOrId.normalize("NFC"));
  if (user !== undefined) return user.id;
  if (!isAllowed(grants, "user.read")) return NOBODY;
  throw invalid("created_by", `there is no user "${nameOrId}"`);
}
