import { Check, ErrorLine, Field, Group, useChosen } from "./field.tsx";
import { numberOf, textOf } from "./form-values.ts";
import type { Webhook } from "./resources.ts";
import { MemberForm, type SentMembers, type WebhookPart } from "./webhook-members.tsx";

const SOURCES = [
  ["", "They are not told apart: each starts an execution"],
  ["header", "By a header"],
  ["query", "By a parameter of the query"],
  ["json", "By a member of a JSON body"],
  ["scheme", "By the id of a signed delivery"],
] as const;

/** What the name of a source is called. */
const NAMES: Readonly<Record<string, { label: string; hint: string; usual: string }>> = {
  header: { label: "Header", hint: "As idempotency-key.", usual: "idempotency-key" },
  query: { label: "Parameter", hint: "As id, of ?id=1.", usual: "" },
  json: { label: "JSON pointer", hint: "As /event/id (RFC 6901).", usual: "" },
};

const AFTER_FAILURE = [
  ["run_again", "Another execution"],
  ["same", "The failure, as the first call got it"],
] as const;

/** What is delivered more than once. */
export function WebhookDelivery(part: WebhookPart) {
  return <MemberForm {...part} toMembers={toMembers} fields={fieldsOf} />;
}

function fieldsOf(webhook: Webhook) {
  return (
    <Group title="Calls that are sent again">
      <IdempotencyFields webhook={webhook} />
      <ErrorLine name="idempotency" />
    </Group>
  );
}

function IdempotencyFields({ webhook: { idempotency } }: { webhook: Webhook }) {
  const [source = "", name = ""] = (idempotency?.from ?? "").split(/:(.*)/s);
  const [chosen, choose] = useChosen(source);
  const asked = NAMES[chosen];
  return (
    <>
      <Field
        name="source"
        label="How calls are told apart"
        hint="Default: not at all. A call whose key was seen before starts nothing, and is answered as the first one."
        choices={SOURCES}
        value={chosen}
        onInput={choose}
      />
      {asked === undefined ? null : (
        <Field
          key={chosen}
          name="idempotency.from"
          label={asked.label}
          hint={`${asked.hint} A value that cannot be used is answered with 400.`}
          value={chosen === source ? name : asked.usual}
          isRequired
        />
      )}
      {chosen === "" ? null : (
        <>
          <Field
            name="idempotency.window_sec"
            label="Seconds for which a key is known"
            hint="Default: 86400. 60 to 2592000."
            value={String(idempotency?.window_sec ?? 86_400)}
          />
          <Check
            name="idempotency.required"
            label="A call without a key is refused"
            hint="Default: no, it starts an execution. Set, it is answered with 400."
            isChecked={idempotency?.required ?? false}
          />
          <Check
            name="idempotency.compare"
            label="Another call with the same key is refused"
            hint="Default: yes, it is answered with 422; but not for signed deliveries, which may come again with another body."
            isChecked={idempotency?.compare ?? chosen !== "scheme"}
          />
          <Field
            name="idempotency.after_failure"
            label="The same call after a failure gets"
            hint="Default: another execution."
            choices={AFTER_FAILURE}
            value={idempotency?.after_failure ?? "run_again"}
          />
        </>
      )}
    </>
  );
}

function toMembers(values: FormData): SentMembers {
  const source = textOf(values, "source");
  const name = textOf(values, "idempotency.from").trim();
  const windowSec = numberOf(values, "idempotency.window_sec");
  const idempotency = {
    from: source === "scheme" ? source : `${source}:${name}`,
    ...(windowSec === null ? {} : { window_sec: windowSec }),
    required: values.has("idempotency.required"),
    compare: values.has("idempotency.compare"),
    after_failure: textOf(values, "idempotency.after_failure"),
  };
  return { idempotency: source === "" ? null : idempotency };
}
