import { ButtonLink, PageHead } from "../head.tsx";
import { useState } from "hono/jsx/dom";
import { call, read } from "../api.ts";
import { exampleInputOf } from "../example-body.ts";
import { Field } from "../field.tsx";
import { DifferingBadge, FlowBadge } from "../flow-badge.tsx";
import { Form } from "../form.tsx";
import { jsonOf } from "../form-values.ts";
import { goTo } from "../leaving.ts";
import { useRefresh } from "../loaded.ts";
import { parseDigits } from "../../shared/json-exact.ts";
import { may, PARAMS, pagePath, STARTS_BY_HAND } from "../page.ts";
import type { Flow, Permissions } from "../resources.ts";
import { SourceView } from "../source-view.tsx";
import { start } from "../start.tsx";
import { Pairs, Table, type Column } from "../table.tsx";
import { Tabs } from "../tabs.tsx";
import { Said } from "../said.tsx";

const NAME = PARAMS["name"] ?? "";

start(async () => <FlowPage first={await readFlow()} />, {
  noun: "flow",
  name: NAME,
  reason: "Its file may have been renamed or removed.",
  list: ["flows", "Flows"],
});

function readFlow(): Promise<Flow> {
  return read<Flow>(["flow", NAME]);
}

/** Its file is changed elsewhere: the page follows. */
function FlowPage({ first }: { first: Flow }) {
  const [flow, show] = useState(first);
  useRefresh(async () => {
    const now = await readFlow();
    // What is the same is not drawn again: somebody may be reading it.
    show((before) => (JSON.stringify(before) === JSON.stringify(now) ? before : now));
  });
  const tabs = [
    {
      id: "source",
      label: "Source",
      holds: ["error-line"],
      content: () => <Source flow={flow} />,
    },
    { id: "limits", label: "Permissions and limits", content: () => <Limits flow={flow} /> },
    { id: "run", label: "Run", content: () => <Run flow={flow} /> },
  ];
  const create = `${pagePath("new-webhook")}?flow=${encodeURIComponent(NAME)}`;
  return (
    <>
      <PageHead title={flow.name} list={["flows", "Flows"]}>
        <span class="badges">
          <FlowBadge flow={flow} />
          <DifferingBadge flow={flow} />
        </span>
        {may("webhook.write") && flow.version !== null ? (
          <ButtonLink to={create}>Create a webhook from this flow</ButtonLink>
        ) : null}
      </PageHead>
      <p>
        <Said text={flow.description ?? ""} />
      </p>
      <Trouble flow={flow} />
      <Differing flow={flow} />
      <Tabs label="Flow" tabs={tabs} />
    </>
  );
}

function Trouble({ flow }: { flow: Flow }) {
  const { error, file } = flow;
  if (error === null) return null;
  const line = lineOf(flow);
  return (
    <div class="trouble">
      <p>
        <Said text={error.message} />
      </p>
      {line === null ? null : (
        <a href="#error-line">
          {file}, line {line}
        </a>
      )}
      {error.stack === null ? null : (
        <details>
          <summary>Stack</summary>
          <pre tabindex={0}>
            <Said text={error.stack} isCode />
          </pre>
        </details>
      )}
    </div>
  );
}

const VERSIONS: readonly Column<Flow["versions"][number]>[] = [
  ["Node", ({ node }) => node, "head"],
  ["Version", ({ version }) => <Version version={version} />],
];

function Differing({ flow: { versions } }: { flow: Flow }) {
  if (versions.length === 0) return null;
  return (
    <section id="differing">
      <p class="soft">
        Nodes have different versions in their plugins folders, and each serves its own.
      </p>
      <Table caption="Versions of nodes" columns={VERSIONS} items={versions} />
    </section>
  );
}

function Version({ version }: { version: string }) {
  return <a href={pagePath("flows", NAME, "versions", version)}>{version}</a>;
}

function Source({ flow }: { flow: Flow }) {
  const { source = null, file, node } = flow;
  return (
    <>
      <p class="soft">{node === null ? file : `${file}, on node ${node}`}</p>
      {source === null ? (
        <p>{node === null ? "The file is gone." : "This node has none of its versions."}</p>
      ) : (
        <SourceView source={source} errorLine={lineOf(flow)} />
      )}
    </>
  );
}

/** The line in the flow's own file that the error names first. */
function lineOf({ error, file }: Flow): number | null {
  if (error === null) return null;
  const text = `${error.message}\n${error.stack ?? ""}`;
  const start = `${file}:`;
  for (let at = text.indexOf(start); at !== -1; at = text.indexOf(start, at + 1)) {
    const line = /^\d+/.exec(text.slice(at + start.length));
    if (line !== null && isWhole(text, at)) return Number(line[0]);
  }
  return null;
}

/** Whether no longer path ends in the one that begins there: `lib/order.ts:7`. */
function isWhole(text: string, at: number): boolean {
  return at === 0 || /[\s(]/.test(text.charAt(at - 1));
}

const PERMISSIONS = [
  { label: "Network", name: "net" },
  { label: "Reads files", name: "read" },
  { label: "Writes files", name: "write" },
  { label: "Secrets", name: "secrets" },
] as const;

function Limits({ flow }: { flow: Flow }) {
  const { permissions, granted, timeout_sec, memory_mb, isolation, version, bundle } = flow;
  const columns: readonly Column<(typeof PERMISSIONS)[number]>[] = [
    ["Permission", ({ label }) => label, "head"],
    ["Declared", ({ name }) => textOf(permissions, name)],
    ["Granted", ({ name }) => textOf(granted, name)],
  ];
  const facts = [
    ["Longest run", `${timeout_sec} s`],
    ["Memory", memory_mb === null ? "–" : `${memory_mb} MB`],
    ["Fresh thread for each run", isolation === "execution" ? "yes" : "no"],
    ["Version that serves", version === null ? "none" : <Version version={version} />],
    ["Bundle", bundle ?? "none"],
    ["Checks its input", flow.has_input_schema === true ? "yes, against a schema" : "no"],
  ] as const;
  return (
    <>
      <Table caption="Permissions" columns={columns} items={PERMISSIONS} />
      <h2>Limits</h2>
      <Pairs of={facts} />
    </>
  );
}

function textOf(permissions: Partial<Permissions> | null, name: keyof Permissions): string {
  const value = permissions?.[name];
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === undefined || value.length === 0 ? "none" : value.join(", ");
}

function Run({ flow }: { flow: Flow }) {
  // What is typed stays, also where the schema changes meanwhile.
  const [example] = useState(() => JSON.stringify(exampleInputOf(flow.input_schema), null, 2));
  if (!STARTS_BY_HAND) return <p>Your roles do not start flows without a webhook.</p>;
  const run = async (values: FormData): Promise<void> => {
    const body = { input_value: jsonOf(values, "input_value", parseDigits) };
    const path = ["flow", NAME, "execution"];
    const { body: started } = await call<{ id: string }>("POST", path, { body });
    await goTo(pagePath("executions", started.id));
  };
  return (
    <Form act={run} submit="Run" isForOnce>
      <Field
        name="input_value"
        label="Input"
        hint="JSON. The execution has your own permissions."
        rows={8}
        value={example}
      />
    </Form>
  );
}
