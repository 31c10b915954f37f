import { Table, type Column } from "./table.tsx";
import { useState } from "hono/jsx/dom";
import { sentenceOf } from "./api.ts";
import { Button } from "./button.tsx";
import { Check, Field } from "./field.tsx";
import { Form } from "./form.tsx";
import { FieldError, jsonOf, textOf } from "./form-values.ts";
import { duration } from "./format.ts";
import { callByLegs, type CallAnswer, type CallRequest, type Leg } from "./legs.ts";
import { apiPath } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { TryAnswer } from "./try-answer.tsx";

const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD"].map(
  (method) => [method, method] as const,
);

const TYPES = [
  ["application/json", "JSON"],
  ["application/yaml", "YAML"],
  ["", "No body"],
] as const;

const LEGS: readonly Column<Leg>[] = [
  ["Leg", ({ what }) => what, "head"],
  ["Answer", ({ status }) => status],
  ["Begins at", ({ fromMs }) => duration(fromMs)],
  ["Takes", ({ tookMs }) => duration(tookMs)],
];

interface Tried {
  readonly legs: readonly Leg[];
  readonly answer: CallAnswer | null;
  readonly error: unknown;
}

const BEGUN: Tried = { legs: [], answer: null, error: null };

/** A form that makes a call of the webhook, and shows each leg and the answer. */
export function TryIt({ webhook }: { webhook: Webhook }) {
  const [tried, setTried] = useState<Tried | null>(null);
  const send = async (values: FormData): Promise<void> => {
    const request = toRequest(values, webhook);
    setTried(BEGUN);
    const onLeg = (leg: Leg): void =>
      setTried((now) => (now === null ? now : { ...now, legs: [...now.legs, leg] }));
    try {
      const answer = await callByLegs(request, onLeg);
      setTried((now) => (now === null ? now : { ...now, answer }));
    } catch (error) {
      setTried((now) => (now === null ? now : { ...now, error }));
    }
  };
  const keys = <span class="soft">or Ctrl+Enter</span>;
  return (
    <div class="halves">
      <Form style="try" act={send} submit="Send" beside={keys}>
        <CallFields webhook={webhook} />
      </Form>
      <div aria-live="polite">
        {tried === null ? null : <Result tried={tried} clear={() => setTried(null)} />}
      </div>
    </div>
  );
}

function CallFields({ webhook }: { webhook: Webhook }) {
  const { is_key_required, key = "" } = webhook;
  const [method, setMethod] = useState("POST");
  const [type, setType] = useState("application/json");
  const hasBody = canHaveBody(method);
  const keyHint =
    "The service cannot show it again. It is sent as Authorization: Bearer, and kept on this page only.";
  return (
    <>
      <div class="row first-small">
        <Field name="method" label="Method" choices={METHODS} value="POST" onInput={setMethod} />
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
      <Field
        name="type"
        label="Body"
        choices={TYPES}
        value="application/json"
        isDisabled={!hasBody}
        onInput={setType}
      />
      <Field
        name="body"
        label="Content of the body"
        rows={5}
        value={'{ "name": "Ada" }'}
        isDisabled={!hasBody || type === ""}
      />
      <Check
        name="async"
        label="Asynchronous: answer with the execution's ID at once"
        isChecked={false}
      />
    </>
  );
}

function canHaveBody(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** @throws FieldError */
function toRequest(values: FormData, webhook: Webhook): CallRequest {
  const headers = toHeaders(textOf(values, "headers"));
  const method = textOf(values, "method");
  const type = textOf(values, "type");
  const hasBody = canHaveBody(method) && type !== "";
  if (hasBody && type === "application/json") jsonOf(values, "body");
  if (hasBody && !headers.has("content-type")) headers.set("content-type", type);
  const key = textOf(values, "key");
  if (key !== "" && !headers.has("authorization")) headers.set("authorization", `Bearer ${key}`);
  const body = hasBody ? textOf(values, "body") : null;
  return { webhook: webhook.name, url: toUrl(values, webhook.name), method, headers, body };
}

function toHeaders(text: string): Headers {
  const headers = new Headers();
  for (const line of linesOf(text)) {
    const [name = "", ...value] = line.split(":");
    try {
      headers.append(name.trim(), value.join(":").trim());
    } catch {
      throw new FieldError("headers", `"${line}" is no header: write Name: value`);
    }
  }
  return headers;
}

function toUrl(values: FormData, webhook: string): string {
  const subPath = textOf(values, "sub_path").replace(/^\//, "");
  const path = apiPath("webhook", webhook, "call") + (subPath === "" ? "" : `/${subPath}`);
  const url = new URL(path, location.origin);
  for (const line of linesOf(textOf(values, "query"))) {
    const [name = "", ...value] = line.split("=");
    url.searchParams.append(name, value.join("="));
  }
  if (values.has("async")) url.searchParams.append("async", "");
  return url.href;
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function Result({ tried, clear }: { tried: Tried; clear: () => void }) {
  const { legs, answer, error } = tried;
  return (
    <>
      <h2 class="first">Answer</h2>
      <Table style="legs" caption="Legs" columns={LEGS} items={legs} />
      {answer === null && error === null ? <p class="soft">Waiting for the answer …</p> : null}
      {error === null ? null : <p class="fault">{sentenceOf(error)}</p>}
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
