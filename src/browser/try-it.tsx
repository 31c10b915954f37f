import { now as timeNow, toIso } from "../shared/clock.ts";
import { Table, type Column } from "./table.tsx";
import { useState } from "hono/jsx/dom";
import { Announced } from "./announced.tsx";
import { read, sentenceOf } from "./api.ts";
import { BodyFields } from "./body-fields.tsx";
import { Button } from "./button.tsx";
import { canHaveBody, methodOf, toRequest } from "./call-request.ts";
import { exampleBodyOf } from "./example-body.ts";
import { CancelButton } from "./execution-acts.tsx";
import { Check, Field, SteadyFields } from "./field.tsx";
import { Form } from "./form.tsx";
import { duration } from "./format.ts";
import { inputFieldsOf, type InputField } from "./input-fields.ts";
import { useAskBeforeLeaving } from "./leaving.ts";
import { callByLegs, type CallAnswer, type Leg } from "./legs.ts";
import { useLoaded } from "./loaded.ts";
import { may, pagePath } from "./page.ts";
import type { Flow, Webhook } from "./resources.ts";
import { Elapsed } from "./time.tsx";
import { ExecutionLine, TryAnswer, Verdict } from "./try-answer.tsx";

const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD"].map(
  (method) => [method, method] as const,
);

const LEGS: readonly Column<Leg>[] = [
  ["Leg", ({ what }) => what, "head"],
  ["Answer", ({ status }) => status],
  ["Begins at", ({ fromMs }) => duration(fromMs)],
  ["Takes", ({ tookMs }) => duration(tookMs)],
];

interface Tried {
  /** When it was sent, in ISO 8601. */
  readonly since: string;
  readonly legs: readonly Leg[];
  /** null: not known yet, or there is none. */
  readonly executionId: string | null;
  readonly answer: CallAnswer | null;
  readonly error: unknown;
}

const BEGUN = { legs: [], executionId: null, answer: null, error: null };

/** A form that makes a call of the webhook, and shows its execution, each leg and the answer. */
export function TryIt({ webhook }: { webhook: Webhook }) {
  const [tried, setTried] = useState<Tried | null>(null);
  const [asked] = useLoaded(() => readFields(webhook.flow), [webhook.flow]);
  if (asked === null) return null;
  const send = async (values: FormData): Promise<void> => {
    const request = toRequest(values, webhook, asked.fields);
    let now: Tried = { ...BEGUN, since: toIso(timeNow()) };
    const add = (more: Partial<Tried>): void => {
      now = { ...now, ...more };
      setTried(now);
    };
    add({});
    try {
      const answer = await callByLegs(request, {
        onLeg: (leg) => add({ legs: [...now.legs, leg] }),
        onExecution: (executionId) => add({ executionId }),
      });
      add({ answer, executionId: answer.executionId ?? now.executionId });
    } catch (error) {
      add({ error });
    }
  };
  const keys = <span class="soft">or Ctrl+Enter</span>;
  return (
    <div class="halves">
      <Form style="try" act={send} submit="Send" beside={keys} isForOnce>
        <CallFields key={asked.flow} webhook={webhook} asked={asked} />
      </Form>
      <div>
        <Announced text={describe(tried)} of={tried?.since ?? ""} />
        {tried === null ? null : (
          <Result webhook={webhook} tried={tried} clear={() => setTried(null)} />
        )}
      </div>
    </div>
  );
}

const REPLAYED =
  "This is the answer of an earlier call with the same idempotency key: no execution was started.";

/** What is heard of it: all else is there to be read. */
function describe(tried: Tried | null): string {
  if (tried === null) return "";
  if (tried.error !== null) return sentenceOf(tried.error);
  if (tried.answer === null) return "Sent";
  const { status, isReplayed } = tried.answer;
  return `Answered with ${status}${isReplayed ? `. ${REPLAYED}` : ""}`;
}

/** Of the body of a flow; none where it has no input schema, or the visitor may not see it. */
async function readFields(flow: string) {
  const found = may("flow.read") ? await read<Flow>(["flow", flow]).catch(() => null) : null;
  const fields = inputFieldsOf(found?.input_schema);
  return { flow, fields, example: exampleBodyOf(found?.input_schema) };
}

function CallFields(props: {
  webhook: Webhook;
  asked: { readonly fields: readonly InputField[]; readonly example: unknown };
}) {
  const { webhook, asked } = props;
  const { is_key_required, key = "" } = webhook;
  const [usual] = useState(() => methodOf(webhook));
  const [method, setMethod] = useState(usual);
  const keyHint =
    "The service cannot show it again. It is sent as Authorization: Bearer, and kept on this page only.";
  return (
    <SteadyFields>
      <div class="row first-small">
        <Field name="method" label="Method" choices={METHODS} value={usual} onInput={setMethod} />
        <Field name="sub_path" label="Sub-path after /call/" />
      </div>
      {is_key_required ? (
        <Field
          name="key"
          label="Key"
          type="password"
          value={key}
          {...(key === "" ? { hint: keyHint } : {})}
        />
      ) : null}
      <div class="row">
        <Field name="query" label="Query" rows={2} hint="One name=value in each line." />
        <Field
          name="headers"
          label="Headers"
          rows={2}
          hint="One Name: value in each line. traceparent is added, to tell its execution."
        />
      </div>
      <BodyFields {...asked} isUsed={canHaveBody(method)} />
      <Check
        name="async"
        label="Asynchronous: answer with the execution's ID at once"
        isChecked={false}
      />
    </SteadyFields>
  );
}

function Result(props: { webhook: Webhook; tried: Tried; clear: () => void }) {
  const { webhook, tried, clear } = props;
  const { legs, executionId, answer, error } = tried;
  const isUnderWay = answer === null && error === null;
  useAskBeforeLeaving(isUnderWay);
  return (
    <>
      <h2 class="first">Answer</h2>
      {legs.length === 0 ? null : <Table style="legs" caption="Legs" columns={LEGS} items={legs} />}
      {isUnderWay ? <UnderWay webhook={webhook} tried={tried} /> : null}
      {error === null ? null : <p class="fault">{sentenceOf(error)}</p>}
      {answer === null ? null : <Verdict status={answer.status} webhook={webhook} />}
      {answer?.isReplayed === true ? <p>{REPLAYED}</p> : null}
      {isUnderWay || executionId === null ? null : <ExecutionLine id={executionId} />}
      {answer === null ? null : (
        <>
          <TryAnswer answer={answer} />
          <Button style="quiet" act={clear}>
            Clear
          </Button>
        </>
      )}
    </>
  );
}

/** The link opens another tab: a caller who goes away may take the execution along. */
function UnderWay({ webhook, tried }: { webhook: Webhook; tried: Tried }) {
  const { since, executionId: id } = tried;
  return (
    <>
      <p class="soft" role="timer">
        Waiting for the answer: <Elapsed since={since} /> so far
      </p>
      {id === null ? null : (
        <>
          <p>
            <a href={pagePath("executions", id)} target="_blank">
              Watch its execution in another tab
            </a>
            . If you leave this page, the call ends.
          </p>
          <div class="buttons">
            <CancelButton id={id} of={webhook.name} />
          </div>
        </>
      )}
    </>
  );
}
