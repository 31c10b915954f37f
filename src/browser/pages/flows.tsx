import { PageHead } from "../head.tsx";
import { useState } from "hono/jsx/dom";
import { call, readAll, type List } from "../api.ts";
import { Button } from "../button.tsx";
import { DifferingBadge, FlowBadge } from "../flow-badge.tsx";
import { notify } from "../notice.tsx";
import { may, pagePath } from "../page.ts";
import type { Flow } from "../resources.ts";
import { start } from "../start.tsx";
import { Empty, NamedCell, Table, type Column } from "../table.tsx";

const COLUMNS: readonly Column<Flow>[] = [
  ["Name", (flow) => <Name flow={flow} />, "head"],
  ["State", (flow) => <State flow={flow} />],
  ["Version", ({ version }) => <code>{version?.slice(0, 8) ?? "–"}</code>, "wide"],
  ["Bundle", ({ bundle }) => bundle ?? "–", "wide"],
];

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
      <PageHead title="Flows">
        {may("flow.reload") ? (
          <Button style="quiet" act={reload}>
            Reload
          </Button>
        ) : null}
      </PageHead>
      <p class="soft">
        Files of the plugins folder. A change is taken up by itself; a broken version leaves the
        last good one serving.
      </p>
      {flows.length === 0 ? (
        <Empty title="There is no flow yet">
          Put a file with a default export into the plugins folder; it appears here by itself.
        </Empty>
      ) : (
        <Table caption="Flows" columns={COLUMNS} items={flows} />
      )}
    </>
  );
}

function State({ flow }: { flow: Flow }) {
  return (
    <span class="badges">
      <FlowBadge flow={flow} />
      <DifferingBadge flow={flow} />
    </span>
  );
}

function Name({ flow: { name, description, error } }: { flow: Flow }) {
  const note = error?.message ?? description;
  return <NamedCell name={name} path={pagePath("flows", name)} note={note} />;
}
