import { useRef, useState, type Child } from "hono/jsx/dom";
import { PERMISSIONS } from "../../shared/contract/permission.ts";
import { Button } from "../button.tsx";
import { ErrorLine } from "../field.tsx";
import type { Grant, Named } from "../resources.ts";
import { Table, type Column } from "../table.tsx";
import { linesOf, nameOf, projectName, resourceName, toBox, type GrantLine } from "./grants.tsx";

/** `webhook` → `webhook.read`, `webhook.write`, ..., in the order of the registry. */
const BY_RESOURCE: ReadonlyMap<string, readonly string[]> = Map.groupBy(
  PERMISSIONS,
  (permission) => permission.split(".")[0] ?? "",
);

/** A table of boxes: a line for each resource, and more for what holds in one project only. */
export function GrantEditor(props: { grants: readonly Grant[]; projects: readonly Named[] }) {
  const { grants, projects } = props;
  const [added, setAdded] = useState<readonly GrantLine[]>([]);
  const general = [...BY_RESOURCE.keys()].map((resource): GrantLine => ({
    resource,
    projectId: "",
    operations: [],
  }));
  // The last of a key counts: a line that is added where the role has one keeps its boxes.
  const lines = new Map(
    [...general, ...added, ...linesOf(grants)].map((line) => [keyOf(line), line]),
  );
  const everything = lines.get("* ");
  lines.delete("* ");
  const columns: readonly Column<GrantLine>[] = [
    ["Resource", ({ resource }) => resourceName(resource), "head"],
    ["Operations", (line) => <Boxes line={line} />],
    ["Where", ({ projectId }) => projectName(projectId, projects)],
  ];
  return (
    <fieldset>
      <legend>Permissions</legend>
      <Box of={toBox("*", "")} style="everything" isHeld={everything !== undefined}>
        Everything
      </Box>
      <Table
        caption="Permissions"
        columns={columns}
        items={[...lines.values()]}
        rowOf={(line) => ({ id: keyOf(line) })}
      />
      {projects.length === 0 ? null : (
        <Adder projects={projects} add={(line) => setAdded([...added, line])} />
      )}
      <ErrorLine name="permissions" />
    </fieldset>
  );
}

function keyOf({ resource, projectId }: GrantLine): string {
  return `${resource} ${projectId}`;
}

function Boxes({ line: { resource, projectId, operations } }: { line: GrantLine }) {
  const permissions =
    resource === "*" ? ["*"] : [`${resource}.*`, ...(BY_RESOURCE.get(resource) ?? [])];
  return (
    <span class="boxes">
      {permissions.map((permission) => {
        const [, operation = "*"] = permission.split(".");
        const style = operation === "*" ? "all" : "";
        const isHeld = operations.includes(operation);
        return (
          <Box of={toBox(permission, projectId)} style={style} isHeld={isHeld}>
            <span class="hidden-text">{resource} </span>
            {nameOf(operation)}
          </Box>
        );
      })}
    </span>
  );
}

function Box(props: { of: string; style: string; isHeld: boolean; children: Child }) {
  const { of, style, isHeld, children } = props;
  return (
    <label class="box">
      <input type="checkbox" name="permissions" value={of} class={style} checked={isHeld} />
      {children}
    </label>
  );
}

/** Adds a line for a resource in one project. */
function Adder({ projects, add }: { projects: readonly Named[]; add: (line: GrantLine) => void }) {
  const resource = useRef<HTMLSelectElement | null>(null);
  const project = useRef<HTMLSelectElement | null>(null);
  const addChosen = () =>
    add({
      resource: resource.current?.value ?? "",
      projectId: project.current?.value ?? "",
      operations: [],
    });
  return (
    <div class="adder">
      <select aria-label="Resource" ref={resource}>
        {[...BY_RESOURCE.keys()].map((name) => (
          <option>{name}</option>
        ))}
      </select>
      <select aria-label="Project" ref={project}>
        {projects.map(({ id = "", name }) => (
          <option value={id}>{name}</option>
        ))}
      </select>
      <Button style="quiet" act={addChosen}>
        Add a line for one project
      </Button>
    </div>
  );
}
