import { el } from "../element.ts";
import { field } from "../field.ts";
import { showAt, valueOf } from "../form.ts";
import { time } from "../format.ts";
import { parseExact } from "../json-exact.ts";
import { may } from "../page.ts";
import type { Named } from "../resources.ts";
import { showCollection } from "./collection.ts";

interface Project extends Named {
  readonly description: string;
  readonly modified_at: string;
}

export function showProjects(place: HTMLElement): Promise<void> {
  return showCollection<Project>(place, {
    type: "project",
    noun: "project",
    plural: "Projects",
    note: "Webhooks and executions belong to a project; a role can be limited to one.",
    canChange: may("project.write"),
    columns: [{ label: "Description", cell: ({ description }) => description }],
    fields: (project) => [
      field({ name: "name", label: "Name", value: project?.name ?? "", required: true }),
      field({ name: "description", label: "Description", value: project?.description ?? "" }),
    ],
    toBody: (form) => ({ name: valueOf(form, "name"), description: valueOf(form, "description") }),
    isFixed: ({ name }) => name === "Default",
    deletion: "Only a project that no webhook is in can be deleted. Its executions keep its ID.",
  });
}

interface Setting extends Named {
  readonly value: unknown;
  readonly modified_at: string;
}

export function showSettings(place: HTMLElement): Promise<void> {
  return showCollection<Setting>(place, {
    type: "setting",
    noun: "setting",
    plural: "Settings",
    note: "JSON values that flows read with flow.setting(name), and write if their role allows it.",
    canChange: may("setting.write"),
    isBroad: true,
    columns: [
      { label: "Value", cell: ({ value }) => el("code", { class: "line" }, JSON.stringify(value)) },
      { label: "-Changed", cell: ({ modified_at }) => time(modified_at) },
    ],
    fields: (setting) => [
      ...nameField(setting),
      field({
        name: "value",
        label: "Value",
        rows: 8,
        hint: "JSON",
        value: setting === null ? "" : JSON.stringify(setting.value, null, 2),
        required: true,
      }),
    ],
    toBody: (form, setting) => ({
      ...(setting === null ? { name: valueOf(form, "name") } : {}),
      value: parseValue(form),
    }),
    deletion: "Flows that read it get nothing from then on.",
  });
}

/** Settings and secrets keep their name: flows ask for them by it. */
function nameField(item: Named | null): HTMLElement[] {
  return item === null ? [field({ name: "name", label: "Name", required: true })] : [];
}

function parseValue(form: HTMLElement): unknown {
  try {
    return parseExact(valueOf(form, "value"));
  } catch (error) {
    showAt(form, "value", `This is not JSON: ${(error as Error).message}`);
    throw new Error("Nothing was saved", { cause: error });
  }
}

interface Secret extends Named {
  readonly modified_at: string;
}

export function showSecrets(place: HTMLElement): Promise<void> {
  return showCollection<Secret>(place, {
    type: "secret",
    noun: "secret",
    plural: "Secrets",
    note: "Encrypted at rest, and never shown again. A flow gets those that it declares, with flow.secret(name).",
    canChange: may("secret.write"),
    columns: [{ label: "Set", cell: ({ modified_at }) => time(modified_at) }],
    fields: (secret) => [
      ...nameField(secret),
      field({
        name: "value",
        label: secret === null ? "Value" : "New value",
        rows: 3,
        required: true,
      }),
    ],
    toBody: (form, secret) => ({
      ...(secret === null ? { name: valueOf(form, "name") } : {}),
      value: valueOf(form, "value"),
    }),
    deletion: "Flows that use it fail from then on.",
  });
}
