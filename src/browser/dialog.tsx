import { useEffect, useId, useRef, useState, type Child } from "hono/jsx/dom";
import { append } from "./append.ts";
import { Button } from "./button.tsx";
import { Field } from "./field.tsx";
import { Form } from "./form.tsx";
import { textOf } from "./form-values.ts";
import { askBeforeLeaving } from "./leaving.ts";
import { isUnsaved } from "./unsaved.ts";

interface DialogOptions {
  readonly title: string;
  readonly content: Child;
  readonly submit: string;
  /** Closes it and does nothing; Cancel unless told. */
  readonly dismiss?: string;
  /** For what cannot be taken back. */
  readonly isDangerous?: boolean;
  /** For long texts. */
  readonly isBroad?: boolean;
  readonly act: (values: FormData) => Promise<unknown>;
  /** The same over what somebody else has changed meanwhile; left out: that is not offered. */
  readonly actOver?: ((values: FormData) => Promise<unknown>) | undefined;
  /**
   * What is read before the dialog closes, once it was done; null or left out: nothing. From the
   * sending on until it was read, the browser asks before it leaves the page.
   */
  readonly result?: () => Child | null;
}

/**
 * A form in a dialog; resolves once it is closed. Escape asks where something was changed, the button
 * that closes it does not. While its act is under way it stays and takes nothing: whether it was done
 * is still to be said. Without an answer for long it says so, and can be left: what is to follow on
 * what was done is for `act` itself, which may end after that.
 */
export function openDialog(options: DialogOptions): Promise<void> {
  return new Promise((resolve) => {
    let isKept = false;
    let isLeft = false;
    const keep = (is: boolean, isActing = is): void => {
      isKept = is;
      dialog.toggleAttribute("data-acting", isActing);
      if (is) dialog.querySelector(".unsaved")?.remove();
    };
    const close = (): void => {
      if (isKept) return;
      isLeft = true;
      dialog.close();
    };
    const isChanged = (): boolean =>
      !isLeft && [...dialog.querySelectorAll("form")].some(isUnsaved);
    const cancelled = (event: Event): void => {
      if (isKept || isChanged()) event.preventDefault();
      if (isChanged()) askToDiscard(dialog, close);
    };
    const closed = (): void => {
      // Browsers close a dialog at the second Escape whatever the page says.
      if (isKept || isChanged()) return dialog.showModal();
      dialog.remove();
      resolve();
    };
    const { title, isBroad = false } = options;
    const shown = (
      <Dialog title={title} isBroad={isBroad} cancelled={cancelled} closed={closed}>
        <Asked {...options} keep={keep} close={close} isOpen={() => dialog.open} />
      </Dialog>
    );
    const dialog = append(document.body, shown) as HTMLDialogElement;
    dialog.showModal();
  });
}

/** At the top of a dialog, once until it is answered. */
function askToDiscard(dialog: HTMLElement, discard: () => void): void {
  const place = dialog.querySelector<HTMLElement>(".banner");
  if (place === null || place.querySelector(".unsaved") !== null) return;
  const used = document.activeElement;
  const stay = (): void => {
    line.remove();
    if (used instanceof HTMLElement) used.focus();
  };
  const line = append(
    place,
    <p class="unsaved">
      <span>What you changed is not saved.</span>
      <button type="button" class="quiet" onClick={stay}>
        Go on
      </button>
      <button type="button" class="danger" onClick={discard}>
        Discard it
      </button>
    </p>,
  );
  line.querySelector("button")?.focus();
}

/** Something to read. */
export function showDialog(title: string, content: Child): void {
  const shown = (
    <Dialog title={title} isBroad={false} closed={() => dialog.remove()}>
      {content}
      <div class="buttons">
        <Button act={() => dialog.close()}>Close</Button>
      </div>
    </Dialog>
  );
  const dialog = append(document.body, shown) as HTMLDialogElement;
  dialog.showModal();
}

/** What came once its own dialog was left: a key is shown this once, so that only Close ends it. */
function showResult(title: string, { content, wasRead }: Shown): void {
  let isRead = false;
  const close = (): void => {
    isRead = true;
    wasRead();
    dialog.close();
  };
  const cancelled = (event: Event): void => event.preventDefault();
  const closed = (): void => (isRead ? dialog.remove() : dialog.showModal());
  const shown = (
    <Dialog title={title} isBroad={false} cancelled={cancelled} closed={closed}>
      <Result close={close}>{content}</Result>
    </Dialog>
  );
  const dialog = append(document.body, shown) as HTMLDialogElement;
  dialog.showModal();
}

function Dialog(props: {
  title: string;
  isBroad: boolean;
  /** Escape was pressed. */
  cancelled?: (event: Event) => void;
  closed: () => void;
  children: Child;
}) {
  const { title, isBroad, cancelled, closed, children } = props;
  const id = useId();
  return (
    <dialog
      aria-labelledby={id}
      class={isBroad ? "broad" : ""}
      onCancel={cancelled}
      onClose={closed}
      onKeyDown={ignoreHeld}
    >
      <h2 id={id}>{title}</h2>
      <div class="banner" role="alert"></div>
      {children}
      <div class="notices" role="status" aria-live="polite"></div>
    </dialog>
  );
}

/** The key that opened it may still be held: it answers nothing that was not read yet. */
function ignoreHeld(event: KeyboardEvent): void {
  const isLine = event.target instanceof HTMLTextAreaElement;
  if (event.repeat && event.key === "Enter" && !isLine) event.preventDefault();
}

interface AskedOptions extends DialogOptions {
  readonly isOpen: () => boolean;
  /** Whether only its end closes the dialog: an act is under way, or its result is shown, once. */
  readonly keep: (isKept: boolean, isActing?: boolean) => void;
  readonly close: () => void;
}

/** A result, and who is told that it was read. */
interface Shown {
  readonly content: Child;
  readonly wasRead: () => void;
}

/** The form, and then its result. */
function Asked(props: AskedOptions) {
  const { content, submit, dismiss = "Cancel", isDangerous = false, keep, close } = props;
  const [result, setResult] = useState<Shown | null>(null);
  const sent = useRef(0);
  const through = (act: DialogOptions["act"]) => async (values: FormData) => {
    const mine = (sent.current = (sent.current ?? 0) + 1);
    // Sent again before this answer came, it stays for that of the last.
    const isOpen = (): boolean => mine === sent.current && props.isOpen();
    keep(true);
    const wasRead = props.result === undefined ? () => {} : askBeforeLeaving();
    try {
      await act(values);
    } catch (error) {
      wasRead();
      if (isOpen()) keep(false);
      throw error;
    }
    const found = props.result?.() ?? null;
    if (found === null) {
      wasRead();
      return isOpen() ? leave() : undefined;
    }
    // Also where nobody waits for it any more.
    if (!isOpen()) return showResult(props.title, { content: found, wasRead });
    keep(true, false);
    setResult({ content: found, wasRead });
  };
  const leave = (): void => {
    keep(false);
    close();
  };
  const read = (): void => {
    result?.wasRead();
    leave();
  };
  const cancel = (
    <button type="button" class="quiet" onClick={close}>
      {dismiss}
    </button>
  );
  return (
    <div>
      <div hidden={result !== null}>
        <Form
          style=""
          act={through(props.act)}
          actOver={props.actOver && through(props.actOver)}
          submit={submit}
          isDangerous={isDangerous}
          beside={cancel}
          isGoneAfter
          late={() => keep(false, true)}
        >
          {content}
        </Form>
      </div>
      {result === null ? null : <Result close={read}>{result.content}</Result>}
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
  dismiss = "Cancel",
): Promise<void> {
  return openDialog({ title, content: <p>{text}</p>, submit, dismiss, isDangerous: true, act });
}

/** The same, with the visitor's own password again. */
export function confirmWithPassword(
  title: string,
  text: string,
  submit: string,
  act: (password: string) => Promise<void>,
): Promise<void> {
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
