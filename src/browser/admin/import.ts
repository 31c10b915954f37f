import { call } from "../api.ts";
import { button, el, type Child } from "../element.ts";
import { buttons, field, formError } from "../field.ts";
import { onSubmit, showError, valueOf } from "../form.ts";
import { attempt, notify } from "../notice.ts";
import { apiPath, may, pagePath } from "../page.ts";
import { plainTable } from "../paged-frame.ts";

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

/** YAML in and out; an import shows first what it would change. */
export async function showImport(place: HTMLElement): Promise<void> {
  const download = el(
    "a",
    { class: "button quiet", href: apiPath("export"), download: "webhooks.yaml" },
    "Export all webhooks",
  );
  const note =
    "Name, description, flow, role, project, execution location and Is productive are carried. Enabled, Require login token cookie and Key never are.";
  place.replaceChildren(
    el("section", {}, el("h2", {}, "Export"), el("p", { class: "soft" }, note), buttons(download)),
  );
  if (may("webhook.write")) place.append(importSection());
}

function importSection(): HTMLElement {
  const text = field({
    name: "document",
    label: "Document",
    rows: 12,
    required: true,
    hint: "YAML as it was exported. Choose a file, or paste it.",
  });
  const file = el("input", { type: "file", accept: ".yaml,.yml", "aria-label": "File" });
  const conflicts = field({
    name: "conflicts",
    label: "Where a name is taken",
    choices: CONFLICTS,
    value: "skip",
  });
  const submit = el("button", { type: "submit" }, "Show the difference");
  const form = el(
    "form",
    { class: "narrow" },
    el("div", { class: "field" }, file),
    text,
    conflicts,
    formError(),
    buttons(submit),
  );
  const result = el("div", { "aria-live": "polite" });
  file.addEventListener("change", () => {
    const area = form.querySelector("textarea");
    const read = file.files?.[0]?.text().then((content) => {
      if (area !== null) area.value = content;
    });
    read?.catch((error: unknown) => showError(form, error));
  });
  onSubmit(form, async () => {
    const document = { text: valueOf(form, "document"), conflicts: valueOf(form, "conflicts") };
    const steps = await send(document, true);
    result.replaceChildren(...difference(steps, document, result));
  });
  return el("section", {}, el("h2", {}, "Import"), form, result);
}

interface ImportDocument {
  readonly text: string;
  readonly conflicts: string;
}

async function send({ text, conflicts }: ImportDocument, isDry: boolean): Promise<readonly Step[]> {
  const query = { conflicts, dry_run: String(isDry) };
  const { body } = await call<{ items: readonly Step[] }>("POST", ["import"], { text, query });
  return body.items;
}

function difference(
  steps: readonly Step[],
  document: ImportDocument,
  result: HTMLElement,
): HTMLElement[] {
  const run = button("Import", "", () =>
    attempt(async () => {
      result.replaceChildren(...done(await send(document, false)));
      notify("Imported");
    }, run),
  );
  const doesSomething = steps.some(
    ({ action, changes }) =>
      action !== "skip" && (action !== "replace" || Object.keys(changes).length > 0),
  );
  const end = doesSomething ? run : el("p", {}, "An import would change nothing.");
  return [el("h2", {}, "What an import would do"), tableOf(steps), buttons(end)];
}

function tableOf(steps: readonly Step[]): HTMLElement {
  const rows = steps.map(({ name, action, changes }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      el("td", {}, ACTIONS[action], ...changesOf(changes)),
    ),
  );
  return plainTable("What an import would do", ["Webhook", "Import"], rows);
}

function changesOf(changes: Step["changes"]): Child[] {
  return Object.entries(changes).map(([member, { from, to }]) =>
    el(
      "p",
      { class: "line" },
      `${member}: `,
      el("del", {}, JSON.stringify(from)),
      " → ",
      el("ins", {}, JSON.stringify(to)),
    ),
  );
}

/** New webhooks are disabled, with keys that are shown this once. */
function done(steps: readonly Step[]): HTMLElement[] {
  const rows = steps.map(({ name, action, key }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("a", { href: pagePath("webhooks", name) }, name)),
      el("td", {}, ACTIONS[action]),
      el("td", {}, key === undefined ? "–" : el("code", {}, key)),
    ),
  );
  return [
    el("h2", {}, "Imported"),
    el("p", {}, "New webhooks are disabled. Their keys are shown this once."),
    plainTable("Imported webhooks", ["Webhook", "Import", "Key"], rows),
  ];
}
