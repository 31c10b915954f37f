import { button, el, type Child } from "./element.ts";
import { buttons, field, formError } from "./field.ts";
import { control, onSubmit, showAt, valueOf } from "./form.ts";
import { ApiError } from "./api.ts";

interface DialogOptions {
  readonly title: string;
  readonly content: readonly Child[];
  readonly submit: string;
  /** For what cannot be taken back. */
  readonly isDangerous?: boolean;
  /** For long texts. */
  readonly isBroad?: boolean;
  act(form: HTMLFormElement): Promise<void>;
}

/** A form in a dialog; resolves with whether it was done, once it is closed. */
export function openDialog(options: DialogOptions): Promise<boolean> {
  const { title, content, submit, isDangerous = false, isBroad = false, act } = options;
  const heading = el("h2", { id: "dialog-title" }, title);
  const done = el("button", { type: "submit", class: isDangerous ? "danger" : "" }, submit);
  const cancel = button("Cancel", "quiet", () => dialog.close());
  const form = el("form", {}, heading, ...content, formError(), buttons(done, cancel));
  const dialog = el(
    "dialog",
    { "aria-labelledby": "dialog-title", class: isBroad ? "broad" : "" },
    form,
  );
  document.body.append(dialog);
  return new Promise((resolve) => {
    let isDone = false;
    onSubmit(form, async () => {
      await act(form);
      isDone = true;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(isDone);
    });
    dialog.showModal();
  });
}

/** Asks before something that cannot be taken back. */
export function confirm(
  title: string,
  text: string,
  submit: string,
  act: () => Promise<void>,
): Promise<boolean> {
  const content = [el("p", {}, text)];
  return openDialog({ title, content, submit, isDangerous: true, act });
}

/** The same, with the visitor's own password again. */
export function confirmWithPassword(
  title: string,
  text: string,
  submit: string,
  act: (password: string) => Promise<void>,
): Promise<boolean> {
  const content = [el("p", {}, text), passwordField()];
  const withIt = (form: HTMLFormElement) => withPassword(form, act);
  return openDialog({ title, content, submit, isDangerous: true, act: withIt });
}

/** Asks for the visitor's own password again, for what the service guards with it. */
export function askPassword(
  title: string,
  content: readonly Child[],
  submit: string,
  act: (password: string, form: HTMLFormElement) => Promise<void>,
): Promise<boolean> {
  return openDialog({
    title,
    submit,
    content: [...content, passwordField()],
    act: (form) => withPassword(form, (password) => act(password, form)),
  });
}

/** @param name of another member, where `password` is somebody else's */
export function passwordField(name = "password"): HTMLElement {
  return field({
    name,
    label: "Your password",
    type: "password",
    required: true,
    autocomplete: "current-password",
  });
}

/** Runs an act with the password of the form; a wrong one is said at the field. */
export async function withPassword(
  form: HTMLElement,
  act: (password: string) => Promise<void>,
  name = "password",
): Promise<void> {
  try {
    await act(valueOf(form, name));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "wrong_password") throw error;
    showAt(form, name, "This is not your password");
    control(form, name).focus();
    throw new Error("Nothing was changed", { cause: error });
  }
}
