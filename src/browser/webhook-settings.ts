import { call, readAll } from "./api.ts";
import { confirm } from "./dialog.ts";
import { button, el, need } from "./element.ts";
import { fill, fillChoices, isChecked, onSubmit, valueOf } from "./form.ts";
import { notify } from "./notice.ts";
import { apiPath, may, pagePath } from "./page.ts";
import type { Flow, Named, Webhook } from "./resources.ts";

interface Settings {
  webhook: Webhook;
  etag: string | null;
}

/** The fields that need no password, with export and deletion below. */
export async function showSettings(
  settings: Settings,
  changed: (webhook: Webhook) => void,
): Promise<void> {
  const form = need("#change", HTMLFormElement);
  showEnding(need("#ending", HTMLElement), settings);
  await fillLists(form, settings.webhook);
  show(form, settings.webhook);
  if (!may("webhook.write")) {
    for (const control of form.querySelectorAll("input, select, textarea, button"))
      control.setAttribute("disabled", "");
    return;
  }
  onSubmit(form, async () => {
    const { name } = settings.webhook;
    const body = toBody(form);
    const answer = await call<Webhook>("PATCH", ["webhook", name], { body, etag: settings.etag });
    settings.webhook = answer.body;
    settings.etag = answer.etag;
    show(form, answer.body);
    notify("Saved");
    if (answer.body.name !== name)
      location.assign(`${pagePath("webhooks", answer.body.name)}#settings`);
    changed(answer.body);
  });
}

async function fillLists(form: HTMLElement, webhook: Webhook): Promise<void> {
  const [flows, roles, projects, bundles] = await Promise.all([
    may("flow.read") ? readAll<Flow>("flow") : [],
    may("role.read") ? readAll<Named>("role") : [],
    may("project.read") ? readAll<Named>("project") : [],
    may("bundle.read") ? readAll<Named>("bundle") : [],
  ]);
  const names = new Set([...flows.map(({ name }) => name), webhook.flow]);
  const roleNames = new Set([
    ...roles.map(({ name }) => name),
    ...(webhook.role ? [webhook.role] : []),
  ]);
  fillChoices(
    need("[name=flow]", HTMLSelectElement, form),
    [...names].map((name) => [name, name]),
  );
  fillChoices(need("[name=role]", HTMLSelectElement, form), [
    ["", "None"],
    ...[...roleNames].map((name) => [name, name] as const),
  ]);
  fillChoices(need("[name=place]", HTMLSelectElement, form), [
    ["", "Default"],
    ...projects
      .filter(({ name }) => name !== "Default")
      .map(({ id, name }) => [`project:${id}`, `Project ${name}`] as const),
    ...bundles.map(({ name }) => [`bundle:${name}`, `Bundle ${name}`] as const),
  ]);
}

function show(form: HTMLElement, webhook: Webhook): void {
  const { name, description, flow, is_productive, role, execution_location, sync_mode } = webhook;
  const values = { name, description, flow, is_productive, role, execution_location, sync_mode };
  fill(form, { ...values, place: placeOf(webhook) });
}

function placeOf({ project_id, bundle_id }: Webhook): string {
  if (bundle_id !== null) return `bundle:${bundle_id}`;
  return project_id === null ? "" : `project:${project_id}`;
}

function toBody(form: HTMLElement): Record<string, unknown> {
  const [kind = "", place = null] = valueOf(form, "place").split(/:(.*)/s);
  return {
    name: valueOf(form, "name"),
    description: valueOf(form, "description"),
    flow: valueOf(form, "flow"),
    is_productive: isChecked(form, "is_productive"),
    role: valueOf(form, "role") || null,
    project_id: kind === "project" ? place : null,
    bundle_id: kind === "bundle" ? place : null,
    execution_location: valueOf(form, "execution_location"),
    sync_mode: valueOf(form, "sync_mode") || null,
  };
}

function showEnding(place: HTMLElement, settings: Settings): void {
  const { name } = settings.webhook;
  const target = `${apiPath("export")}?webhook=${encodeURIComponent(name)}`;
  place.append(
    el("a", { class: "button quiet", href: target, download: `${name}.yaml` }, "Export as YAML"),
  );
  if (!may("webhook.write")) return;
  const text = `Its URL answers 404 from then on, and its key is gone. Its executions stay.`;
  const remove = async (): Promise<void> => {
    await call("DELETE", ["webhook", settings.webhook.name]);
    location.assign(pagePath("webhooks"));
  };
  place.append(
    button("Delete", "danger", () => confirm(`Delete "${name}"?`, text, "Delete", remove)),
  );
}
