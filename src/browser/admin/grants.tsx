import { textsOf } from "../form.tsx";
import type { Grant, Named } from "../resources.ts";
import { Table } from "../table.tsx";

export const GRANT_COLUMNS = ["Resource", "Operations", "Where"];

/** The grants of a role, one line for each resource and project. */
export function GrantTable(props: { grants: readonly Grant[]; projects: readonly Named[] }) {
  const { grants, projects } = props;
  return (
    <Table caption="Permissions" columns={GRANT_COLUMNS}>
      {[...linesOf(grants)].map(([key, operations]) => {
        const [resource = "", projectId = ""] = key.split(" ");
        const names = operations.map((operation) => (operation === "*" ? "all" : operation));
        return (
          <tr>
            <th scope="row">{resource === "*" ? "everything" : resource}</th>
            <td>{names.join(", ")}</td>
            <td>{projectName(projectId, projects)}</td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Keys are `<resource> <project>`, the project empty for all of them. */
export function linesOf(grants: readonly Grant[]): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  for (const { permission, project_id } of grants) {
    const [resource = "", operation = "*"] = permission.split(".");
    const key = `${resource} ${project_id ?? ""}`;
    lines.set(key, [...(lines.get(key) ?? []), operation]);
  }
  return lines;
}

export function projectName(id: string, projects: readonly Named[]): string {
  if (id === "") return "everywhere";
  return projects.find((project) => project.id === id)?.name ?? id;
}

/** The boxes of the editor that are set: `<permission> <project>`, as `toBox` writes them. */
export function grantsOf(values: FormData): Grant[] {
  return textsOf(values, "permissions").map((box) => {
    const [permission = "", projectId = ""] = box.split(" ");
    return { permission, project_id: projectId || null };
  });
}

export function toBox(permission: string, projectId: string): string {
  return `${permission} ${projectId}`;
}
