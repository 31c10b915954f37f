import { useState } from "hono/jsx/dom";
import { BY_FIELDS } from "./call-request.ts";
import { ANY } from "./example-body.ts";
import { Field, Group } from "./field.tsx";
import { nameOfField, type InputField } from "./input-fields.ts";

const TYPES = [
  ["application/json", "JSON"],
  ["application/yaml", "YAML"],
  ["", "No body"],
] as const;

/** The body of a call: by the fields of the flow's input schema where it has them, or as text. */
export function BodyFields(props: {
  fields: readonly InputField[];
  /** A body that the flow takes; undefined: any. */
  example: unknown;
  isUsed: boolean;
}) {
  const { fields, example = ANY, isUsed } = props;
  const hasFields = fields.length > 0;
  const [type, setType] = useState<string>(hasFields ? BY_FIELDS : "application/json");
  const choices = hasFields
    ? [[BY_FIELDS, "JSON, by the flow's fields"] as const, ...TYPES]
    : TYPES;
  return (
    <>
      <Field
        name="type"
        label="Body"
        choices={choices}
        value={type}
        isDisabled={!isUsed}
        onInput={setType}
      />
      {hasFields ? (
        <div id="input-fields" hidden={!isUsed || type !== BY_FIELDS}>
          <Group title="Input of the flow">
            {fields.map((field) => (
              <InputOf field={field} />
            ))}
          </Group>
        </div>
      ) : null}
      <div hidden={type === BY_FIELDS}>
        <Field
          name="body"
          label="Content of the body"
          rows={5}
          value={JSON.stringify(example, null, 2)}
          isDisabled={!isUsed || type === ""}
        />
      </div>
    </>
  );
}

function InputOf({ field }: { field: InputField }) {
  const { name, kind, isRequired, hint } = field;
  const label = isRequired ? name : `${name} (optional)`;
  const shared = { name: nameOfField(field), label, isRequired };
  if (kind === "json") {
    const form = hint === undefined ? "As JSON." : `As JSON. ${hint}`;
    return <Field {...shared} hint={form} rows={3} />;
  }
  const described = hint === undefined ? shared : { ...shared, hint };
  if (kind === "text" || kind === "number") return <Field {...described} />;
  const values = kind === "boolean" ? ["true", "false"] : field.choices;
  const choices = values.map((value) => [value, value] as const);
  return <Field {...described} choices={isRequired ? choices : [["", "–"], ...choices]} />;
}
