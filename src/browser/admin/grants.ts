import { PERMISSIONS } from "../../shared/contract/permission.ts";
import { button, el } from "../element.ts";
import { plainTable } from "../paged-frame.ts";
import type { Grant, Named } from "../resources.ts";

/** `webhook` → [`read`, `write`, `authenticate`], in the order of the registry. */
const OPERATIONS: ReadonlyMap<string, readonly string[]> = Map.groupBy(
  PERMISSIONS.map((permission) => permission.split(".") as [string, string]),
  ([resource]) => resource,
)
  .entries()
  .reduce(
    (all, [resource, pairs]) =>
      all.set(
        resource,
        pairs.map(([, operation]) => operation),
      ),
    new Map<string, readonly string[]>(),
  );

/** The grants of a role, one line for each resource and project. */
export function grantTable(grants: readonly Grant[], projects: readonly Named[]): HTMLElement {
  const lines = [...linesOf(grants)].map(([key, operations]) => {
    const [resource = "", project_id = ""] = key.split(" ");
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, resource === "*" ? "everything" : resource),
      el(
        "td",
        {},
        operations.map((operation) => (operation === "*" ? "all" : operation)).join(", "),
      ),
      el("td", {}, projectName(project_id, projects)),
    );
  });
  return plainTable("Permissions", ["Resource", "Operations", "Where"], lines);
}

/** Keys are `<resource> <project>`, the project empty for all of them. */
function linesOf(grants: readonly Grant[]): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  for (const { permission, project_id } of grants) {
    const [resource = "", operation = "*"] = permission.split(".");
    const key = `${resource} ${project_id ?? ""}`;
    lines.set(key, [...(lines.get(key) ?? []), operation]);
  }
  return lines;
}

function projectName(id: string, projects: readonly Named[]): string {
  if (id === "") return "everywhere";
  return projects.find((project) => project.id === id)?.name ?? id;
}

/** A table of boxes: a line for each resource, and more for what holds in one project only. */
export function grantEditor(grants: readonly Grant[], projects: readonly Named[]): HTMLElement {
  const lines = linesOf(grants);
  const keys = [...[...OPERATIONS.keys()].map((resource) => `${resource} `), ...lines.keys()];
  const rows = [...new Set(keys)]
    .filter((key) => !key.startsWith("* "))
    .map((key) => editorRow(key, lines.get(key) ?? [], projects));
  const all = lines.has("* ");
  const everything = el("input", { type: "checkbox", "data-grant": "*", checked: all });
  const table = plainTable("Permissions", ["Resource", "Operations", "Where"], rows);
  return el(
    "fieldset",
    {},
    el("legend", {}, "Permissions"),
    el("label", { class: "box" }, everything, "Everything"),
    table,
    projects.length === 0 ? null : adder(table, projects),
    el("p", { class: "fault", "data-fault-of": "permissions" }),
  );
}

function editorRow(key: string, held: readonly string[], projects: readonly Named[]): HTMLElement {
  const [resource = "", project_id = ""] = key.split(" ");
  const operations = ["*", ...(OPERATIONS.get(resource) ?? [])];
  const boxes = operations.map((operation) => {
    const input = el("input", {
      type: "checkbox",
      "data-grant": `${resource}.${operation}`,
      "data-project": project_id,
      checked: held.includes(operation),
    });
    const name = el("span", { class: "hidden-text" }, `${resource} `);
    return el("label", { class: "box" }, input, name, operation === "*" ? "all" : operation);
  });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, resource),
    el("td", {}, el("span", { class: "boxes" }, ...boxes)),
    el("td", {}, projectName(project_id, projects)),
  );
}

/** Adds a line for a resource in one project. */
function adder(table: HTMLElement, projects: readonly Named[]): HTMLElement {
  const resource = el(
    "select",
    { "aria-label": "Resource" },
    ...[...OPERATIONS.keys()].map((name) => el("option", {}, name)),
  );
  const project = el(
    "select",
    { "aria-label": "Project" },
    ...projects.map(({ id = "", name }) => el("option", { value: id }, name)),
  );
  const add = button("Add a line for one project", "quiet", () => {
    const row = editorRow(`${resource.value} ${project.value}`, [], projects);
    table.querySelector("tbody")?.append(row);
  });
  return el("div", { class: "adder" }, resource, project, add);
}

export function readGrants(form: HTMLElement): Grant[] {
  const boxes = [...form.querySelectorAll<HTMLInputElement>("[data-grant]:checked")];
  return boxes.map(({ dataset }) => ({
    permission: dataset["grant"] ?? "",
    project_id: dataset["project"] || null,
  }));
}
