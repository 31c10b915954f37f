import { el, type Child } from "./element.ts";

interface FieldOptions {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly type?: string;
  readonly value?: string;
  readonly required?: boolean;
  readonly autocomplete?: string;
  readonly rows?: number;
  readonly choices?: readonly (readonly [value: string, label: string])[];
}

let count = 0;

/** A labelled field with its hint and the place for its fault; as `Field` of the shells. */
export function field(options: FieldOptions): HTMLElement {
  const id = `f${(count += 1)}`;
  const { name, label, hint, required = false } = options;
  const attributes = {
    id,
    name,
    required,
    autocomplete: options.autocomplete ?? "off",
    spellcheck: "false",
    "aria-describedby": hint === undefined ? `${id}-fault` : `${id}-hint ${id}-fault`,
  };
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, label),
    controlOf(options, attributes),
    hint === undefined ? null : el("p", { class: "hint", id: `${id}-hint` }, hint),
    el("p", { class: "fault", id: `${id}-fault`, "data-fault-of": name, "aria-live": "polite" }),
  );
}

function controlOf(
  { type = "text", value = "", rows, choices }: FieldOptions,
  attributes: Record<string, string | boolean>,
): HTMLElement {
  if (choices !== undefined) {
    const options = choices.map(([of, text]) =>
      el("option", { value: of, selected: of === value }, text),
    );
    return el("select", attributes, ...options);
  }
  if (rows !== undefined) return el("textarea", { ...attributes, rows, class: "code" }, value);
  return el("input", { ...attributes, type, value });
}

export function check(name: string, label: string, checked: boolean, hint?: string): HTMLElement {
  const id = `f${(count += 1)}`;
  const input = el("input", { id, name, type: "checkbox", checked });
  if (hint !== undefined) input.setAttribute("aria-describedby", `${id}-hint`);
  return el(
    "div",
    { class: "field check" },
    input,
    el("label", { for: id }, label),
    hint === undefined ? null : el("p", { class: "hint", id: `${id}-hint` }, hint),
  );
}

/** The line above a form's buttons for what no field is to blame for. */
export function formError(): HTMLElement {
  return el("p", { class: "fault form-fault", role: "alert" });
}

export function buttons(...children: readonly Child[]): HTMLElement {
  return el("div", { class: "buttons" }, ...children);
}
