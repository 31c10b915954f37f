import { useState } from "hono/jsx/dom";
import type { AuditChange } from "../../shared/contract/audit-entry.ts";
import { call } from "../api.ts";
import { Button } from "../button.tsx";
import { Changes } from "../changes.tsx";
import { CopiedLine } from "../copy.tsx";
import { Field } from "../field.tsx";
import { Form } from "../form.tsx";
import { textOf } from "../form-values.ts";
import { askMeanwhile, useAskBeforeLeaving } from "../leaving.ts";
import { complain, notify } from "../notice.tsx";
import { apiPath, may, pagePath } from "../page.ts";
import { Table, type Column } from "../table.tsx";

interface Step {
  readonly name: string;
  readonly action: "create" | "skip" | "replace" | "rename";
  readonly changes: Readonly<Record<string, { from: unknown; to: unknown }>>;
  readonly key?: string;
}

const CONFLICTS = [
  ["skip", "Leave the one that is here"],
  ["replace", "Change the one that is here"],
  ["rename", "Import it under another name"],
] as const;

const ACTIONS: Readonly<Record<Step["action"], string>> = {
  create: "is new",
  skip: "is here already, and stays as it is",
  replace: "is changed",
  rename: "is new, under another name",
};

const PLANNED: readonly Column<Step>[] = [
  ["Webhook", ({ name }) => name, "head"],
  ["Import", ({ action, changes }) => [ACTIONS[action], <Changes of={toList(changes)} />]],
];

const DONE: readonly Column<Step>[] = [
  ["Webhook", ({ name }) => <Link name={name} />, "head"],
  ["Import", ({ action }) => ACTIONS[action]],
  ["Key", ({ key }) => (key === undefined ? "–" : <CopiedLine text={key} />)],
];

/** YAML in and out; an import shows first what it would change. */
export function Import() {
  return (
    <>
      <section>
        <h2>Export</h2>
        <p class="soft">
          All of the tabs Settings, Limits, Bodies and answers, and Delivery is carried, but for a
          bundle. Of Access, the addresses are, and the signature with the names of its secrets.
          Enabled, Require login token cookie, Key and the values of secrets never are.
        </p>
        <div class="buttons">
          <a class="button quiet" href={apiPath("export")} download="webhooks.yaml">
            Export all webhooks
          </a>
        </div>
      </section>
      {may("webhook.write") ? <ImportSection /> : null}
    </>
  );
}

interface ImportDocument {
  readonly text: string;
  readonly conflicts: string;
}

/** What an import would do. */
interface Plan {
  readonly steps: readonly Step[];
  readonly document: ImportDocument;
}

function ImportSection() {
  const [chosen, setChosen] = useState("");
  const [plan, setPlan] = useState<Plan | null>(null);
  // All of this visit: another import takes no keys away that were not copied yet.
  const [done, setDone] = useState<readonly Step[]>([]);
  const take = ({ target }: Event): void => {
    const reading = (target as HTMLInputElement).files?.[0]?.text();
    reading?.then(setChosen).catch(complain);
  };
  const show = async (values: FormData): Promise<void> => {
    const document = { text: textOf(values, "document"), conflicts: textOf(values, "conflicts") };
    setPlan({ steps: await send(document, true), document });
  };
  const run = async (document: ImportDocument): Promise<void> => {
    const steps = await askMeanwhile(send(document, false));
    setPlan(null);
    setDone((before) => [...steps, ...before]);
    notify("Imported");
  };
  return (
    <section>
      <h2>Import</h2>
      <Form act={show} submit="Show the difference">
        <div class="field">
          <input type="file" accept=".yaml,.yml" aria-label="File" onChange={take} />
        </div>
        <Field
          name="document"
          label="Document"
          rows={12}
          value={chosen}
          hint="YAML as it was exported. Choose a file, or paste it."
          isRequired
        />
        <Field name="conflicts" label="Where a name is taken" choices={CONFLICTS} />
      </Form>
      <div aria-live="polite">
        {plan === null ? null : <Difference steps={plan.steps} run={() => run(plan.document)} />}
        {done.length === 0 ? null : <Imported steps={done} />}
      </div>
    </section>
  );
}

async function send({ text, conflicts }: ImportDocument, isDry: boolean): Promise<readonly Step[]> {
  const query = { conflicts, dry_run: String(isDry) };
  const { body } = await call<{ items: readonly Step[] }>("POST", ["import"], { text, query });
  return body.items;
}

function Difference({ steps, run }: { steps: readonly Step[]; run: () => Promise<void> }) {
  const doesSomething = steps.some(
    ({ action, changes }) =>
      action !== "skip" && (action !== "replace" || Object.keys(changes).length > 0),
  );
  return (
    <>
      <h2>What an import would do</h2>
      <Table caption="What an import would do" columns={PLANNED} items={steps} />
      <div class="buttons">
        {doesSomething ? <Button act={run}>Import</Button> : <p>An import would change nothing.</p>}
      </div>
    </>
  );
}

function toList(changes: Step["changes"]): readonly AuditChange[] {
  return Object.entries(changes).map(([member, change]) => ({ member, ...change }));
}

/** New webhooks are disabled, with keys that are shown this once: the browser asks before it leaves. */
function Imported({ steps }: { steps: readonly Step[] }) {
  const hasKeys = steps.some(({ key }) => key !== undefined);
  useAskBeforeLeaving(hasKeys);
  return (
    <>
      <h2>Imported</h2>
      <p>New webhooks are disabled. Their keys are shown this once.</p>
      <Table caption="Imported webhooks" columns={DONE} items={steps} />
    </>
  );
}

/** In another tab: this one has the keys. */
function Link({ name }: { name: string }) {
  return (
    <a href={pagePath("webhooks", name)} target="_blank">
      {name}
    </a>
  );
}
