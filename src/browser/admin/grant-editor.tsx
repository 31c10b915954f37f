import { useRef, useState } from "hono/jsx/dom";
import { PERMISSIONS } from "../../shared/contract/permission.ts";
import { Button } from "../button.tsx";
import { ErrorLine } from "../field.tsx";
import type { Grant, Named } from "../resources.ts";
import { Table } from "../table.tsx";
import { GRANT_COLUMNS, linesOf, projectName, toBox } from "./grants.tsx";

/** `webhook` → `webhook.read`, `webhook.write`, ..., in the order of the registry. */
const BY_RESOURCE: ReadonlyMap<string, readonly string[]> = Map.groupBy(
  PERMISSIONS,
  (permission) => permission.split(".")[0] ?? "",
);

/** A table of boxes: a line for each resource, and more for what holds in one project only. */
export function GrantEditor(props: { grants: readonly Grant[]; projects: readonly Named[] }) {
  const { grants, projects } = props;
  const held = linesOf(grants);
  const [added, setAdded] = useState<readonly string[]>([]);
  const general = [...BY_RESOURCE.keys()].map((resource) => `${resource} `);
  const keys = new Set([...general, ...held.keys(), ...added]);
  const lines = [...keys].filter((key) => !key.startsWith("* "));
  return (
    <fieldset>
      <legend>Permissions</legend>
      <label class="box">
        <input
          type="checkbox"
          name="permissions"
          value={toBox("*", "")}
          class="everything"
          checked={held.has("* ")}
        />
        Everything
      </label>
      <Table caption="Permissions" columns={GRANT_COLUMNS}>
        {lines.map((key) => (
          <Line key={key} of={key} held={held.get(key) ?? []} projects={projects} />
        ))}
      </Table>
      {projects.length === 0 ? null : (
        <Adder projects={projects} add={(key) => setAdded([...added, key])} />
      )}
      <ErrorLine name="permissions" />
    </fieldset>
  );
}

function Line(props: { of: string; held: readonly string[]; projects: readonly Named[] }) {
  const { of, held, projects } = props;
  const [resource = "", projectId = ""] = of.split(" ");
  const permissions = [`${resource}.*`, ...(BY_RESOURCE.get(resource) ?? [])];
  return (
    <tr>
      <th scope="row">{resource}</th>
      <td>
        <span class="boxes">
          {permissions.map((permission) => {
            const operation = permission.slice(resource.length + 1);
            return (
              <label class="box">
                <input
                  type="checkbox"
                  name="permissions"
                  value={toBox(permission, projectId)}
                  class={operation === "*" ? "all" : ""}
                  checked={held.includes(operation)}
                />
                <span class="hidden-text">{resource} </span>
                {operation === "*" ? "all" : operation}
              </label>
            );
          })}
        </span>
      </td>
      <td>{projectName(projectId, projects)}</td>
    </tr>
  );
}

/** Adds a line for a resource in one project. */
function Adder({ projects, add }: { projects: readonly Named[]; add: (key: string) => void }) {
  const resource = useRef<HTMLSelectElement | null>(null);
  const project = useRef<HTMLSelectElement | null>(null);
  const addChosen = () => add(`${resource.current?.value ?? ""} ${project.current?.value ?? ""}`);
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
