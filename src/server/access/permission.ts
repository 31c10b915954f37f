import type { Grant, Permission } from "../../shared/contract/permission.ts";

/**
 * Whether the grants allow an act in a project; without one, whether they allow it at all: in
 * which projects is another question then.
 */
export function isAllowed(
  grants: readonly Grant[],
  permission: Permission,
  project_id?: string,
): boolean {
  const projects = allowedProjects(grants, permission);
  if (projects === "all") return true;
  if (project_id !== undefined) return projects.has(project_id);
  return projects.size > 0 && IN_PROJECTS.test(permission);
}

/**
 * What a grant for one project opens the door to: resources that are in projects, and the
 * catalogue of flows that all projects use. Users, roles, settings, secrets, the audit, the
 * configuration and the workspace belong to no project, so a grant for one project does not reach them.
 */
const IN_PROJECTS = /^(webhook\.|execution\.|project\.|flow\.read$|bundle\.read$)/;

/** The projects in which an act is allowed; "all" without a limit. */
export function allowedProjects(
  grants: readonly Grant[],
  permission: Permission,
): "all" | ReadonlySet<string> {
  const fitting = grants.filter((grant) => includes(grant.permission, permission));
  if (fitting.some((grant) => grant.project_id === null)) return "all";
  return new Set(fitting.map((grant) => grant.project_id as string));
}

/** Whether everything that `wanted` allows is allowed by `held`: nobody can give more. */
export function covers(held: readonly Grant[], wanted: readonly Grant[]): boolean {
  return wanted.every((grant) =>
    held.some(
      (own) =>
        includesGrant(own.permission, grant.permission) &&
        (own.project_id === null || own.project_id === grant.project_id),
    ),
  );
}

function includes(pattern: string, permission: string): boolean {
  if (pattern === "*" || pattern === permission) return true;
  return pattern.endsWith(".*") && permission.startsWith(pattern.slice(0, -1));
}

/** As `includes`, but the wanted one may be a pattern as well. */
function includesGrant(pattern: string, wanted: string): boolean {
  if (includes(pattern, wanted)) return true;
  return !wanted.includes("*") ? false : pattern === wanted;
}

/** The roles at first start (contract, section 2). */
export const FIRST_ROLES: readonly {
  readonly name: string;
  readonly propagate: boolean;
  readonly permissions: readonly string[];
}[] = [
  { name: "admin", propagate: false, permissions: ["*"] },
  {
    name: "operator",
    propagate: false,
    permissions: [
      "webhook.*",
      "execution.*",
      "flow.*",
      "project.*",
      "bundle.*",
      "role.read",
      "user.read",
      "setting.*",
      "secret.*",
      "audit.read",
      "config.read",
      "workspace.*",
    ],
  },
  {
    name: "developer",
    propagate: false,
    permissions: [
      "webhook.read",
      "webhook.write",
      "execution.*",
      "flow.*",
      "project.read",
      "bundle.read",
      "setting.*",
      "secret.use",
      "workspace.read",
    ],
  },
  {
    name: "viewer",
    propagate: false,
    permissions: [
      "webhook.read",
      "execution.read",
      "flow.read",
      "project.read",
      "bundle.read",
      "workspace.read",
    ],
  },
  {
    name: "webhook",
    propagate: true,
    permissions: ["execution.start", "setting.read", "setting.write", "secret.use"],
  },
];
