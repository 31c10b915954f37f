/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";

interface FieldProps {
  name: string;
  label: string;
  hint?: string;
}

/** A labelled field with its hint and the place for its fault. */
function Field(props: FieldProps & { children: Child }) {
  const { name, label, hint, children } = props;
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {children}
      {hint === undefined ? null : (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      <p class="fault" id={`${name}-fault`} data-fault-of={name} aria-live="polite"></p>
    </div>
  );
}

function attributesOf({ name, hint }: FieldProps) {
  const described = hint === undefined ? `${name}-fault` : `${name}-hint ${name}-fault`;
  return { id: name, name, "aria-describedby": described, autocomplete: "off", spellcheck: false };
}

export function TextField(
  props: FieldProps & { required?: boolean; type?: string; value?: string; autocomplete?: string },
) {
  const { required = false, type = "text", value = "", autocomplete = "off" } = props;
  const attributes = { ...attributesOf(props), autocomplete, required, type, value };
  return (
    <Field {...props}>
      <input {...attributes} />
    </Field>
  );
}

export function AreaField(props: FieldProps & { rows: number; value?: string; code?: boolean }) {
  const { rows, value = "", code = false } = props;
  return (
    <Field {...props}>
      <textarea {...attributesOf(props)} rows={rows} class={code ? "code" : ""}>
        {value}
      </textarea>
    </Field>
  );
}

/** The choices come from the page's module, but for those that never change. */
export function SelectField(
  props: FieldProps & {
    required?: boolean;
    choices?: readonly (readonly [value: string, label: string])[];
  },
) {
  const { choices = [], required = false } = props;
  return (
    <Field {...props}>
      <select {...attributesOf(props)} required={required}>
        {choices.map(([value, label]) => (
          <option value={value}>{label}</option>
        ))}
      </select>
    </Field>
  );
}

export function CheckField(props: FieldProps) {
  const { name, label, hint } = props;
  return (
    <div class="field check">
      <input type="checkbox" id={name} name={name} aria-describedby={`${name}-hint`} />
      <label for={name}>{label}</label>
      <p class="hint" id={`${name}-hint`}>
        {hint ?? ""}
      </p>
    </div>
  );
}

/** The line above a form's buttons for what no field is to blame for. */
export function FormError() {
  return <p class="fault form-fault" role="alert"></p>;
}
