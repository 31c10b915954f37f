import type { Logins, Principal } from "../access/login.ts";
import type { Permission } from "../../shared/contract/permission.ts";
import { allowedProjects, covers, isAllowed } from "../access/permission.ts";
import { toGrants } from "../access/login.ts";
import { grantsOf } from "../executions/permissions.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Store } from "../store/store.ts";
import { describeMissingRole } from "./filter-names.ts";
import { invalid } from "./named.ts";
import type { Route } from "./route.ts";
import {
  findRole,
  findRoleByName,
  rolesOfUser,
  type RoleRow,
  type UserRow,
} from "../store/people.ts";

/**
 * Who asks, with what they may by now: for an answer that took its time, as a long poll does or a
 * body that comes slowly.
 *
 * @throws RequestError not_authenticated where the login has ended meanwhile
 */
export async function requireStill(
  logins: Pick<Logins, "renew">,
  principal: Principal,
): Promise<Principal> {
  const renewed = await logins.renew(principal);
  if (renewed !== null) return renewed;
  throw new RequestError("not_authenticated", "The login has ended while the request was served");
}

/** @throws RequestError forbidden */
export function requirePermission({ grants }: Principal, needs: Route["needs"]): void {
  if (needs === "login" || needs === "anyone" || isAllowed(grants, needs)) return;
  throw new RequestError("forbidden", `This needs the permission "${needs}"`);
}

/** Whether the principal may do this in a project. */
export function may(principal: Principal, permission: Permission, project_id: string): boolean {
  return isAllowed(principal.grants, permission, project_id);
}

/** @throws RequestError forbidden */
export function requireIn(principal: Principal, permission: Permission, project_id: string): void {
  if (may(principal, permission, project_id)) return;
  throw new RequestError("forbidden", `This needs the permission "${permission}" in this project`);
}

/** The ids of the projects that a list is limited to; null: none. */
export function visibleProjects(principal: Principal, permission: Permission): string[] | null {
  const projects = allowedProjects(principal.grants, permission);
  return projects === "all" ? null : [...projects];
}

/** Whether a row of a project is to be seen: what is filtered out of lists is 404 elsewhere. */
export function isVisible(
  principal: Principal,
  permission: Permission,
  project_id: string,
): boolean {
  const projects = allowedProjects(principal.grants, permission);
  return projects === "all" || projects.has(project_id);
}

/**
 * A role that the principal may give: one whose permissions they all hold themselves.
 *
 * @throws RequestError invalid where there is no such role, forbidden where it allows more
 */
export async function requireRole(
  store: Store,
  principal: Principal,
  name: string,
  member = "role",
): Promise<RoleRow> {
  const role = await findRoleByName(store, name.normalize("NFC"));
  if (role === undefined) throw invalid(member, await describeMissingRole(store, principal, name));
  if (!covers(principal.grants, toGrants(role.permissions)))
    throw new RequestError("forbidden", `The role "${name}" allows more than your own roles do`);
  return role;
}

/**
 * Whoever lets an execution or a webhook do something uses its role, propagating or not, and the
 * permissions of the user for whom it acts: they must hold all of them.
 *
 * @throws RequestError forbidden
 */
export async function requireUsable(
  store: Store,
  principal: Principal,
  { role_id, acts_for }: { role_id: string | null; acts_for: string | null },
): Promise<void> {
  const role = role_id === null ? undefined : await findRole(store, role_id);
  if (role !== undefined && !covers(principal.grants, toGrants(role.permissions)))
    throw new RequestError(
      "forbidden",
      `The role "${role.name}" allows more than your own roles do`,
    );
  if (acts_for === null || acts_for === principal.user_id) return;
  const grants = await grantsOf(store, { role_id: null, acts_for });
  if (!covers(principal.grants, grants))
    throw new RequestError(
      "forbidden",
      "It acts for a user who may do more than your own roles allow",
    );
}

/**
 * Whoever can change a user can become that user, so they must hold all that the user may do.
 *
 * @returns names of the user's roles
 * @throws RequestError forbidden
 */
export async function requireNotAbove(
  store: Store,
  principal: Principal,
  user: Pick<UserRow, "id" | "name">,
): Promise<string[]> {
  const roles = await rolesOfUser(store, user.id);
  const grants = roles.flatMap((role) => toGrants(role.permissions));
  if (!covers(principal.grants, grants))
    throw new RequestError(
      "forbidden",
      `The user "${user.name}" may do more than your own roles allow`,
    );
  return roles.map((role) => role.name);
}
