import { textsOf } from "../form-values.ts";
import type { Grant, Named } from "../resources.ts";
import { Table, type Column } from "../table.tsx";

/** The operations on a resource that a role allows, everywhere or in one project. */
export interface GrantLine {
  readonly resource: string;
  /** Empty: in all of them. */
  readonly projectId: string;
  readonly operations: readonly string[];
}

/** The grants of a role, one line for each resource and project. */
export function GrantTable(props: { grants: readonly Grant[]; projects: readonly Named[] }) {
  const columns: readonly Column<GrantLine>[] = [
    ["Resource", ({ resource }) => resourceName(resource), "head"],
    ["Operations", ({ operations }) => operations.map(nameOf).join(", ")],
    ["Where", ({ projectId }) => projectName(projectId, props.projects)],
  ];
  return <Table caption="Permissions" columns={columns} items={linesOf(props.grants)} />;
}

export function resourceName(resource: string): string {
  return resource === "*" ? "everything" : resource;
}

/** An operation in words. */
export function nameOf(operation: string): string {
  return operation === "*" ? "all" : operation;
}

export function linesOf(grants: readonly Grant[]): readonly GrantLine[] {
  const lines = new Map<string, GrantLine>();
  for (const { permission, project_id } of grants) {
    const [resource = "", operation = "*"] = permission.split(".");
    const projectId = project_id ?? "";
    const key = `${resource} ${projectId}`;
    const operations = [...(lines.get(key)?.operations ?? []), operation];
    lines.set(key, { resource, projectId, operations });
  }
  return [...lines.values()];
}

export function projectName(id: string, projects: readonly Named[]): string {
  if (id === "") return "everywhere";
  return projects.find((project) => project.id === id)?.name ?? id;
}

/**
 * The boxes of the editor that are set: `<permission> <project>`, as `toBox` writes them.
 *
 * @param held of the role, in whose order they stay: the boxes have another
 */
export function grantsOf(values: FormData, held: readonly Grant[]): Grant[] {
  const set = new Set(textsOf(values, "permissions"));
  const before = held.map(({ permission, project_id }) => toBox(permission, project_id ?? ""));
  const kept = before.filter((box) => set.has(box));
  return [...kept, ...set.difference(new Set(before))].map((box) => {
    const [permission = "", projectId = ""] = box.split(" ");
    return { permission, project_id: projectId || null };
  });
}

export function toBox(permission: string, projectId: string): string {
  return `${permission} ${projectId}`;
}
