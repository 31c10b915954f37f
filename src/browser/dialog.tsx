import { useEffect, useId, useRef, useState, type Child } from "hono/jsx/dom";
import { append } from "./append.ts";
import { Button } from "./button.tsx";
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
  /** What is read before the dialog closes, once it was done; null or left out: nothing. */
  readonly result?: () => Child | null;
}

/** A form in a dialog; resolves with whether it was done, once it is closed. */
export function openDialog(options: DialogOptions): Promise<boolean> {
  return new Promise((resolve) => {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    // What is shown for the only time is left with its own button.
    const keep = (event: Event): void => {
      if (isDone) event.preventDefault();
    };
    const closed = (): void => {
      dialog.remove();
      resolve(isDone);
    };
    const shown = (
      <Dialog title={options.title} isBroad={options.isBroad === true} keep={keep} closed={closed}>
        <Asked {...options} done={done} close={() => dialog.close()} />
      </Dialog>
    );
    const dialog = append(document.body, shown) as HTMLDialogElement;
    dialog.showModal();
  });
}

/** Something to read. */
export function showDialog(title: string, content: Child): void {
  const shown = (
    <Dialog title={title} isBroad={false} keep={() => undefined} closed={() => dialog.remove()}>
      {content}
      <div class="buttons">
        <Button act={() => dialog.close()}>Close</Button>
      </div>
    </Dialog>
  );
  const dialog = append(document.body, shown) as HTMLDialogElement;
  dialog.showModal();
}

function Dialog(props: {
  title: string;
  isBroad: boolean;
  /** Escape was pressed. */
  keep: (event: Event) => void;
  closed: () => void;
  children: Child;
}) {
  const { title, isBroad, keep, closed, children } = props;
  const id = useId();
  return (
    <dialog aria-labelledby={id} class={isBroad ? "broad" : ""} onCancel={keep} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** The form, and then its result. */
function Asked(props: DialogOptions & { done: () => void; close: () => void }) {
  const { content, submit, isDangerous = false, close } = props;
  const [result, setResult] = useState<Child | null>(null);
  const act = async (values: FormData): Promise<void> => {
    await props.act(values);
    props.done();
    const found = props.result?.() ?? null;
    if (found === null) close();
    else setResult(found);
  };
  const cancel = (
    <button type="button" class="quiet" onClick={close}>
      Cancel
    </button>
  );
  return (
    <div>
      <div hidden={result !== null}>
        <Form style="" act={act} submit={submit} isDangerous={isDangerous} beside={cancel}>
          {content}
        </Form>
      </div>
      {result === null ? null : <Result close={close}>{result}</Result>}
    </div>
  );
}

function Result({ close, children }: { close: () => void; children: Child }) {
  const place = useRef<HTMLElement | null>(null);
  useEffect(() => {
    place.current?.focus();
  }, []);
  return (
    <div class="result" ref={place} tabindex={-1}>
      {children}
      <div class="buttons">
        <Button act={close}>Close</Button>
      </div>
    </div>
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
