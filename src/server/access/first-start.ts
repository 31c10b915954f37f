import { now } from "../../shared/clock.ts";
import { newId } from "../../shared/id.ts";
import { requireLong } from "../config/first-password.ts";
import { findKeyCheck } from "../store/key-check.ts";
import type { Store } from "../store/store.ts";
import type { Unit } from "../store/statement.ts";
import {
  countUsers,
  findProjectByName,
  findRoleByName,
  insertProject,
  insertRole,
  insertUser,
  insertUserRole,
} from "../store/people.ts";
import { generatePassword, hashPassword } from "./password.ts";
import type { Grant } from "../../shared/contract/permission.ts";
import { FIRST_ROLES } from "./permission.ts";

/** The project that always exists. */
export const DEFAULT_PROJECT = "Default";

/** The first start on a store; on one that is filled, `commit` has nothing to do. */
export interface FirstStart {
  /**
   * A generated password of the user `admin`; null where none was made. Show it before `commit`:
   * then a kill between the two leaves an empty store, and the next start shows another.
   */
  readonly adminPassword: string | null;
  /** Whether there were users before: what was given as their password is not used. */
  readonly isFilled: boolean;
  readonly defaultProjectId: string;
  /** Writes the Default project, the first roles and the user `admin`, in one commit. */
  commit(): Promise<void>;
}

/**
 * Takes the first start of a database that several services use, where something of it is missing:
 * one of them makes it, and the others go on with what that one has made.
 *
 * @param onWait is told that another service has it
 */
export async function takeFirstStart(store: Store, onWait: () => void): Promise<AsyncDisposable> {
  const { shared } = store;
  if (shared === null || (await isFilled(store))) return NOTHING;
  const taken = await shared.hold("firstStart", false);
  if (taken !== null) return taken;
  onWait();
  return (await shared.hold("firstStart", true)) ?? NOTHING;
}

const NOTHING: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} };

async function isFilled(store: Store): Promise<boolean> {
  return (await findKeyCheck(store)) !== undefined && (await countUsers(store)) > 0;
}

/**
 * Prepares what an empty store is filled with, and writes nothing yet.
 *
 * @param wanted gives FLOWHOOK_ADMIN_PASSWORD, or what a command was given; null: one is generated
 * @param keyUnit what the data key leaves; see key-check.ts
 * @throws ConfigError where the given password is too short
 */
export async function prepareFirstStart(
  store: Store,
  wanted: () => string | null,
  keyUnit: Unit = [],
): Promise<FirstStart> {
  const project = await findProjectByName(store, DEFAULT_PROJECT);
  const commit = async (unit: Unit): Promise<void> => {
    if (unit.length > 0) await store.commit(unit);
  };
  if (project !== undefined && (await countUsers(store)) > 0)
    return {
      adminPassword: null,
      isFilled: true,
      defaultProjectId: project.id,
      commit: () => commit(keyUnit),
    };
  const project_id = project?.id ?? newId();
  const given = wanted();
  requireLong(given);
  const password = given ?? generatePassword();
  const password_hash = await hashPassword(password);
  const adminRole = (await findRoleByName(store, "admin"))?.id ?? newId();
  const unit = [
    ...keyUnit,
    ...(project === undefined ? toFirstResources(store, project_id, adminRole) : []),
    ...toAdmin(store, password_hash, adminRole),
  ];
  return {
    adminPassword: given === null ? password : null,
    isFilled: false,
    defaultProjectId: project_id,
    commit: () => commit(unit),
  };
}

function toFirstResources(store: Store, project_id: string, adminRole: string): Unit {
  const at = now();
  const stamps = { created_at: at, modified_at: at };
  const project = { id: project_id, name: DEFAULT_PROJECT, description: "", ...stamps };
  return [
    insertProject(store, project),
    ...toRoles(adminRole).map((role) => insertRole(store, { ...role, ...stamps })),
  ];
}

function toAdmin(store: Store, password_hash: string, role_id: string): Unit {
  const [id, at] = [newId(), now()];
  const stamps = { active_at: null, created_at: at, modified_at: at };
  const user = { id, name: "admin", email: "", password_hash, is_enabled: 1, ...stamps };
  return [insertUser(store, user), insertUserRole(store, id, role_id)];
}

function toRoles(
  adminId: string,
): { id: string; name: string; permissions: string; propagate: number }[] {
  return FIRST_ROLES.map(({ name, propagate, permissions }) => {
    const grants: Grant[] = permissions.map((permission) => ({ permission, project_id: null }));
    const id = name === "admin" ? adminId : newId();
    return { id, name, permissions: JSON.stringify(grants), propagate: Number(propagate) };
  });
}
