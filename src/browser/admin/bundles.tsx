import { readAll } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { pagePath } from "../page.ts";
import type { Named } from "../resources.ts";
import { Table } from "../table.tsx";

interface Bundle extends Named {
  readonly description: string | null;
  readonly directory: string;
  readonly flows: readonly string[];
}

export function Bundles() {
  const note = "Folders of the plugins folder with a bundle.yaml; they are changed there.";
  const [bundles] = useLoaded(() => readAll<Bundle>("bundle"));
  if (bundles === null) return null;
  if (bundles.length === 0)
    return (
      <div class="empty">
        <h2>There is no bundle yet</h2>
        <p>{note}</p>
      </div>
    );
  return (
    <div>
      <p class="soft">{note}</p>
      <Table caption="Bundles" columns={["Name", "Folder", "Flows"]}>
        {bundles.map(toRow)}
      </Table>
    </div>
  );
}

function toRow({ name, description, directory, flows }: Bundle) {
  return (
    <tr key={name}>
      <th scope="row">
        {name}
        <p class="soft line">{description ?? ""}</p>
      </th>
      <td>
        <code>{directory}</code>
      </td>
      <td>
        <span class="boxes">
          {flows.map((flow) => (
            <a href={pagePath("flows", flow)}>{flow}</a>
          ))}
        </span>
      </td>
    </tr>
  );
}
