import { useState } from "hono/jsx/dom";
import { call, readAll, type List } from "../api.ts";
import { Button } from "../button.tsx";
import { FlowBadge } from "../flow-badge.tsx";
import { notify } from "../notice.tsx";
import { may, pagePath } from "../page.ts";
import type { Flow } from "../resources.ts";
import { start } from "../start.tsx";
import { Table } from "../table.tsx";

start(async () => <FlowsPage first={await readAll<Flow>("flow")} />);

function FlowsPage({ first }: { first: readonly Flow[] }) {
  const [flows, setFlows] = useState(first);
  const reload = async (): Promise<void> => {
    const { body } = await call<List<Flow>>("POST", ["flow", "reload"]);
    setFlows(body.items);
    notify("The plugins folder was read again");
  };
  return (
    <>
      <div class="head">
        <h1>Flows</h1>
        {may("flow.reload") ? (
          <Button style="quiet" act={reload}>
            Reload
          </Button>
        ) : null}
      </div>
      <p class="soft">
        Files of the plugins folder. A change is taken up by itself; a broken version leaves the
        last good one serving.
      </p>
      {flows.length === 0 ? (
        <div class="empty">
          <h2>There is no flow yet</h2>
          <p>
            Put a file with a default export into the plugins folder; it appears here by itself.
          </p>
        </div>
      ) : (
        <Table caption="Flows" columns={["Name", "State", "-Version", "-Bundle"]}>
          {flows.map((flow) => (
            <Row key={flow.name} flow={flow} />
          ))}
        </Table>
      )}
    </>
  );
}

function Row({ flow }: { flow: Flow }) {
  const { name, description, version, bundle, error } = flow;
  return (
    <tr>
      <th scope="row">
        <a href={pagePath("flows", name)}>{name}</a>
        <p class="soft line">{error?.message ?? description ?? ""}</p>
      </th>
      <td>
        <FlowBadge flow={flow} />
      </td>
      <td class="wide">{version === null ? "–" : <code>{version.slice(0, 8)}</code>}</td>
      <td class="wide">{bundle ?? "–"}</td>
    </tr>
  );
}
