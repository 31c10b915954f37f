import {
  createContext,
  useLayoutEffect,
  useRef,
  useState,
  type Child,
  type RefObject,
} from "hono/jsx/dom";
import { ApiError, sentenceOf } from "./api.ts";
import { FieldError } from "./form-values.ts";
import { complain } from "./notice.tsx";
import { save } from "./unsaved.ts";

/** Messages by the name of their field; by "" what no field is to blame for. */
type Messages = ReadonlyMap<string, string>;

const NONE: Messages = new Map();

export const FieldErrors = createContext(NONE);

type Act = (values: FormData) => Promise<unknown>;

/** A form that sends itself through `act`; what is wrong stands at its field, what was typed stays. */
export function Form(props: {
  act: Act;
  /** The same over what somebody else has changed meanwhile; left out: that is not offered. */
  actOver?: Act | undefined;
  submit: string;
  style?: string;
  isDangerous?: boolean;
  /** Shown and not to be changed. */
  isFixed?: boolean;
  /** Starts something and changes nothing: nobody is asked before what was typed is left. */
  isForOnce?: boolean;
  /** Goes with what it has sent: nothing can be typed meanwhile, as it would be lost. */
  isGoneAfter?: boolean;
  /** Once no answer has come for long: from then on it can be used again, and left. */
  late?: () => void;
  /** Holds the form itself, once it is drawn. */
  place?: RefObject<HTMLFormElement | null> | undefined;
  /** Stands beside the button. */
  beside?: Child;
  children: Child;
}) {
  const { actOver, submit, style = "narrow", isDangerous = false, isFixed = false } = props;
  const { errors, isBusy, send, forgive } = useSending(props);
  const isShut = isFixed || (isBusy && props.isGoneAfter === true);
  return (
    <form
      ref={props.place}
      class={style}
      data-kept={props.isForOnce === true ? undefined : ""}
      novalidate
      onSubmit={send}
      onInput={forgive}
      onKeyDown={sendByKeys}
    >
      <fieldset class="bare" disabled={isShut}>
        <FieldErrors value={errors}>{props.children}</FieldErrors>
        <p class="fault form-fault" role="alert">
          {errors.get("")}
        </p>
        <div class="buttons">
          <button type="submit" class={isDangerous ? "danger" : ""} disabled={isBusy}>
            {submit}
          </button>
          {actOver !== undefined && isChanged(errors) ? <SaveOver /> : null}
          {props.beside}
        </div>
      </fieldset>
    </form>
  );
}

/** How long a form waits for its answer before it lets go, in milliseconds: a network may hang. */
const LATE_MS = 10_000;

const LATE: Messages = new Map([
  [
    "",
    "No answer yet: whether it was done is not known. Wait for it, or look before you do it again.",
  ],
]);

interface Sending {
  readonly act: Act;
  readonly actOver?: Act | undefined;
  readonly isForOnce?: boolean;
  readonly late?: () => void;
}

/** What a form does when it is sent: once at a time, and it says what is wrong. */
function useSending({ act, actOver, isForOnce = false, late }: Sending) {
  const [errors, setErrors] = useState(NONE);
  const [isBusy, setBusy] = useState(false);
  // Keys send a form whose button is disabled, and before that is drawn.
  const sent = useRef<Sent | null>(null);
  const last = useRef<Sent | null>(null);
  // What may have been done all the same: each that was given up, until its refusal comes.
  const unsure = useRef(new Set<Sent>());
  useLayoutEffect(() => {
    if (isBusy || sent.current === null) return;
    const { form, used } = sent.current;
    sent.current = null;
    comeBack(form, used, errors);
  }, [isBusy]);
  const send = (event: Event): void => {
    event.preventDefault();
    if (sent.current !== null) return;
    const form = event.currentTarget as HTMLFormElement;
    const missing = missingIn(form);
    setErrors(missing);
    if (missing.size > 0) return show(form, missing);
    const mine = { form, used: document.activeElement };
    sent.current = last.current = mine;
    setBusy(true);
    const end = (found: Messages): void => {
      if (last.current !== mine) return;
      setErrors(found);
      setBusy(false);
    };
    const letGo = (): void => {
      unsure.current?.add(mine);
      late?.();
      end(LATE);
    };
    const failed = (error: unknown): void => {
      if (error instanceof ApiError && error.status > 0) unsure.current?.delete(mine);
      // Nobody looks at a form that was left.
      if (!form.isConnected) complain(error);
      else end(messagesOf(form, error, unsure.current?.size !== 0));
    };
    // What is started may take any time.
    const timer = isForOnce ? undefined : setTimeout(letGo, LATE_MS);
    const isOver = (event as SubmitEvent).submitter?.dataset["over"] !== undefined;
    const run = isOver ? (actOver ?? act) : act;
    save(form, run(new FormData(form)))
      .then(() => {
        if (last.current === mine) unsure.current?.clear();
        end(NONE);
      }, failed)
      .finally(() => clearTimeout(timer));
  };
  const forgive = ({ target }: Event): void =>
    setErrors((now) => without(now, (target as HTMLInputElement).name));
  return { errors, isBusy, send, forgive };
}

/** What was wrong with a field is not known any more once it is changed. */
function without(errors: Messages, name: string): Messages {
  const isOf = (place: string) => place !== "" && (place === name || name.startsWith(`${place}.`));
  const left = [...errors].filter(([place]) => !isOf(place));
  return left.length === errors.size ? errors : new Map(left);
}

/** A form that is under way, and what had the focus when it was sent. */
interface Sent {
  readonly form: HTMLFormElement;
  readonly used: Element | null;
}

/** What is disabled while a form is under way loses the focus to what the form is in, and gets it back. */
function comeBack(form: HTMLFormElement, used: Element | null, errors: Messages): void {
  const isLost = document.activeElement?.contains(form) ?? true;
  if (isLost && used instanceof HTMLElement) used.focus({ preventScroll: true });
  show(form, errors);
}

/** What somebody else did is not seen here, so that it is not lost without a word. */
const CHANGED =
  "Somebody else has changed it meanwhile, so what you typed is not saved. Open it again to see theirs.";

/** The same after a request without an answer: it may have been that one. */
const CHANGED_OR_SENT =
  "It has been changed meanwhile: by what you sent before, which had no answer, or by somebody else. " +
  "What you typed is not saved. Open it again to see what is there.";

function isChanged(errors: Messages): boolean {
  return [CHANGED, CHANGED_OR_SENT].includes(errors.get("") ?? "");
}

function SaveOver() {
  return (
    <button type="submit" class="quiet" data-over="">
      Save over it
    </button>
  );
}

function sendByKeys(event: KeyboardEvent): void {
  const isSending = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (isSending) (event.currentTarget as HTMLFormElement).requestSubmit();
}

function missingIn(form: HTMLFormElement): Messages {
  const required = form.querySelectorAll<HTMLInputElement>("[required]");
  const missing = [...required].filter(
    (field) => field.value.trim() === "" && field.offsetParent !== null,
  );
  return new Map(missing.map(({ name }) => [name, "This is needed"]));
}

/** Opens what folds a message away, and goes to the first field that has one. */
function show(form: HTMLFormElement, errors: Messages): void {
  const of = (attribute: string, name: string) =>
    form.querySelector<HTMLElement>(`[${attribute}="${CSS.escape(name)}"]`);
  for (const name of errors.keys())
    of("data-fault-of", name)?.closest("details")?.setAttribute("open", "");
  const [first] = errors.keys();
  if (first === undefined || errors.has("")) return;
  of("data-fault-of", first)?.scrollIntoView({ block: "nearest" });
  of("name", first)?.focus();
}

/**
 * A refusal where it belongs: at the fields that it names, otherwise above the buttons.
 *
 * @param isUnsure whether something was sent before that may have been done
 */
function messagesOf(form: HTMLFormElement, error: unknown, isUnsure: boolean): Messages {
  if (error instanceof ApiError && error.code === "changed_meanwhile")
    return new Map([["", isUnsure ? CHANGED_OR_SENT : CHANGED]]);
  const places = [...form.querySelectorAll<HTMLElement>("[data-fault-of]")];
  const known = new Set(places.map(({ dataset }) => dataset["faultOf"] ?? ""));
  const found = new Map<string, string>();
  for (const { field, message } of namedBy(form, error)) {
    const place = placeOf(field, known);
    const text = sayOf(field, place, message);
    if (place !== null) found.set(place, `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`);
  }
  return found.size > 0 ? found : new Map([["", sentenceOf(error)]]);
}

/** Of an entry of a list, which one is told by its name in the message, or else by its number. */
function sayOf(field: string, place: string | null, message: string): string {
  if (place === field) return message;
  const [, at] = /^\.(\d+)$/.exec(field.slice(place?.length ?? 0)) ?? [];
  if (at === undefined) return `${field}: ${message}`;
  return message.includes('"') ? message : `entry ${Number(at) + 1}: ${message}`;
}

function namedBy(form: HTMLFormElement, error: unknown) {
  if (error instanceof FieldError) return [{ field: error.field, message: error.message }];
  if (!(error instanceof ApiError)) return [];
  if (error.code === "wrong_password") {
    const own = form.querySelector<HTMLInputElement>("[autocomplete=current-password]");
    return [{ field: own?.name ?? "", message: "This is not your password" }];
  }
  if (error.code === "conflict" && error.fields.length === 0)
    return [{ field: "name", message: error.message }];
  return error.fields;
}

/** The field, or the one that holds it as a member of its value. */
function placeOf(field: string, known: ReadonlySet<string>): string | null {
  for (let name = field; name !== ""; name = name.slice(0, Math.max(name.lastIndexOf("."), 0)))
    if (known.has(name)) return name;
  return null;
}
