import { useState } from "hono/jsx/dom";
import { ALGORITHMS } from "../shared/contract/signature-scheme.ts";
import { Field, SteadyFields } from "./field.tsx";
import { textOf } from "./form-values.ts";
import type { Webhook } from "./resources.ts";

type Custom = NonNullable<NonNullable<Webhook["signature"]>["custom"]>;

const SEPARATORS = [
  ["", "One signature, not separated"],
  [",", "Commas"],
  [" ", "Blanks"],
  [";", "Semicolons"],
] as const;

const TIMES = [
  ["", "No time is signed"],
  ["header", "In a header of its own"],
  ["parameter", "Beside the signature, as a parameter"],
] as const;

const UNITS = [
  ["s", "Seconds"],
  ["ms", "Milliseconds"],
] as const;

const pairs = (names: readonly string[]) => names.map((name) => [name, name] as const);

/** How a sender signs that no scheme of the list describes. */
export function CustomFields({ custom }: { custom: Custom | null }) {
  const [algorithm, setAlgorithm] = useState<string>(custom?.algorithm ?? "hmac-sha256");
  return (
    <SteadyFields>
      <Field
        name="signature.custom.algorithm"
        label="Algorithm"
        hint="token: the header holds the secret itself, and nothing is signed."
        choices={pairs(ALGORITHMS)}
        value={algorithm}
        onInput={setAlgorithm}
      />
      <div class="row">
        <Field
          name="signature.custom.header"
          label="Header"
          hint="As x-signature."
          value={custom?.header ?? ""}
          isRequired
        />
        <Field
          name="signature.custom.prefix"
          label="Before the signature"
          hint="Default: empty. As sha256=."
          value={custom?.prefix ?? ""}
        />
      </div>
      <div class="row">
        <Field
          name="signature.custom.separator"
          label="Between several signatures"
          choices={SEPARATORS}
          value={custom?.separator ?? ""}
        />
        <Field
          name="signature.custom.parameter"
          label="Its parameter"
          hint="Default: empty. v1, where it is v1=..."
          value={custom?.parameter ?? ""}
        />
      </div>
      {algorithm === "token" ? null : <SignedFields custom={custom} />}
      <Field
        name="signature.custom.id_header"
        label="Header with the id of the delivery"
        hint="Default: empty. Calls can be told apart by it."
        value={custom?.id_header ?? ""}
      />
    </SteadyFields>
  );
}

function SignedFields({ custom }: { custom: Custom | null }) {
  const time = custom?.timestamp ?? null;
  const held = time === null ? "" : time.header === undefined ? "parameter" : "header";
  const [place, setPlace] = useState(held);
  return (
    <SteadyFields>
      <div class="row">
        <Field
          name="signature.custom.encoding"
          label="Encoding of the signature"
          choices={pairs(["hex", "base64"])}
          value={custom?.encoding ?? "hex"}
        />
        <Field
          name="signature.custom.secret_encoding"
          label="Encoding of the secret"
          choices={pairs(["utf8", "hex", "base64"])}
          value={custom?.secret_encoding ?? "utf8"}
        />
      </div>
      <Field
        name="signature.custom.message"
        label="What is signed"
        hint="Default: {body}. Also {timestamp}, {id}, {method} and {url}. Line ends are signed as line feeds."
        value={custom?.message ?? "{body}"}
        rows={2}
      />
      <Field
        name="time"
        label="Time of the call"
        choices={TIMES}
        value={place}
        onInput={setPlace}
      />
      {place === "" ? null : (
        <div class="row">
          <Field
            key={place}
            name={`signature.custom.timestamp.${place}`}
            label={place === "header" ? "Header of the time" : "Parameter of the time"}
            value={(place === "header" ? time?.header : time?.parameter) ?? ""}
            isRequired
          />
          <Field
            name="signature.custom.timestamp.unit"
            label="Counted in"
            choices={UNITS}
            value={time?.unit ?? "s"}
          />
        </div>
      )}
    </SteadyFields>
  );
}

/** What is left out takes its default. */
export function toCustom(values: FormData): Record<string, unknown> {
  const filled = (name: string) => {
    const text = textOf(values, `signature.custom.${name}`);
    return text === "" ? {} : { [name]: text };
  };
  const place = textOf(values, "time");
  const time = {
    [place]: textOf(values, `signature.custom.timestamp.${place}`),
    unit: textOf(values, "signature.custom.timestamp.unit"),
  };
  const names = ["algorithm", "header", "prefix", "separator", "parameter", "encoding"];
  return {
    ...Object.assign({}, ...names.map(filled)),
    ...filled("secret_encoding"),
    ...filled("message"),
    ...filled("id_header"),
    ...(place === "" ? {} : { timestamp: time }),
  };
}
