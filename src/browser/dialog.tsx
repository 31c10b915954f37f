import { useId, type Child } from "hono/jsx/dom";
import { append } from "./append.ts";
import { Field } from "./field.tsx";
import { Form } from "./form.tsx";
import { textOf } from "./form-values.ts";

interface DialogOptions {
  readonly title: string;
  readonly content: Child;
  readonly submit: string;
  /** For what cannot be taken back. */
  readonly isDangerous?: boolean;
  /** For long texts. */
  readonly isBroad?: boolean;
  readonly act: (values: FormData) => Promise<unknown>;
}

/** A form in a dialog; resolves with whether it was done, once it is closed. */
export function openDialog(options: DialogOptions): Promise<boolean> {
  return new Promise((resolve) => {
    let isDone = false;
    const act = async (values: FormData): Promise<void> => {
      await options.act(values);
      isDone = true;
      dialog.close();
    };
    const closed = (): void => {
      dialog.remove();
      resolve(isDone);
    };
    const cancel = () => dialog.close();
    const shown = <Dialog {...options} act={act} cancel={cancel} closed={closed} />;
    const dialog = append(document.body, shown) as HTMLDialogElement;
    dialog.showModal();
  });
}

function Dialog(props: DialogOptions & { cancel: () => void; closed: () => void }) {
  const { title, content, submit, isDangerous = false, isBroad = false, act } = props;
  const id = useId();
  const cancel = (
    <button type="button" class="quiet" onClick={props.cancel}>
      Cancel
    </button>
  );
  return (
    <dialog aria-labelledby={id} class={isBroad ? "broad" : ""} onClose={props.closed}>
      <Form style="" act={act} submit={submit} isDangerous={isDangerous} beside={cancel}>
        <h2 id={id}>{title}</h2>
        {content}
      </Form>
    </dialog>
  );
}

/** Asks before something that cannot be taken back. */
export function confirm(
  title: string,
  text: string,
  submit: string,
  act: () => Promise<void>,
): Promise<boolean> {
  return openDialog({ title, content: <p>{text}</p>, submit, isDangerous: true, act });
}

/** The same, with the visitor's own password again. */
export function confirmWithPassword(
  title: string,
  text: string,
  submit: string,
  act: (password: string) => Promise<void>,
): Promise<boolean> {
  const content = [<p>{text}</p>, <PasswordField />];
  const withIt = (values: FormData) => act(textOf(values, "password"));
  return openDialog({ title, content, submit, isDangerous: true, act: withIt });
}

/** @param props.name of another member, where `password` is somebody else's */
export function PasswordField({ name = "password" }: { name?: string }) {
  return (
    <Field
      name={name}
      label="Your password"
      type="password"
      autocomplete="current-password"
      isRequired
    />
  );
}
