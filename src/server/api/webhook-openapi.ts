import type { Flow } from "../flows/catalog.ts";
import type { JsonSchema, JsonSchemaObject } from "../flows/schema-references.ts";
import type { SchemaText } from "../../shared/manifest.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import type { Idempotency } from "../../shared/contract/idempotency.ts";
import { CALL_METHODS, COMMON_PARAMETERS, PREFLIGHT, WITH_BODY } from "./openapi-call.ts";
import { placeSchema, type PlacedSchema } from "./openapi-schema.ts";
import { describeCredentials, type Credentials } from "./openapi-credentials.ts";

type Json = Readonly<Record<string, unknown>>;

/** What a webhook adds to an OpenAPI document. */
export interface WebhookDescription {
  readonly paths: Json;
  readonly schemas: Json;
  readonly securitySchemes: Json;
}

/**
 * The calls of one webhook under its settings, with the types of its flow's schemas.
 *
 * @param names unique in a document, of letters, digits, `.`, `-` and `_`: `id` among its webhooks,
 *   `prefix` among their flows
 */
export function describeWebhook(
  webhook: WebhookRow,
  flow: Flow | undefined,
  { id, prefix }: { readonly id: string; readonly prefix: string },
): WebhookDescription {
  const input = place(flow?.manifest?.schemas?.input ?? null, `${prefix}.Input`);
  const output = place(flow?.manifest?.schemas?.output ?? null, `${prefix}.Output`);
  const credentials = describeCredentials(webhook);
  const parts: Parts = { webhook, id, prefix, input, output, credentials };
  const base = `/webhook/${encodeURIComponent(webhook.name)}/call`;
  const hasPath = input === null || input.member("path") !== null;
  const schema = { type: "string" };
  const sub = { name: "sub_path", in: "path", required: true, description: SUB_PATH, schema };
  return {
    paths: {
      [base]: describePath(parts, "call", []),
      ...(hasPath ? { [`${base}/{sub_path}`]: describePath(parts, "call_sub_path", [sub]) } : {}),
    },
    schemas: { ...input?.components, ...output?.components, ...namedSchemas(parts) },
    securitySchemes: credentials.schemes,
  };
}

const SUB_PATH = "Any text, slashes as well: the flow receives it as `path`";

interface Parts {
  readonly webhook: WebhookRow;
  readonly id: string;
  readonly prefix: string;
  readonly input: PlacedSchema | null;
  readonly output: PlacedSchema | null;
  readonly credentials: Credentials;
}

function place(told: SchemaText | null, prefix: string): PlacedSchema | null {
  if (told === null || told.json === null) return null;
  return placeSchema(JSON.parse(told.json) as JsonSchemaObject, prefix);
}

/** What several operations have in common stands in the document once. */
function namedSchemas({ prefix, input, output }: Parts): Json {
  const body = input?.member("json") ?? null;
  return {
    ...(body === null ? {} : { [`${prefix}.Body`]: body.schema }),
    ...(output === null ? {} : { [`${prefix}.Result`]: output.whole }),
  };
}

function toNamed(prefix: string, name: string): Json {
  return { $ref: `#/components/schemas/${prefix}.${name}` };
}

function describePath(parts: Parts, name: string, more: readonly Json[]): Json {
  const { webhook, id, credentials } = parts;
  const methods = (JSON.parse(webhook.methods ?? "null") as string[] | null) ?? CALL_METHODS;
  const operations = methods.map((given) => {
    const method = given.toLowerCase();
    const hasBody = WITH_BODY.includes(method);
    const operation = {
      operationId: `${method}_${id}_${name}`,
      tags: ["call"],
      summary: `Call the webhook "${webhook.name}" with ${method.toUpperCase()}`,
      ...(webhook.description === "" ? {} : { description: webhook.description }),
      security: credentials.security,
      ...(hasBody ? { requestBody: describeBody(parts) } : {}),
      responses: describeResponses(parts, hasBody),
    };
    return [method, operation] as const;
  });
  const signed = credentials.parameters;
  const others = [...COMMON_PARAMETERS, ...signed, ...queryParameters(parts), ...more];
  const parameters = [...others, ...keyParameters(webhook, others)];
  const preflight = { operationId: `options_${id}_${name}`, ...PREFLIGHT };
  return {
    parameters,
    ...Object.fromEntries(operations),
    ...(webhook.cors === null ? {} : { options: preflight }),
  };
}

function describeBody({ input, prefix }: Parts): Json {
  const json = input?.member("json") ?? null;
  const schema = json === null ? {} : toNamed(prefix, "Body");
  return {
    required: json?.isRequired === true,
    content: {
      "application/json": { schema },
      "application/yaml": { schema },
      "application/x-www-form-urlencoded": { schema },
    },
  };
}

/** What the service itself reads is described beside them. */
function queryParameters({ input }: Parts): Json[] {
  const query = input?.member("query")?.schema;
  if (typeof query !== "object") return [];
  const { properties = {}, required = [] } = query as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly required?: readonly string[];
  };
  const taken: readonly unknown[] = COMMON_PARAMETERS.map(({ name }) => name);
  return Object.entries(properties)
    .filter(([name]) => !taken.includes(name) && name !== "key")
    .map(([name, schema]) => {
      return { name, in: "query", required: required.includes(name), schema };
    });
}

/** Where the idempotency key is sent, unless that is in the body or described already. */
function keyParameters({ idempotency }: WebhookRow, others: readonly Json[]): Json[] {
  if (idempotency === null) return [];
  const { from, required, window_sec } = JSON.parse(idempotency) as Idempotency;
  const place = /^(?:header|query)(?=:)/.exec(from)?.[0];
  if (place === undefined) return [];
  const name = from.slice(place.length + 1);
  if (others.some((one) => one["in"] === place && one["name"] === name)) return [];
  const description = `Calls with one key start one execution, for ${window_sec} s`;
  const schema = { type: "string", minLength: 1, maxLength: 255 };
  return [{ name, in: place, required, description, schema }];
}

const EXECUTION_ID = { "Flowhook-Execution-Id": { schema: { type: "string" } } };
/** Of a call whose key is known. */
const REPLAYED = { "Idempotent-Replayed": { schema: { const: "true" } } };
const LOCATION = { Location: { schema: { type: "string" } } };
const TEXT = { "text/plain": { schema: { type: "string" } } };

function describeResponses(parts: Parts, hasBody: boolean): Json {
  const { async_status, idempotency } = parts.webhook;
  const schema = parts.output === null ? {} : toNamed(parts.prefix, "Result");
  const result = { "application/json": { schema } };
  const ended = { ...EXECUTION_ID, ...(idempotency === null ? {} : REPLAYED) };
  const leads = { ...ended, ...LOCATION };
  const started = {
    description: "Started: the id of the execution, whose result Location leads to",
    headers: leads,
    ...(async_status === 204 ? {} : { content: TEXT }),
  };
  const shaped = {
    description: "The output_value of the execution, or the response that the flow shaped",
    headers: ended,
    content: async_status === 200 ? { ...result, ...TEXT } : result,
  };
  const failed = {
    description: "The execution did not succeed: its status, a colon and its status message",
    headers: ended,
    content: TEXT,
  };
  const errors = refusalsOf(parts, hasBody).map((status) => {
    return [status, { $ref: `#/components/responses/${status}` }] as const;
  });
  return {
    ...Object.fromEntries(errors),
    ...(parts.credentials.security.length === 0 ? {} : { 401: UNAUTHORIZED }),
    [async_status]: started,
    200: shaped,
    302: { description: "Not ended yet: wait again", headers: leads },
    303: { description: "Started: wait for the result", headers: leads },
    500: failed,
  };
}

const UNAUTHORIZED = {
  description: "What the webhook requires of its callers is missing or wrong",
  content: { "application/json": { schema: { const: "401 Unauthorized" } } },
};

/** Statuses of the refusals that its settings allow. */
function refusalsOf({ webhook }: Parts, hasBody: boolean): number[] {
  const { idempotency, input_check, is_productive, limits } = webhook;
  const isForbidding = webhook.allowed_addresses !== null || webhook.require_login === 1;
  const statuses = [
    [400, true],
    [402, is_productive !== 1],
    [403, isForbidding],
    [404, true],
    [405, true],
    [408, hasBody],
    [413, hasBody],
    [415, hasBody],
    [417, true],
    [422, idempotency !== null || input_check === "refuse"],
    [429, limits !== null || is_productive === 1],
    [431, true],
    [503, true],
  ] as const;
  return statuses.filter(([, can]) => can).map(([status]) => status);
}
