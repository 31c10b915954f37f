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
import { isAllowed } from "../access/permission.ts";
import { hashPassword } from "../access/password.ts";
import { now, toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { newId } from "../../shared/id.ts";
import {
  deletePeople,
  deleteUserRoles,
  findUser,
  findUserByName,
  insertUser,
  insertUserRole,
  listPeople,
  rolesOfUser,
  updatePeople,
  type UserRow,
} from "../store/people.ts";
import { deleteTokensOfUser } from "../store/tokens.ts";
import type { Unit } from "../store/statement.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { ADMIN, keepingAdmin, NO_ADMIN, roleNamesOf } from "../store/user-roles.ts";
import { requireNotAbove, requireRole } from "./access.ts";
import type { Api } from "./api.ts";
import { changesOf, creationOf, deletionOf } from "./audit-changes.ts";
import { missing, MOST_NAMES, namesOf } from "./missing.ts";
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

async function requireUser(api: Api, { grants }: Principal, name: string): Promise<UserRow> {
  const row = await findUserByName(api.store, name.normalize("NFC"));
  if (row !== undefined) return row;
  const page = { after: undefined, limit: MOST_NAMES, descending: false };
  const maySee = isAllowed(grants, "user.read");
  throw missing("user", name, maySee ? await namesOf(listPeople(api.store, "user", page)) : []);
}

/**
 * Commits what changes a user and may take the role `admin` from it. It goes by the user as it was
 * read: the unit has to fail where the user has changed since.
 *
 * @param held names of the user's roles
 * @param name for the messages
 * @throws RequestError conflict where nobody would be left who may do everything
 */
export async function commitKeepingAdmin(
  store: Store,
  { user, held, name = user.name }: { user: UserRow; held: readonly string[]; name?: string },
  unit: Unit,
): Promise<void> {
  // Who has nothing to take away is no reason to refuse a change, whoever else has the role.
  if (user.is_enabled === 0 || !held.includes(ADMIN)) return commitNamed(store, name, unit);
  try {
    await commitNamed(store, name, keepingAdmin(store, unit));
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== NO_ADMIN) throw error;
    const message = `Without "${name}" there would be no enabled user with the role "${ADMIN}"`;
    throw new RequestError("conflict", message, { cause: error });
  }
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
  async act(api, { principal, params }) {
    const row = await requireUser(api, principal, params["name"] ?? "");
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
    const row = await requireUser(api, principal, params["name"] ?? "");
    const held = await requireNotAbove(api.store, principal, row);
    await requirePassword(api.logins, principal, body.own_password, "own_password");
    requireMatch(row, ifMatch);
    const changed = await toChanged(row, body);
    const { id: _id, ...change } = changed;
    await commitKeepingAdmin(api.store, { user: row, held, name: changed.name }, [
      updatePeople(api.store, "user", row, change),
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
    const row = await requireUser(api, principal, params["name"] ?? "");
    const held = await requireNotAbove(api.store, principal, row);
    await requirePassword(api.logins, principal, body.password);
    requireMatch(row, ifMatch);
    await commitKeepingAdmin(api.store, { user: row, held }, [
      deletePeople(api.store, "user", row),
    ]);
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
    // Read first: of a password that somebody else sets meanwhile, the old one decides nothing.
    const row = await findUser(api.store, principal.user_id);
    await requirePassword(api.logins, principal, body.password);
    if (row === undefined) throw missing("user", principal.user_name, []);
    const password_hash = await hashPassword(body.new_password);
    const change = { password_hash, modified_at: nextTime(row) };
    await commitNamed(api.store, row.name, [
      updatePeople(api.store, "user", row, change),
      deleteTokensOfUser(api.store, row.id, principal.tokenId),
    ]);
    return { status: 204, target: principal.user_name };
  },
});
