import { call, readAll } from "../api.ts";
import { showCreated } from "../created.ts";
import { need } from "../element.ts";
import { fillChoices, onSubmit, valueOf } from "../form.ts";
import { adviseName } from "../name-advice.ts";
import { may, pagePath } from "../page.ts";
import type { Flow, Named, Webhook } from "../resources.ts";
import { start } from "../start.ts";

/** The role that the service gives to new webhooks. */
const USUAL_ROLE = "webhook";

start(async () => {
  const form = need("#create", HTMLFormElement);
  const name = need("#name", HTMLInputElement);
  adviseName(name, need("#preview", HTMLElement));
  onSubmit(form, () => create(form));
  await Promise.all([fillFlows(), fillRoles(), fillProjects()]);
  name.focus();
});

async function fillFlows(): Promise<void> {
  const flows = await readAll<Flow>("flow");
  const select = need("#flow", HTMLSelectElement);
  const ready = flows.filter(({ version }) => version !== null);
  fillChoices(
    select,
    ready.map(({ name, description }) => [name, toLabel(name, description)]),
  );
  const wanted = new URLSearchParams(location.search).get("flow");
  if (wanted !== null) select.value = wanted;
  if (ready.length > 0) return;
  need("#flow-hint", HTMLElement).textContent =
    "There is no flow yet: put a file into the plugins folder, and it appears here.";
}

function toLabel(name: string, description: string | null): string {
  return description === null || description === "" ? name : `${name}: ${description}`;
}

async function fillRoles(): Promise<void> {
  const roles = may("role.read") ? await readAll<Named>("role") : [{ name: USUAL_ROLE }];
  const select = need("#role", HTMLSelectElement);
  fillChoices(select, [...roles.map(({ name }) => [name, name] as const), ["", "None"]]);
  select.value = USUAL_ROLE;
}

async function fillProjects(): Promise<void> {
  const projects = may("project.read") ? await readAll<Named>("project") : [];
  const choices = projects.filter(({ name }) => name !== "Default");
  const select = need("#project_id", HTMLSelectElement);
  fillChoices(select, [
    ["", "Default"],
    ...choices.map(({ id, name }) => [id ?? "", name] as const),
  ]);
}

async function create(form: HTMLFormElement): Promise<void> {
  const role = valueOf(form, "role");
  const { body } = await call<Webhook>("POST", ["webhook"], {
    body: {
      name: valueOf(form, "name"),
      flow: valueOf(form, "flow"),
      description: valueOf(form, "description"),
      role: role === "" ? null : role,
      project_id: valueOf(form, "project_id") || null,
    },
  });
  form.remove();
  // From here on a reload shows the webhook: it is created once.
  history.replaceState(null, "", pagePath("webhooks", body.name));
  showCreated(need("#created", HTMLElement), body);
}
