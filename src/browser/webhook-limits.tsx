import { Field, Group, useChosen } from "./field.tsx";
import { listOf, numberOf, textOf } from "./form-values.ts";
import type { Webhook } from "./resources.ts";
import { MemberForm, type SentMembers, type WebhookPart } from "./webhook-members.tsx";

const COUNTED = [
  ["", "No limit"],
  ["webhook", "All calls together"],
  ["address", "The calls of each address"],
  ["user", "The calls of each user, who logs in"],
] as const;

const WHEN_BUSY = [
  ["queue", "It waits for its turn"],
  ["refuse", "It is refused with 429"],
  ["replace", "Those that wait are cancelled for it"],
] as const;

/** Who may call how much: methods, sizes, rate, and executions at the same time. */
export function WebhookLimits(part: WebhookPart) {
  return <MemberForm {...part} toMembers={toMembers} fields={fieldsOf} />;
}

function fieldsOf(webhook: Webhook) {
  return (
    <>
      <Group title="Rate">
        <RateFields webhook={webhook} />
      </Group>
      <Group title="At the same time">
        <BusyFields webhook={webhook} />
      </Group>
      <Group title="Requests">
        <Field
          name="methods"
          label="Methods"
          hint="Default: empty, all six. Separated by commas, as POST, PUT; any other is answered with 405. HEAD only where it is named."
          value={webhook.methods?.join(", ") ?? ""}
        />
        <Field
          name="max_body_bytes"
          label="Largest body in bytes"
          hint="Default: empty, as the service is configured (MAX_BODY_BYTES). A larger one is answered with 413."
          value={String(webhook.max_body_bytes ?? "")}
        />
      </Group>
    </>
  );
}

function RateFields({ webhook: { limits } }: { webhook: Webhook }) {
  const rate = limits?.rate ?? null;
  const [by, setBy] = useChosen(rate?.by ?? "");
  return (
    <>
      <Field
        name="limits.rate.by"
        label="Counted are"
        hint="Default: no limit. A call beyond it is answered with 429 and Retry-After, before it is recorded. Refused logins and keys are not counted."
        choices={COUNTED}
        value={by}
        onInput={setBy}
      />
      {by === "" ? null : (
        <>
          <div class="row">
            <Field
              name="limits.rate.calls"
              label="Number of calls"
              hint="1 to 1000000"
              value={String(rate?.calls ?? "")}
              isRequired
            />
            <Field
              name="limits.rate.per_sec"
              label="in so many seconds"
              hint="1 to 86400"
              value={String(rate?.per_sec ?? "")}
              isRequired
            />
          </div>
          <Field
            name="limits.rate.burst"
            label="At once"
            hint="Default: empty, as many as are counted."
            value={String(rate?.burst ?? "")}
          />
        </>
      )}
    </>
  );
}

function BusyFields({ webhook: { limits } }: { webhook: Webhook }) {
  return (
    <>
      <Field
        name="limits.max_concurrent"
        label="Executions that run at the same time"
        hint="Default: empty, as many as there are threads. 1 to 4096."
        value={String(limits?.max_concurrent ?? "")}
      />
      <Field
        name="limits.when_busy"
        label="A call when as many run"
        hint="Default: it waits, first come first served. Cancelled ones are answered with 500, and say by which they were replaced."
        choices={WHEN_BUSY}
        value={limits?.when_busy ?? "queue"}
      />
      <Field
        name="limits.max_queued"
        label="Calls that wait"
        hint="Default: empty, no limit of its own. 0 to 1000000; one more is answered with 429 and Retry-After."
        value={String(limits?.max_queued ?? "")}
      />
    </>
  );
}

function toMembers(values: FormData): SentMembers {
  const methods = listOf(values, "methods").map((name) => name.toUpperCase());
  return {
    limits: toLimits(values),
    methods: methods.length === 0 ? null : methods,
    max_body_bytes: numberOf(values, "max_body_bytes"),
  };
}

/** null: each of them is the default. */
function toLimits(values: FormData): object | null {
  const by = textOf(values, "limits.rate.by");
  const burst = numberOf(values, "limits.rate.burst");
  const rate = {
    calls: numberOf(values, "limits.rate.calls"),
    per_sec: numberOf(values, "limits.rate.per_sec"),
    ...(burst === null ? {} : { burst }),
    by,
  };
  const limits = {
    rate: by === "" ? null : rate,
    max_concurrent: numberOf(values, "limits.max_concurrent"),
    when_busy: textOf(values, "limits.when_busy"),
    max_queued: numberOf(values, "limits.max_queued"),
  };
  const { rate: isRated, max_concurrent, when_busy, max_queued } = limits;
  const isDefault = isRated === null && max_concurrent === null && max_queued === null;
  return isDefault && when_busy === "queue" ? null : limits;
}
