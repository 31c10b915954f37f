import { Check, ErrorLine, Field, Group, useChosen } from "./field.tsx";
import { FieldError, listOf, numberOf, textOf } from "./form-values.ts";
import type { Webhook } from "./resources.ts";
import { MemberForm, type SentMembers, type WebhookPart } from "./webhook-members.tsx";

const MODES = [
  ["sync", "Synchronous: the result"],
  ["async", "Asynchronous: the id of the execution, at once"],
] as const;

const CHECKS = [
  ["run", "It is recorded, and ends as a failure"],
  ["refuse", "It is refused with 422, and nothing is recorded"],
] as const;

const STATUSES = [
  ["201", "201 Created"],
  ["200", "200 OK"],
  ["202", "202 Accepted"],
  ["204", "204 No Content, without the id as text"],
] as const;

const READERS = [
  ["", "Only those of this service"],
  ["listed", "Those that are listed"],
] as const;

/** Stands where a list of headers is empty: what is left out is the default. */
const NO_HEADERS = "-";

/** Which input is taken, how calls are answered, and which pages may read the answers. */
export function WebhookAnswers(part: WebhookPart) {
  return <MemberForm {...part} toMembers={toMembers} fields={fieldsOf} />;
}

function fieldsOf(webhook: Webhook) {
  return (
    <>
      <Group title="Bodies">
        <Field
          name="input_check"
          label="A call that does not fit the input schema of its flow"
          hint="Default: it is recorded. It can only be refused where the flow has an input schema."
          choices={CHECKS}
          value={webhook.input_check}
        />
      </Group>
      <Group title="Answers">
        <Field
          name="default_mode"
          label="Calls that do not say how they want to be answered"
          hint="Default: synchronous. ?async, ?async=0 and the header Prefer decide for one call. Systems that send events mostly want an answer at once, and take a redirect for a failure."
          choices={MODES}
          value={webhook.default_mode}
        />
        <Field
          name="async_status"
          label="Status of asynchronous answers"
          hint="Default: 201. Each has a Location, where the result will be."
          choices={STATUSES}
          value={String(webhook.async_status)}
        />
        <Field
          name="response_headers"
          label="Headers of answers"
          hint="Default: empty. One Name: value in each line, up to 20; added to results of executions, where the flow has not set them itself."
          rows={3}
          value={Object.entries(webhook.response_headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join("\n")}
        />
      </Group>
      <Group title="Web pages of other origins">
        <CorsFields webhook={webhook} />
        <ErrorLine name="cors" />
      </Group>
    </>
  );
}

function CorsFields({ webhook: { cors } }: { webhook: Webhook }) {
  const [readers, setReaders] = useChosen(cors === null ? "" : "listed");
  return (
    <>
      <Field
        name="readers"
        label="Pages that may read answers (CORS)"
        hint="Default: only those of this service. Others are answered as well, and their browsers keep the answer from them: this refuses no call."
        choices={READERS}
        value={readers}
        onInput={setReaders}
      />
      {readers === "" ? null : (
        <>
          <Field
            name="cors.origins"
            label="Origins"
            hint="One in each line, as https://app.example.com; * for all; null for pages that flows answer with."
            rows={3}
            value={cors?.origins.join("\n") ?? ""}
            isRequired
          />
          <Check
            name="cors.credentials"
            label="With the login of their visitor"
            hint="Default: no. Not beside *."
            isChecked={cors?.credentials ?? false}
          />
          <Field
            name="cors.headers"
            label="Headers that they may send"
            hint={`Default: empty, authorization, content-type, idempotency-key, prefer, x-service-token. ${NO_HEADERS}: no header.`}
            value={cors === null ? "" : cors.headers.join(", ") || NO_HEADERS}
          />
          <Field
            name="cors.max_age_sec"
            label="Seconds for which browsers keep that"
            hint="Default: empty, 600. At most 86400."
            value={String(cors?.max_age_sec ?? "")}
          />
        </>
      )}
    </>
  );
}

function toMembers(values: FormData): SentMembers {
  return {
    input_check: textOf(values, "input_check"),
    default_mode: textOf(values, "default_mode"),
    async_status: numberOf(values, "async_status"),
    response_headers: toHeaders(values),
    cors: textOf(values, "readers") === "" ? null : toCors(values),
  };
}

function toCors(values: FormData): object {
  const headers = listOf(values, "cors.headers");
  const maxAgeSec = numberOf(values, "cors.max_age_sec");
  return {
    origins: listOf(values, "cors.origins"),
    credentials: values.has("cors.credentials"),
    ...(headers.length === 0 ? {} : { headers: headers.filter((name) => name !== NO_HEADERS) }),
    ...(maxAgeSec === null ? {} : { max_age_sec: maxAgeSec }),
  };
}

/** @throws FieldError */
function toHeaders(values: FormData): Readonly<Record<string, string>> {
  const lines = textOf(values, "response_headers").split("\n");
  const headers = lines
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [name = "", ...value] = line.split(":");
      if (value.length > 0) return [name.trim(), value.join(":").trim()] as const;
      throw new FieldError("response_headers", `"${line}" is no header: write Name: value`);
    });
  const names = headers.map(([name]) => name.toLowerCase());
  const again = headers.find(([name], at) => names.indexOf(name.toLowerCase()) < at);
  if (again === undefined) return Object.fromEntries(headers);
  throw new FieldError("response_headers", `"${again[0]}" is there twice`);
}
