import { PageHead } from "../head.tsx";
import { useState } from "hono/jsx/dom";
import { call, readAll } from "../api.ts";
import { Button } from "../button.tsx";
import { Field } from "../field.tsx";
import { FilterForm, useFiltersOfAddress, type Filters } from "../filters.tsx";
import { DifferingBadge, FlowBadge } from "../flow-badge.tsx";
import { useLoaded, useRefresh } from "../loaded.ts";
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

const STATES = [
  ["", "Any state"],
  ["ready", "Ready"],
  ["broken", "Broken"],
] as const;

start(async () => <FlowsPage />);

function FlowsPage() {
  const [flows, readAgain] = useLoaded(() => readAll<Flow>("flow"));
  // Files are saved elsewhere: the page follows.
  useRefresh(readAgain);
  const reload = async (): Promise<void> => {
    await call("POST", ["flow", "reload"]);
    await readAgain();
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
      {flows === null ? null : <FlowList flows={flows} />}
    </>
  );
}

function FlowList({ flows }: { flows: readonly Flow[] }) {
  const first = useFiltersOfAddress(["text", "state"]);
  const [filters, apply] = useState(first);
  const shown = flows.filter((flow) => isIn(flow, filters));
  if (flows.length === 0)
    return (
      <Empty title="There is no flow yet">
        Put a file with a default export into the plugins folder; it appears here by itself.{" "}
        <a href={pagePath("docs", "flows")}>How to write a flow</a>
      </Empty>
    );
  return (
    <>
      <FilterForm apply={apply}>
        <Field
          name="text"
          label="Name or description contains"
          type="search"
          value={first["text"] ?? ""}
        />
        <Field name="state" label="State" choices={STATES} value={first["state"] ?? ""} />
      </FilterForm>
      {shown.length === 0 ? (
        <Empty title="No flow is here">Change the filters above.</Empty>
      ) : (
        <Table
          caption="Flows"
          columns={COLUMNS}
          items={shown}
          rowOf={({ name }) => ({ id: name })}
        />
      )}
    </>
  );
}

function isIn({ name, description, state }: Flow, filters: Filters): boolean {
  const wanted = filters["text"]?.toLowerCase() ?? "";
  const isFound = `${name}\n${description ?? ""}`.toLowerCase().includes(wanted);
  return isFound && (filters["state"] ?? state) === state;
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
