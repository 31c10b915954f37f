import { readAll } from "../api.ts";
import { Check, Field } from "../field.tsx";
import { changesOf, textOf } from "../form-values.ts";
import { plural } from "../format.ts";
import { useLoaded } from "../loaded.ts";
import { may } from "../page.ts";
import type { Grant, Named } from "../resources.ts";
import { Collection } from "./collection.tsx";
import { GrantEditor } from "./grant-editor.tsx";
import { grantsOf, GrantTable } from "./grants.tsx";

interface Role extends Named {
  readonly permissions: readonly Grant[];
  readonly propagate: boolean;
}

export function Roles() {
  const [projects] = useLoaded(() =>
    may("project.read") ? readAll<Named>("project") : Promise.resolve([]),
  );
  if (projects === null) return null;
  return (
    <Collection<Role>
      type="role"
      noun="role"
      plural="Roles"
      note="What users and, where a role propagates, the executions of webhooks may do."
      canChange={may("role.write")}
      isBroad
      columns={[
        [
          "Permissions",
          ({ permissions }) => <RoleGrants grants={permissions} projects={projects} />,
        ],
        ["Propagates", ({ propagate }) => (propagate ? "yes" : "no"), "wide"],
      ]}
      fields={(role) => <RoleFields role={role} projects={projects} />}
      toBody={(values, role) =>
        changesOf(role, {
          name: textOf(values, "name"),
          propagate: values.has("propagate"),
          permissions: grantsOf(values, role?.permissions ?? []),
        })
      }
      isFixed={({ name }) => name === "admin"}
      ownPassword="password"
      deletion="Only a role that no user and no webhook has can be deleted."
    />
  );
}

function RoleGrants(props: { grants: readonly Grant[]; projects: readonly Named[] }) {
  const { grants } = props;
  const isAll = grants.some(({ permission }) => permission === "*");
  return (
    <details>
      <summary>{isAll ? "Everything" : plural(grants.length, "permission")}</summary>
      <GrantTable {...props} />
    </details>
  );
}

function RoleFields({ role, projects }: { role: Role | null; projects: readonly Named[] }) {
  return (
    <>
      <Field name="name" label="Name" value={role?.name ?? ""} isRequired />
      <Check
        name="propagate"
        label="Propagates"
        isChecked={role?.propagate ?? false}
        hint="Executions of webhooks with this role have its permissions."
      />
      <GrantEditor grants={role?.permissions ?? []} projects={projects} />
    </>
  );
}
