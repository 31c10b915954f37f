import { read } from "./api.ts";
import { exampleOf } from "./json-example.ts";
import { may } from "./page.ts";
import type { Flow } from "./resources.ts";

/** A JSON body that a flow takes; any where it has no input schema, or the visitor may not see it. */
export async function readExampleBody(flow: string): Promise<unknown> {
  const found = may("flow.read") ? await read<Flow>(["flow", flow]).catch(() => null) : null;
  return exampleBodyOf(found?.input_schema) ?? ANY;
}

/** For a flow that takes any body. */
export const ANY = { name: "Ada" };

/** Of the member `json` of what a flow takes; undefined: it takes anything. */
export function exampleBodyOf(schema: Flow["input_schema"]): unknown {
  const { properties } = schema ?? {};
  const { json } = (properties ?? {}) as { readonly json?: unknown };
  return exampleOf(json, schema);
}

/** A whole input that a flow takes, for a run of it without a call. */
export function exampleInputOf(schema: Flow["input_schema"]): unknown {
  return exampleOf(schema) ?? { json: ANY };
}
