import { useContext, useId, useRef, useState, type Child } from "hono/jsx/dom";
import { FieldErrors } from "./form.tsx";
import { fill } from "./unsaved.ts";

export interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly type?: string;
  /** What it holds at first; where this changes later, the field follows. */
  readonly value?: string;
  readonly isRequired?: boolean;
  readonly isDisabled?: boolean;
  readonly autocomplete?: string;
  /** Of an area for several lines. */
  readonly rows?: number;
  /** Prose and not code, where there are rows. */
  readonly isProse?: boolean;
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** For those who refer to it; one is made otherwise. */
  readonly id?: string;
  /** Each time something is typed or chosen. */
  readonly onInput?: (text: string) => void;
}

/** A labelled field with its hint and the place for its error. */
export function Field(options: FieldOptions) {
  const made = useId();
  const { name, label, hint, id = made } = options;
  const error = useContext(FieldErrors).get(name);
  const described = hint === undefined ? `${id}-fault` : `${id}-hint ${id}-fault`;
  const attributes = {
    id,
    name,
    required: options.isRequired === true,
    disabled: options.isDisabled === true,
    autocomplete: options.autocomplete ?? "off",
    spellcheck: "false",
    "aria-describedby": described,
    "aria-invalid": error === undefined ? undefined : "true",
    onInput: ({ target }: Event) => options.onInput?.((target as HTMLInputElement).value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Control options={options} attributes={attributes} />
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <ErrorLine name={name} id={`${id}-fault`} />
    </div>
  );
}

function Control(props: { options: FieldOptions; attributes: Record<string, unknown> }) {
  const { options, attributes } = props;
  const { type = "text", value = "", rows, isProse = false, choices } = options;
  if (choices !== undefined)
    return (
      <select {...attributes}>
        {withChosen(choices, value).map(([of, text]) => (
          <option key={of} value={of} selected={of === value}>
            {text}
          </option>
        ))}
      </select>
    );
  if (rows !== undefined)
    return (
      <textarea
        {...attributes}
        rows={rows}
        class={isProse ? "" : "code"}
        ref={(area: HTMLTextAreaElement | null) => give(area, value)}
      />
    );
  return (
    <input
      {...attributes}
      type={type}
      ref={(input: HTMLInputElement | null) => give(input, value)}
    />
  );
}

/**
 * What is chosen in a field that others of its form depend on. Where what it holds changes later, it
 * follows as a field does, unless somebody has chosen something else meanwhile.
 */
export function useChosen(
  held: string,
): readonly [chosen: string, choose: (value: string) => void] {
  const [chosen, choose] = useState(held);
  const last = useRef(held);
  const isAsHeld = chosen === last.current;
  if (last.current === held) return [chosen, choose];
  last.current = held;
  if (!isAsHeld) return [chosen, choose];
  choose(held);
  return [held, choose];
}

/** What each field was given last. */
const given = new WeakMap<Element, string>();

/** Not by its attribute: drawn twice at once, a field would lose what was typed meanwhile. */
function give(field: HTMLInputElement | HTMLTextAreaElement | null, value: string): void {
  if (field === null || given.get(field) === value) return;
  given.set(field, value);
  fill(field, value);
}

/** What is chosen stays a choice, also where it is not offered any more. */
function withChosen(choices: NonNullable<FieldOptions["choices"]>, value: string) {
  const isOffered = value === "" || choices.some(([of]) => of === value);
  return isOffered ? choices : [...choices, [value, value] as const];
}

/** What is wrong with a field, or with a group of fields of one member. */
export function ErrorLine({ name, id }: { name: string; id?: string }) {
  const error = useContext(FieldErrors).get(name);
  return (
    <p class="fault" id={id} data-fault-of={name} aria-live="polite">
      {error}
    </p>
  );
}

export function Check(props: {
  name: string;
  label: string;
  /** Sent where it is set; `on` unless told. */
  value?: string;
  isChecked: boolean;
  hint?: string;
  onChange?: (isChecked: boolean) => void;
}) {
  const { name, label, value = "on", isChecked, hint, onChange } = props;
  const id = useId();
  const change = (event: Event) => onChange?.((event.target as HTMLInputElement).checked);
  return (
    <div class="field check">
      <input
        id={id}
        name={name}
        type="checkbox"
        value={value}
        checked={isChecked}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={change}
      />
      <label for={id}>{label}</label>
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/**
 * Fields of a component that is drawn again while one of them is used. In one element, because the
 * elements of a fragment are put into their place again then, and what is moved loses the focus.
 */
export function SteadyFields({ children }: { children: Child }) {
  return <div>{children}</div>;
}

/** Fields of one subject. */
export function Group({ title, children }: { title: string; children: Child }) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
