import { call, readAll } from "./api.ts";
import { Button } from "./button.tsx";
import { confirm } from "./dialog.tsx";
import { Check, Field } from "./field.tsx";
import { textOf } from "./form-values.ts";
import { goTo } from "./leaving.ts";
import { useLoaded } from "./loaded.ts";
import { apiPath, may, pagePath } from "./page.ts";
import type { Flow, Named, Webhook } from "./resources.ts";
import { giveUpUnsaved } from "./unsaved.ts";
import { MemberForm, type ShownWebhook, type WebhookPart } from "./webhook-members.tsx";

const SYNC_MODES = [
  ["", "As the service is configured"],
  ["redirect", "Redirect while waiting (303, 302)"],
  ["hold", "Hold one request"],
] as const;

const LOCATIONS = [
  ["webhook", "Webhook"],
  ["flow", "Flow"],
] as const;

/** The fields that need no password, with export and deletion below. */
export function WebhookSettings({ shown, changed }: WebhookPart) {
  const webhook = shown.body;
  const [lists] = useLoaded(readLists);
  const saved = (now: ShownWebhook): void => {
    if (now.body.name !== webhook.name)
      location.assign(`${pagePath("webhooks", now.body.name)}#settings`);
    changed(now);
  };
  if (lists === null) return null;
  return (
    <>
      <MemberForm
        shown={shown}
        changed={saved}
        toMembers={toMembers}
        fields={(held) => <SettingFields webhook={held} lists={lists} />}
      />
      <Ending webhook={webhook} />
    </>
  );
}

async function readLists() {
  const [flows, roles, projects, bundles] = await Promise.all([
    may("flow.read") ? readAll<Flow>("flow") : [],
    may("role.read") ? readAll<Named>("role") : [],
    may("project.read") ? readAll<Named>("project") : [],
    may("bundle.read") ? readAll<Named>("bundle") : [],
  ]);
  return { flows, roles, projects, bundles };
}

type Lists = Awaited<ReturnType<typeof readLists>>;

function SettingFields({ webhook, lists }: { webhook: Webhook; lists: Lists }) {
  const byName = (all: readonly Named[]) => all.map(({ name }) => [name, name] as const);
  const projects = lists.projects.filter(({ name }) => name !== "Default");
  const places = [
    ["", "Default"] as const,
    ...projects.map(({ id, name }) => [`project:${id}`, `Project ${name}`] as const),
    ...lists.bundles.map(({ name }) => [`bundle:${name}`, `Bundle ${name}`] as const),
  ];
  return (
    <>
      <Field
        name="name"
        label="Name"
        hint="A new name is a new URL."
        value={webhook.name}
        isRequired
      />
      <Field name="description" label="Description" rows={2} isProse value={webhook.description} />
      <Field
        name="flow"
        label="Flow"
        choices={byName(lists.flows)}
        value={webhook.flow}
        isRequired
      />
      <Check
        name="is_productive"
        label="Is productive"
        hint="Unset, executions start in development mode: calls are answered (otherwise 402) while somebody uses this interface, and take nothing from the connection allowance."
        isChecked={webhook.is_productive}
      />
      <Field
        name="role"
        label="Role"
        hint="Executions have its permissions if it propagates, and none otherwise."
        choices={[["", "None"], ...byName(lists.roles)]}
        value={webhook.role ?? ""}
      />
      <Field name="place" label="Project or bundle" choices={places} value={placeOf(webhook)} />
      <Field
        name="execution_location"
        label="Execution location"
        hint="Whose project the executions belong to."
        choices={LOCATIONS}
        value={webhook.execution_location}
      />
      <Field
        name="sync_mode"
        label="Synchronous calls"
        choices={SYNC_MODES}
        value={webhook.sync_mode ?? ""}
      />
    </>
  );
}

function placeOf({ project_id, bundle_id }: Webhook): string {
  if (bundle_id !== null) return `bundle:${bundle_id}`;
  return project_id === null ? "" : `project:${project_id}`;
}

function toMembers(values: FormData): Record<string, unknown> {
  const [kind = "", place = null] = textOf(values, "place").split(/:(.*)/s);
  return {
    name: textOf(values, "name"),
    description: textOf(values, "description"),
    flow: textOf(values, "flow"),
    is_productive: values.has("is_productive"),
    role: textOf(values, "role") || null,
    project_id: kind === "project" ? place : null,
    bundle_id: kind === "bundle" ? place : null,
    execution_location: textOf(values, "execution_location"),
    sync_mode: textOf(values, "sync_mode") || null,
  };
}

function Ending({ webhook: { name } }: { webhook: Webhook }) {
  const target = `${apiPath("export")}?webhook=${encodeURIComponent(name)}`;
  const text = `Its URL answers 404 from then on, and its key is gone. Its executions stay.`;
  const remove = async (): Promise<void> => {
    await call("DELETE", ["webhook", name]);
    giveUpUnsaved();
    await goTo(pagePath("webhooks"));
  };
  return (
    <div id="ending" class="buttons ending">
      <a class="button quiet" href={target} download={`${name}.yaml`}>
        Export as YAML
      </a>
      {may("webhook.write") ? (
        <Button style="danger" act={() => confirm(`Delete "${name}"?`, text, "Delete", remove)}>
          Delete
        </Button>
      ) : null}
    </div>
  );
}
