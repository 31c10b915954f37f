import { now } from "../lib/clock.ts";
import { newId } from "../lib/id.ts";
import type { Store } from "../store/database.ts";
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
import { FIRST_ROLES, type Grant } from "./permission.ts";

/** The project that always exists. */
export const DEFAULT_PROJECT = "Default";

export interface FirstStart {
  /** A generated password of the user `admin`, to be shown once; null where none was made. */
  readonly admin_password: string | null;
  readonly default_project_id: string;
}

/**
 * Fills an empty store: the Default project, the first roles and the user `admin`, in one commit.
 *
 * @param given FLOWHOOK_ADMIN_PASSWORD; null: one is generated
 */
export async function fillEmptyStore(store: Store, given: string | null): Promise<FirstStart> {
  const project = await findProjectByName(store, DEFAULT_PROJECT);
  if (project !== undefined && (await countUsers(store)) > 0)
    return { admin_password: null, default_project_id: project.id };
  const at = now();
  const stamps = { created_at: at, modified_at: at };
  const password = given ?? generatePassword();
  const project_id = project?.id ?? newId();
  const admin_role = (await findRoleByName(store, "admin"))?.id ?? newId();
  const user_id = newId();
  const roles = project === undefined ? toRoles(admin_role) : [];
  await store.commit([
    ...(project === undefined
      ? [
          insertProject(store, {
            id: project_id,
            name: DEFAULT_PROJECT,
            description: "",
            ...stamps,
          }),
        ]
      : []),
    ...roles.map((role) => insertRole(store, { ...role, ...stamps })),
    insertUser(store, {
      id: user_id,
      name: "admin",
      email: "",
      password_hash: await hashPassword(password),
      is_enabled: 1,
      active_at: null,
      ...stamps,
    }),
    insertUserRole(store, user_id, admin_role),
  ]);
  return { admin_password: given === null ? password : null, default_project_id: project_id };
}

function toRoles(
  admin_id: string,
): { id: string; name: string; permissions: string; propagate: number }[] {
  return FIRST_ROLES.map(({ name, propagate, permissions }) => {
    const grants: Grant[] = permissions.map((permission) => ({ permission, project_id: null }));
    const id = name === "admin" ? admin_id : newId();
    return { id, name, permissions: JSON.stringify(grants), propagate: Number(propagate) };
  });
}
