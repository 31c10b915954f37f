import * as v from "valibot";
import type { Read } from "./read.ts";
import { MAYBE_TEXT } from "./scalar.ts";

const ACCESS = v.strictObject({
  net: v.boolean(),
  read: v.array(v.string()),
  write: v.array(v.string()),
  secrets: v.array(v.string()),
});

/** What a flow may open beside its code. */
export type Access = Read<typeof ACCESS>;

const FLOW_MEMBERS = {
  name: v.string(),
  description: MAYBE_TEXT,
  version: MAYBE_TEXT,
  bundle: MAYBE_TEXT,
  state: v.picklist(["ready", "broken"]),
  error: v.nullable(v.strictObject({ message: v.string(), stack: MAYBE_TEXT })),
  file: v.string(),
  node: v.pipe(
    MAYBE_TEXT,
    v.description("Name of the node whose folder it comes from; null: the answering node's own"),
  ),
  versions: v.pipe(
    v.array(v.strictObject({ node: v.string(), version: v.string() })),
    v.description("What nodes have in their folders and serve, where they differ; else empty"),
  ),
  permissions: v.pipe(v.nullable(ACCESS), v.description("What it declares")),
  granted: v.pipe(v.nullable(ACCESS), v.description("What the operator's ALLOW_* let it have")),
  timeout_sec: v.number(),
  memory_mb: v.nullable(v.number()),
  isolation: v.pipe(
    v.nullable(v.picklist(["flow", "execution"])),
    v.description("Who uses a thread again: the flow's executions, or none of them"),
  ),
  has_input_schema: v.nullable(v.boolean()),
};

export const FLOW = v.strictObject(FLOW_MEMBERS);

export type Flow = Read<typeof FLOW>;

const SCHEMA = v.pipe(
  v.nullable(v.record(v.string(), v.unknown())),
  v.description("JSON Schema 2020-12; null: it has none, or none that can be written"),
);
const REASON = v.pipe(MAYBE_TEXT, v.description("Why a schema cannot be written as JSON Schema"));

const SCHEMA_MEMBERS = {
  input_schema: SCHEMA,
  input_schema_reason: REASON,
  output_schema: SCHEMA,
  output_schema_reason: REASON,
};

/** What it takes and gives, for others. */
export type FlowSchemaMembers = v.InferOutput<
  v.StrictObjectSchema<typeof SCHEMA_MEMBERS, undefined>
>;

export const FLOW_WITH_SOURCE = v.strictObject({
  ...FLOW_MEMBERS,
  ...SCHEMA_MEMBERS,
  source: MAYBE_TEXT,
});

export type FlowWithSource = Read<typeof FLOW_WITH_SOURCE>;

/** A file of a version as it ran, which may not be what the plugins folder has now. */
export const FLOW_VERSION = v.strictObject({
  flow: v.string(),
  version: v.string(),
  is_serving: v.boolean(),
  file: v.pipe(v.string(), v.description("The one that is shown, below the plugins folder")),
  files: v.pipe(v.array(v.string()), v.description("All that the version is made of")),
  source: v.pipe(MAYBE_TEXT, v.description("null: it is no text, or larger than 1 MiB")),
});

export type FlowVersion = Read<typeof FLOW_VERSION>;

/** The body that starts a flow without a webhook. */
export const FLOW_START = v.strictObject({ input_value: v.optional(v.unknown()) });
