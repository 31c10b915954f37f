import { readAll } from "../api.ts";
import { el } from "../element.ts";
import { check, field } from "../field.ts";
import { isChecked, valueOf } from "../form.ts";
import { plural } from "../format.ts";
import { may } from "../page.ts";
import type { Grant, Named } from "../resources.ts";
import { showCollection } from "./collection.ts";
import { grantEditor, grantTable, readGrants } from "./grants.ts";

interface Role extends Named {
  readonly permissions: readonly Grant[];
  readonly propagate: boolean;
}

export async function showRoles(place: HTMLElement): Promise<void> {
  const projects = may("project.read") ? await readAll<Named>("project") : [];
  await showCollection<Role>(place, {
    type: "role",
    noun: "role",
    plural: "Roles",
    note: "What users and, where a role propagates, the executions of webhooks may do.",
    canChange: may("role.write"),
    isBroad: true,
    columns: [
      { label: "Permissions", cell: ({ permissions }) => permissionsOf(permissions, projects) },
      { label: "-Propagates", cell: ({ propagate }) => (propagate ? "yes" : "no") },
    ],
    fields: (role) => fieldsOf(role, projects),
    toBody: (form) => ({
      name: valueOf(form, "name"),
      propagate: isChecked(form, "propagate"),
      permissions: readGrants(form),
    }),
    isFixed: ({ name }) => name === "admin",
    own_password: "password",
    deletion: "Only a role that no user and no webhook has can be deleted.",
  });
}

function permissionsOf(grants: readonly Grant[], projects: readonly Named[]): HTMLElement {
  const summary = grants.some(({ permission }) => permission === "*")
    ? "Everything"
    : plural(grants.length, "permission");
  return el("details", {}, el("summary", {}, summary), grantTable(grants, projects));
}

function fieldsOf(role: Role | null, projects: readonly Named[]): HTMLElement[] {
  const hint = "Executions of webhooks with this role have its permissions.";
  return [
    field({ name: "name", label: "Name", value: role?.name ?? "", required: true }),
    check("propagate", "Propagates", role?.propagate ?? false, hint),
    grantEditor(role?.permissions ?? [], projects),
  ];
}
