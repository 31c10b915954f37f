import { listOf } from "../../shared/contract/list.ts";
import { PASSWORD_CHANGE } from "../../shared/contract/login.ts";
import { ONLY_PASSWORD } from "../../shared/contract/own-password.ts";
import {
  NEW_USER,
  USER,
  USER_CHANGE,
  type User,
  type UserChange,
} from "../../shared/contract/user.ts";
import * as v from "valibot";
import { requirePassword, type Principal } from "../access/login.ts";
import { hashPassword } from "../access/password.ts";
import { now, toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { newId } from "../../shared/id.ts";
import {
  deletePeople,
  deleteTokensOfUser,
  deleteUserRoles,
  findRoleByName,
  findUserByName,
  insertUser,
  insertUserRole,
  listPeople,
  rolesOfUser,
  updatePassword,
  updateUser,
  type UserRow,
} from "../store/people.ts";
import { countOthersWithRole, roleNamesOf } from "../store/user-roles.ts";
import { requireNotAbove, requireRole } from "./access.ts";
import type { Api } from "./api.ts";
import { changesOf, creationOf, deletionOf } from "./audit-changes.ts";
import { missing, MOST_NAMES } from "./missing.ts";
import { commitNamed, nextTime, requireMatch, toEtag } from "./named.ts";
import { fromCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { defineRoute } from "./route.ts";

/** @param roles names of them */
export function toUser(row: UserRow, roles: readonly string[]): User {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    roles,
    is_enabled: row.is_enabled === 1,
    active_at: toIso(row.active_at),
    created_at: toIso(row.created_at),
    modified_at: toIso(row.modified_at),
  };
}

async function requireUser(api: Api, name: string): Promise<UserRow> {
  const row = await findUserByName(api.store, name.normalize("NFC"));
  if (row !== undefined) return row;
  const page = { after: undefined, limit: MOST_NAMES, descending: false };
  throw missing(
    "user",
    name,
    (await listPeople(api.store, "user", page)).map((user) => user.name),
  );
}

/** @throws RequestError conflict where nobody would be left who may do everything */
async function requireAnotherAdmin(
  api: Api,
  row: UserRow,
  roles: readonly string[],
): Promise<void> {
  const admin = await findRoleByName(api.store, "admin");
  if (admin === undefined || !roles.includes("admin") || row.is_enabled !== 1) return;
  if ((await countOthersWithRole(api.store, admin.id, row.id)) > 0) return;
  throw new RequestError(
    "conflict",
    `"${row.name}" is the last enabled user with the role "admin"`,
  );
}

export const getUsers = defineRoute({
  method: "GET",
  path: "/user",
  summary: "List users by name",
  needs: "user.read",
  query: v.strictObject({ ...PAGE_QUERY }),
  answer: listOf(USER),
  async act(api, { query }) {
    const rows = await listPeople(api.store, "user", {
      after: fromCursor(query.cursor),
      limit: query.limit + 1,
      descending: query.order === "desc",
    });
    const ids = rows.map(({ id }) => id);
    const names = await roleNamesOf(api.store, ids);
    const toItem = (row: UserRow) => toUser(row, names.get(row.id) ?? []);
    const page = toPage(rows, query.limit, (row) => row.name);
    return { status: 200, body: toList(page, toItem) };
  },
});

export const getUser = defineRoute({
  method: "GET",
  path: "/user/:name",
  summary: "Read one user",
  needs: "user.read",
  answer: USER,
  async act(api, { params }) {
    const row = await requireUser(api, params["name"] ?? "");
    const roles = await rolesOfUser(api.store, row.id);
    const body = toUser(
      row,
      roles.map((role) => role.name),
    );
    return { status: 200, body, headers: { etag: toEtag(row) } };
  },
});

export const createUser = defineRoute({
  method: "POST",
  path: "/user",
  summary: "Create a user with roles that you hold yourself",
  needs: "user.write",
  action: "user.create",
  body: NEW_USER,
  example: {
    name: "ada",
    email: "ada@example.org",
    password: "at least twelve characters",
    roles: ["operator"],
    own_password: "your own password",
  },
  status: 201,
  answer: USER,
  async act(api, { principal, body }) {
    const roles = await Promise.all(
      body.roles.map((name) => requireRole(api.store, principal, name, "roles")),
    );
    await requirePassword(api.logins, principal, body.own_password, "own_password");
    const at = now();
    const row: UserRow = {
      id: newId(),
      name: body.name,
      email: body.email,
      password_hash: await hashPassword(body.password),
      is_enabled: Number(body.is_enabled),
      active_at: null,
      created_at: at,
      modified_at: at,
    };
    await commitNamed(api.store, row.name, [
      insertUser(api.store, row),
      ...roles.map((role) => insertUserRole(api.store, row.id, role.id)),
    ]);
    const made = toUser(row, body.roles);
    const changes = creationOf("user", body, made);
    return { status: 201, body: made, headers: { etag: toEtag(row) }, changes };
  },
});

export const patchUser = defineRoute({
  method: "PATCH",
  path: "/user/:name",
  summary: "Change a user; a new password, or disabling, ends the user's login tokens",
  needs: "user.write",
  action: "user.change",
  body: USER_CHANGE,
  example: { roles: ["operator", "developer"], own_password: "your own password" },
  answer: USER,
  async act(api, { principal, params, body, ifMatch }) {
    const row = await requireUser(api, params["name"] ?? "");
    const held = await requireNotAbove(api.store, principal, row);
    await requirePassword(api.logins, principal, body.own_password, "own_password");
    requireMatch(row, ifMatch);
    const losesAdmin = body.roles !== undefined && !body.roles.includes("admin");
    if (losesAdmin || body.is_enabled === false) await requireAnotherAdmin(api, row, held);
    const changed = await toChanged(row, body);
    const { id: _id, ...change } = changed;
    await commitNamed(api.store, changed.name, [
      updateUser(api.store, row.id, row.modified_at, change),
      ...(await toRoleChanges(api, principal, row, body.roles)),
      ...(body.password !== undefined || body.is_enabled === false
        ? [deleteTokensOfUser(api.store, row.id)]
        : []),
    ]);
    const answer = toUser(changed, body.roles ?? held);
    const changes = changesOf("user", toUser(row, held), answer);
    return { status: 200, body: answer, headers: { etag: toEtag(changed) }, changes };
  },
});

async function toChanged(row: UserRow, body: UserChange): Promise<UserRow> {
  return {
    ...row,
    name: body.name ?? row.name,
    email: body.email ?? row.email,
    is_enabled: Number(body.is_enabled ?? row.is_enabled === 1),
    ...(body.password === undefined ? {} : { password_hash: await hashPassword(body.password) }),
    modified_at: nextTime(row),
  };
}

async function toRoleChanges(
  api: Api,
  principal: Principal,
  row: UserRow,
  names: readonly string[] | undefined,
) {
  if (names === undefined) return [];
  const roles = await Promise.all(
    names.map((name) => requireRole(api.store, principal, name, "roles")),
  );
  return [
    deleteUserRoles(api.store, row.id),
    ...roles.map((role) => insertUserRole(api.store, row.id, role.id)),
  ];
}

export const removeUser = defineRoute({
  method: "DELETE",
  path: "/user/:name",
  summary: "Delete a user, and with it the user's login tokens",
  needs: "user.write",
  action: "user.delete",
  body: ONLY_PASSWORD,
  example: { password: "your own password" },
  status: 204,
  async act(api, { principal, params, body, ifMatch }) {
    const row = await requireUser(api, params["name"] ?? "");
    const held = await requireNotAbove(api.store, principal, row);
    await requirePassword(api.logins, principal, body.password);
    requireMatch(row, ifMatch);
    await requireAnotherAdmin(api, row, held);
    await commitNamed(api.store, row.name, [deletePeople(api.store, "user", row.id)]);
    return { status: 204, changes: deletionOf("user", toUser(row, held)) };
  },
});

export const changePassword = defineRoute({
  method: "PUT",
  path: "/auth/password",
  summary: "Change the own password; the own other login tokens end",
  needs: "login",
  action: "auth.password",
  body: PASSWORD_CHANGE,
  example: { password: "the one until now", new_password: "at least twelve characters" },
  status: 204,
  async act(api, { principal, body }) {
    await requirePassword(api.logins, principal, body.password);
    const password_hash = await hashPassword(body.new_password);
    await api.store.commit([
      updatePassword(api.store, { id: principal.user_id, password_hash, at: now() }),
      deleteTokensOfUser(api.store, principal.user_id, principal.tokenId),
    ]);
    return { status: 204, target: principal.user_name };
  },
});
