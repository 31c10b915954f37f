import { toJsonSchemaDefs, type JsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema, StrictObjectSchema } from "valibot";
import { VERSION } from "../../assets/read.ts";
import { ERRORS } from "../../shared/contract/error.ts";
import { describeCall } from "./openapi-call.ts";
import { FORMAT } from "../../shared/contract/webhook-document.ts";
import { CONVERSION, toSchema } from "./openapi-conversion.ts";
import { describeParameters, HAS_ETAG } from "./openapi-parameters.ts";
import type { Route } from "./route.ts";
import { NAMED_SCHEMAS } from "./named-schemas.ts";
import { PROBLEM } from "../../shared/contract/problem.ts";
import type { WebhookDescription } from "./webhook-openapi.ts";

/**
 * The OpenAPI 3.1 document, made from the routes and from the schemas that check requests and,
 * in the tests, answers: so it cannot say anything else than what is done.
 */

type Json = Readonly<Record<string, unknown>>;

interface ApiDocument {
  readonly paths: Json;
  readonly components: {
    readonly securitySchemes: Json;
    readonly schemas: Json;
    readonly responses: Json;
  };
  readonly [member: string]: unknown;
}

/** What the groups of operations are about. */
const TAGS: Readonly<Record<string, string>> = {
  call: "Calls of webhooks: each starts an execution",
  "openapi.json": "The description of the API",
  reference: "The description of the API, for people",
  auth: "Logins",
  token: "Login tokens",
  webhook: "Webhooks, each of which points to a flow",
  export: "Webhooks as YAML",
  import: "Webhooks from YAML",
  flow: "Flows of the plugins folder",
  execution: "Executions of flows",
  statistics: "Figures of executions",
  project: "Projects, which webhooks and executions are in",
  bundle: "Bundles of flows",
  role: "Roles: what users and executions may do",
  user: "Users",
  setting: "Settings, which flows read and write",
  secret: "Secrets, which flows use",
  audit: "Who changed what",
  workspace: "The service itself",
  wait: "Waiting for any resource",
};

/** All but the servers, which depend on the request, and webhooks, which depend on who asks. */
export function describeApi(routes: readonly Route[]): ApiDocument {
  return {
    openapi: "3.1.0",
    info: {
      title: "Flowhook",
      version: VERSION,
      description:
        "The management API, and the call endpoint of webhooks. Errors are problem details " +
        "(RFC 9457) whose type ends with one of the codes listed at each status.",
      license: { name: "MIT", identifier: "MIT" },
    },
    tags: [...new Set(["call", ...routes.map(tagOf)])].map((name) => ({
      name,
      description: TAGS[name] ?? name,
    })),
    security: [{ token: [] }, { cookie: [] }],
    paths: { ...describeCall(), ...describePaths(routes) },
    components: {
      securitySchemes: {
        token: { type: "apiKey", in: "header", name: "x-service-token" },
        cookie: { type: "apiKey", in: "cookie", name: "service-token" },
        key: { type: "http", scheme: "bearer", description: "The API key of the webhook" },
        keyInQuery: { type: "apiKey", in: "query", name: "key" },
      },
      schemas: toJsonSchemaDefs({ ...NAMED_SCHEMAS }, CONVERSION),
      responses: describeErrors(),
    },
  };
}

/** The document with the calls of webhooks in it. */
export function addWebhooks(
  document: ApiDocument,
  webhooks: readonly WebhookDescription[],
): ApiDocument {
  const { components, paths } = document;
  return {
    ...document,
    paths: Object.assign({}, paths, ...webhooks.map((webhook) => webhook.paths)) as Json,
    components: {
      ...components,
      securitySchemes: Object.assign(
        {},
        ...webhooks.map(({ securitySchemes }) => securitySchemes),
        components.securitySchemes,
      ) as Json,
      schemas: Object.assign(
        {},
        ...webhooks.map(({ schemas }) => schemas),
        components.schemas,
      ) as Json,
    },
  };
}

function describePaths(routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = describeRoute(route);
  }
  return paths;
}

const VISITOR = [{}, { token: [] }, { cookie: [] }];

function describeRoute(route: Route): Json {
  const parameters = describeParameters(route);
  const needs = ["login", "anyone"].includes(route.needs) ? {} : { "x-permission": route.needs };
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(route)],
    summary: route.summary,
    ...needs,
    ...(route.needs === "anyone" ? { security: route.knowsVisitor ? VISITOR : [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...describeBody(route),
    responses: { ...describeSuccess(route), ...errorsOf(route) },
  };
}

function tagOf({ path }: Route): string {
  const [, first = ""] = path.split("/");
  return first.startsWith(":") ? "wait" : first;
}

/** `get_webhook_name`: the method and the parts of the path. */
function operationIdOf({ method, path }: Route): string {
  const parts = path.split(/[/:.-]+/).filter((part) => part !== "");
  return [method.toLowerCase(), ...parts].join("_");
}

/** What an import takes; more of it is what an export answers. */
const DOCUMENT = `format: ${FORMAT}\nwebhooks:\n  - { name: orders-copy, flow: hello }\n`;

function describeBody({ body, example, method, path }: Route): Json {
  if (path === "/import")
    return {
      requestBody: {
        required: true,
        content: { "application/yaml": { schema: { type: "string" }, example: DOCUMENT } },
      },
    };
  if (body === null) return {};
  const schema = toSchema(body);
  const members = (body as StrictObjectSchema<Record<string, GenericSchema>, undefined>).entries;
  // What only another endpoint changes is refused by name, and so is no member here either.
  const closed = { ...schema, additionalProperties: false, properties: pick(schema, members) };
  // The own login token is ended without a password.
  const required = !(method === "DELETE" && path.startsWith("/token/"));
  return {
    requestBody: { required, content: { "application/json": { schema: closed, example } } },
  };
}

function pick({ properties = {} }: JsonSchema, members: object): Json {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => name in members));
}

function describeSuccess({ status, answer, type, path }: Route): Json {
  const etag = HAS_ETAG.test(path) && answer !== null;
  const schema = answer === null ? { type: "string" } : toSchema(answer);
  const media = type ?? (answer === null ? null : "application/json");
  const success = {
    description: { 200: "Done", 201: "Created", 204: "Done" }[status],
    ...(etag ? { headers: { ETag: { schema: { type: "string" } } } } : {}),
    ...(media === null ? {} : { content: { [media]: { schema } } }),
  };
  const waiting = {
    description: "Not yet: the same again",
    headers: { Location: { schema: { type: "string" } } },
  };
  return { [status]: success, ...(/\/wait(-operation)?$/.test(path) ? { 302: waiting } : {}) };
}

/** Too many wrong ones are refused. */
const CHECKS_PASSWORD = /^\/(auth|role|user|token)\b|authentication$/;

/** The statuses of errors that a route can answer; the codes are at each of them. */
function errorsOf(route: Route): Json {
  const { needs, path, method } = route;
  const changes = method !== "GET";
  const statuses = [
    ...(changes ? [400, 408, 413] : []),
    ...(needs === "anyone" && !changes ? [] : [401]),
    ...(changes || needs.includes(".") ? [403] : []),
    ...(path.includes(":") || path === "/export" ? [404] : []),
    ...(changes ? [409, 503] : []),
    ...(changes && (HAS_ETAG.test(path) || path === "/import") ? [412] : []),
    422,
    ...(route.type === "text/event-stream" || readsList(route) ? [429, 503] : []),
    ...(changes && CHECKS_PASSWORD.test(path) ? [429] : []),
    500,
  ];
  const sorted = [...new Set(statuses)].sort((a, b) => a - b);
  return Object.fromEntries(
    sorted.map((status) => [status, { $ref: `#/components/responses/${status}` }]),
  );
}

/** A few lists at a time, and none that takes too long. */
function readsList({ method, query, path }: Route): boolean {
  return method === "GET" && (query !== null || path === "/export");
}

/** Problem details, as each refusal refers to them. */
export function describeProblem(): JsonSchema {
  return toJsonSchemaDefs({ Problem: PROBLEM }, CONVERSION)["Problem"] ?? {};
}

/** One response for each status of the error registry. */
export function describeErrors(): Json {
  const content = {
    "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
  };
  const byStatus = Map.groupBy(Object.entries(ERRORS), ([, { status }]) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, errors]) => {
      const codes = errors.map(([code, { title }]) => `\`${code}\`: ${title}`);
      return [status, { description: codes.join("; "), content }];
    }),
  );
}
