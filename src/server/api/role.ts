import { listOf } from "../../shared/contract/list.ts";
import { ONLY_PASSWORD } from "../../shared/contract/own-password.ts";
import { NEW_ROLE, ROLE, ROLE_CHANGE, type Role } from "../../shared/contract/role.ts";
import * as v from "valibot";
import { requirePassword, toGrants, type Principal } from "../access/login.ts";
import type { Grant } from "../../shared/contract/permission.ts";
import { covers } from "../access/permission.ts";
import { now, toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { newId } from "../../shared/id.ts";
import {
  findProject,
  findRoleByName,
  insertRole,
  listPeople,
  updatePeople,
  type RoleRow,
} from "../store/people.ts";
import type { Api } from "./api.ts";
import { changesOf, creationOf, deletionOf } from "./audit-changes.ts";
import { roleNames } from "./filter-names.ts";
import { removeUnused } from "./in-use.ts";
import { missing } from "./missing.ts";
import { commitNamed, invalid, nextTime, requireMatch, toEtag } from "./named.ts";
import { fromCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { defineRoute } from "./route.ts";

export function toRole(row: RoleRow): Role {
  return {
    id: row.id,
    name: row.name,
    permissions: toGrants(row.permissions),
    propagate: row.propagate === 1,
    created_at: toIso(row.created_at),
    modified_at: toIso(row.modified_at),
  };
}

async function findNamed(api: Api, principal: Principal, name: string): Promise<RoleRow> {
  const row = await findRoleByName(api.store, name.normalize("NFC"));
  if (row !== undefined) return row;
  throw missing("role", name, await roleNames(api.store, principal));
}

/** Nobody gives or edits what they do not hold themselves. */
function requireCovered(principal: Principal, grants: readonly Grant[]): void {
  if (covers(principal.grants, grants)) return;
  throw new RequestError("forbidden", "The role allows more than your own roles do");
}

/** The role `admin` is the way back in: it always allows everything. */
function refuseAdmin(row: RoleRow): void {
  if (row.name === "admin")
    throw new RequestError("forbidden", 'The role "admin" can be neither changed nor deleted');
}

async function requireProjects(api: Api, grants: readonly Grant[]): Promise<void> {
  for (const { project_id } of grants)
    if (project_id !== null && (await findProject(api.store, project_id)) === undefined)
      throw invalid("permissions", `there is no project "${project_id}"`);
}

export const getRoles = defineRoute({
  method: "GET",
  path: "/role",
  summary: "List roles by name",
  needs: "role.read",
  query: v.strictObject({ ...PAGE_QUERY }),
  answer: listOf(ROLE),
  async act(api, { query }) {
    const rows = await listPeople(api.store, "role", {
      after: fromCursor(query.cursor),
      limit: query.limit + 1,
      descending: query.order === "desc",
    });
    const page = toPage(rows, query.limit, (row) => row.name);
    return { status: 200, body: toList(page, toRole) };
  },
});

export const getRole = defineRoute({
  method: "GET",
  path: "/role/:name",
  summary: "Read one role",
  needs: "role.read",
  answer: ROLE,
  async act(api, { principal, params }) {
    const row = await findNamed(api, principal, params["name"] ?? "");
    return { status: 200, body: toRole(row), headers: { etag: toEtag(row) } };
  },
});

export const createRole = defineRoute({
  method: "POST",
  path: "/role",
  summary: "Create a role of permissions that you hold yourself",
  needs: "role.write",
  action: "role.create",
  body: NEW_ROLE,
  example: {
    name: "on-call",
    permissions: ["webhook.read", { permission: "execution.*" }],
    password: "your own password",
  },
  status: 201,
  answer: ROLE,
  async act(api, { principal, body }) {
    requireCovered(principal, body.permissions);
    await requireProjects(api, body.permissions);
    await requirePassword(api.logins, principal, body.password);
    const at = now();
    const row: RoleRow = {
      id: newId(),
      name: body.name,
      permissions: JSON.stringify(body.permissions),
      propagate: Number(body.propagate),
      created_at: at,
      modified_at: at,
    };
    await commitNamed(api.store, row.name, [insertRole(api.store, row)]);
    const made = toRole(row);
    const changes = creationOf("role", body, made);
    return { status: 201, body: made, headers: { etag: toEtag(row) }, changes };
  },
});

export const patchRole = defineRoute({
  method: "PATCH",
  path: "/role/:name",
  summary: "Change a role within what you hold yourself",
  needs: "role.write",
  action: "role.change",
  body: ROLE_CHANGE,
  example: { permissions: ["webhook.read", "execution.*"], password: "your own password" },
  answer: ROLE,
  async act(api, { principal, params, body, ifMatch }) {
    const row = await findNamed(api, principal, params["name"] ?? "");
    refuseAdmin(row);
    requireCovered(principal, [...toGrants(row.permissions), ...(body.permissions ?? [])]);
    await requirePassword(api.logins, principal, body.password);
    requireMatch(row, ifMatch);
    await requireProjects(api, body.permissions ?? []);
    const changed: RoleRow = {
      ...row,
      name: body.name ?? row.name,
      permissions: body.permissions ? JSON.stringify(body.permissions) : row.permissions,
      propagate: Number(body.propagate ?? row.propagate === 1),
      modified_at: nextTime(row),
    };
    const { id: _id, ...change } = changed;
    const unit = [updatePeople(api.store, "role", row, change)];
    await commitNamed(api.store, changed.name, unit);
    const answer = toRole(changed);
    const changes = changesOf("role", toRole(row), answer);
    return { status: 200, body: answer, headers: { etag: toEtag(changed) }, changes };
  },
});

export const removeRole = defineRoute({
  method: "DELETE",
  path: "/role/:name",
  summary: "Delete a role that no user and no webhook has",
  needs: "role.write",
  action: "role.delete",
  body: ONLY_PASSWORD,
  example: { password: "your own password" },
  status: 204,
  async act(api, { principal, params, body, ifMatch }) {
    const row = await findNamed(api, principal, params["name"] ?? "");
    refuseAdmin(row);
    requireCovered(principal, toGrants(row.permissions));
    await requirePassword(api.logins, principal, body.password);
    requireMatch(row, ifMatch);
    await removeUnused(api, principal, "role", row);
    return { status: 204, changes: deletionOf("role", toRole(row)) };
  },
});
