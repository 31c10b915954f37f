import type { JsonSchema } from "@valibot/to-json-schema";
import { toSchema } from "./openapi-conversion.ts";
import type { Route } from "./route.ts";

type Json = Readonly<Record<string, unknown>>;

/** The parameters of a route: in its path, in the query, in headers. */
export function describeParameters(route: Route): Json[] {
  return [...pathParameters(route), ...queryParameters(route), ...headers(route)];
}

function pathParameters({ path }: Route): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

/** Named as often as there are webhooks, which no other parameter is. */
const EXPORTED = {
  name: "webhook",
  in: "query",
  required: false,
  description: "Name of a webhook, once for each; without it all",
  style: "form",
  explode: true,
  schema: { type: "array", items: { type: "string" } },
};

function queryParameters({ query, path }: Route): Json[] {
  if (path === "/export") return [EXPORTED];
  if (query === null) return [];
  const { properties = {}, required = [] } = toSchema(query);
  return Object.entries(properties).map(([name, given]) => {
    const { description, ...schema } = given as JsonSchema;
    // One text, with commas.
    const style = schema.type === "array" ? { style: "form", explode: false } : {};
    const place = { name, in: "query", required: required.includes(name), description };
    return { ...place, ...style, schema: withDefault(schema) };
  });
}

/** What is left out counts as this text, which stands for a number or a flag. */
function withDefault(schema: JsonSchema): Json {
  const { default: usual, type } = schema;
  if (typeof usual !== "string" || type === "string") return { ...schema };
  return { ...schema, default: JSON.parse(usual) as unknown };
}

/** Routes of what has a state that ETag names. */
export const HAS_ETAG = /^\/(webhook|project|role|user|setting|secret)\/:name(\/authentication)?$/;

function headers({ method, path }: Route): Json[] {
  if (path.endsWith("/:id/events")) return [header("Last-Event-ID", "Go on after this event")];
  if (method === "GET" || !HAS_ETAG.test(path)) return [];
  return [header("If-Match", "The ETag that was read: 412 where it was changed meanwhile")];
}

function header(name: string, description: string): Json {
  return { name, in: "header", required: false, description, schema: { type: "string" } };
}
