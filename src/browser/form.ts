import { ApiError, sentenceOf } from "./api.ts";
import { el, find } from "./element.ts";

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export function control(form: HTMLElement, name: string): Control {
  const found = form.querySelector(`[name="${name}"]`);
  if (
    found instanceof HTMLInputElement ||
    found instanceof HTMLSelectElement ||
    found instanceof HTMLTextAreaElement
  )
    return found;
  throw new Error(`The form has no field "${name}"`);
}

export function valueOf(form: HTMLElement, name: string): string {
  return control(form, name).value;
}

export function isChecked(form: HTMLElement, name: string): boolean {
  const found = control(form, name);
  return found instanceof HTMLInputElement && found.checked;
}

export function fill(
  form: HTMLElement,
  values: Readonly<Record<string, string | boolean | null>>,
): void {
  for (const [name, value] of Object.entries(values)) {
    const field = control(form, name);
    if (field instanceof HTMLInputElement && field.type === "checkbox")
      field.checked = value === true;
    else field.value = value === null ? "" : String(value);
  }
}

/** Fills a list of choices, and keeps what was chosen. */
export function fillChoices(
  select: Control,
  choices: readonly (readonly [value: string, label: string])[],
): void {
  const { value } = select;
  select.replaceChildren(...choices.map(([of, label]) => el("option", { value: of }, label)));
  if (choices.some(([of]) => of === value)) select.value = value;
}

/** Sends a form through `act`; what is wrong stands at its field, and what was typed stays. */
export function onSubmit(form: HTMLFormElement, act: () => Promise<void>): void {
  form.noValidate = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearErrors(form);
    if (!checkRequired(form)) return;
    const buttons = form.querySelectorAll<HTMLButtonElement>("button[type=submit]");
    for (const submit of buttons) submit.disabled = true;
    act()
      .catch((error: unknown) => showError(form, error))
      .finally(() => {
        for (const submit of buttons) submit.disabled = false;
      });
  });
}

function checkRequired(form: HTMLFormElement): boolean {
  const missing = [...form.querySelectorAll<Control>("[required]")].filter(
    (field) => field.value.trim() === "" && field.offsetParent !== null,
  );
  for (const field of missing) showAt(form, field.name, "This is needed");
  missing[0]?.focus();
  return missing.length === 0;
}

export function clearErrors(form: HTMLElement): void {
  for (const field of form.querySelectorAll("[aria-invalid]"))
    field.removeAttribute("aria-invalid");
  for (const text of form.querySelectorAll(".fault")) text.replaceChildren();
}

/** Puts a refusal where it belongs: at the field that it names, otherwise above the buttons. */
export function showError(form: HTMLElement, error: unknown): void {
  const fields = error instanceof ApiError ? error.fields : [];
  const known = fields.filter(
    ({ field, message }) =>
      showAt(form, field, message) ||
      // A member of an object that is typed as a whole.
      (field.includes(".") && showAt(form, field.split(".")[0] ?? "", `${field}: ${message}`)),
  );
  if (known.length > 0) form.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  else if (
    error instanceof ApiError &&
    error.code === "conflict" &&
    showAt(form, "name", error.message)
  )
    control(form, "name").focus();
  else find(".form-fault", form)?.replaceChildren(sentenceOf(error));
}

/** @returns whether the form has that field */
export function showAt(form: HTMLElement, name: string, message: string): boolean {
  const field = form.querySelector(`[name="${CSS.escape(name)}"]`);
  const text = form.querySelector(`[data-fault-of="${CSS.escape(name)}"]`);
  if (field === null || text === null) return false;
  field.setAttribute("aria-invalid", "true");
  text.replaceChildren(`${message.slice(0, 1).toUpperCase()}${message.slice(1)}`);
  return true;
}
