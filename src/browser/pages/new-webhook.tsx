import { PageHead } from "../head.tsx";
import { useEffect, useState } from "hono/jsx/dom";
import { call, read, readAll } from "../api.ts";
import { Created } from "../created.tsx";
import { Field, SteadyFields } from "../field.tsx";
import { Form } from "../form.tsx";
import { textOf } from "../form-values.ts";
import { askMeanwhile } from "../leaving.ts";
import { useRefresh } from "../loaded.ts";
import { NameField } from "../name-field.tsx";
import { may, pagePath } from "../page.ts";
import type { Flow, Grant, Named, Webhook } from "../resources.ts";
import { nameDocument, start } from "../start.tsx";

/** The role that the service gives to new webhooks. */
const USUAL_ROLE = "webhook";

const TITLE = "New webhook";

start(async () => {
  if (may("webhook.write")) return <NewWebhookPage first={await readLists()} />;
  return (
    <>
      <PageHead title={TITLE} />
      <p>Your roles do not create webhooks.</p>
    </>
  );
});

/** `flows` is null where the visitor may not list them, and types the name of one. */
async function readLists() {
  const [flows, roles, projects, own] = await Promise.all([
    may("flow.read") ? readAll<Flow>("flow") : null,
    may("role.read") ? readAll<Named>("role") : [{ name: USUAL_ROLE }],
    may("project.read") ? readAll<Named>("project") : [],
    readOwnProjects(),
  ]);
  const serving = flows?.filter(({ version }) => version !== null) ?? null;
  return { flows: serving, roles, places: toPlaces(projects, own) };
}

const CREATING = ["*", "webhook.*", "webhook.write"];

/** The ids of the projects in which the visitor creates webhooks; null: in all. */
async function readOwnProjects(): Promise<readonly string[] | null> {
  const { permissions } = await read<{ permissions: readonly Grant[] }>(["auth", "me"]);
  const grants = permissions.filter(({ permission }) => CREATING.includes(permission));
  const ids = grants.map(({ project_id }) => project_id).filter((id) => id !== null);
  return ids.length < grants.length ? null : [...new Set(ids)];
}

/** Of projects that the visitor may not read, the ids are known. */
function toPlaces(projects: readonly Named[], own: readonly string[] | null) {
  const known = projects.map(({ id = "", name }) => [id, name] as const);
  const others = known.filter(([, name]) => name !== "Default");
  if (own === null) return [["", "Default"] as const, ...others];
  return own.map((id) => known.find(([of]) => of === id) ?? ([id, id] as const));
}

type Lists = Awaited<ReturnType<typeof readLists>>;

function NewWebhookPage({ first }: { first: Lists }) {
  const [lists, setLists] = useState(first);
  // Somebody may be writing the first flow.
  useRefresh(async () => setLists(await readLists()), lists.flows?.length === 0);
  const [created, setCreated] = useState<Webhook | null>(null);
  useEffect(() => document.getElementById("name")?.focus(), []);
  const create = async (values: FormData): Promise<void> => {
    const creating = call<Webhook>("POST", ["webhook"], { body: toBody(values) });
    const { body } = await askMeanwhile(creating);
    // From here on a reload shows the webhook: it is created once.
    history.replaceState(null, "", pagePath("webhooks", body.name));
    nameDocument(body.name);
    setCreated(body);
  };
  return (
    <>
      <PageHead title={created?.name ?? TITLE} />
      {created === null ? (
        <Form act={create} submit="Create" isGoneAfter>
          <Fields lists={lists} />
        </Form>
      ) : (
        <Created webhook={created} />
      )}
    </>
  );
}

function FlowField({ flows }: Pick<Lists, "flows">) {
  const wanted = new URLSearchParams(location.search).get("flow") ?? "";
  if (flows === null) {
    const hint = "What a call starts. Your roles do not list flows: type the name of one.";
    return <Field name="flow" label="Flow" hint={hint} value={wanted} isRequired />;
  }
  const choices = flows.map(({ name, description }) => [name, toLabel(name, description)] as const);
  // Another than the one that was asked for is chosen by hand, and so is one of several.
  const isOnly = wanted === "" && choices.length === 1;
  const chosen = isOnly ? choices[0] : choices.find(([name]) => name === wanted);
  const hint =
    flows.length > 0
      ? "What a call starts."
      : "There is no flow yet: put a file into the plugins folder, and it appears here.";
  return (
    <Field
      name="flow"
      label="Flow"
      hint={hint}
      choices={chosen ? choices : [["", "Choose one"], ...choices]}
      value={chosen?.[0] ?? ""}
      isRequired
    />
  );
}

function Fields({ lists: { flows, roles, places } }: { lists: Lists }) {
  return (
    <SteadyFields>
      <FlowField flows={flows} />
      <NameField />
      <details>
        <summary>More</summary>
        <Field name="description" label="Description" rows={2} isProse />
        <Field
          name="role"
          label="Role"
          hint={`What its executions may do, if the role propagates. "${USUAL_ROLE}" is given if your own roles cover it.`}
          choices={[...roles.map(({ name }) => [name, name] as const), ["", "None"]]}
          value={USUAL_ROLE}
        />
        <Field name="project_id" label="Project" choices={places} value={places[0]?.[0] ?? ""} />
      </details>
    </SteadyFields>
  );
}

function toLabel(name: string, description: string | null): string {
  return description === null || description === "" ? name : `${name}: ${description}`;
}

function toBody(values: FormData): Record<string, unknown> {
  const role = textOf(values, "role");
  return {
    name: textOf(values, "name"),
    flow: textOf(values, "flow"),
    description: textOf(values, "description"),
    // What the service gives by itself, it gives as far as the visitor may.
    ...(role === USUAL_ROLE ? {} : { role: role || null }),
    project_id: textOf(values, "project_id") || null,
  };
}
