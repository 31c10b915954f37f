import * as v from "valibot";
import { toResourceName } from "../resource-name.ts";
import type { Read } from "./read.ts";
import { COUNT, MAYBE_TEXT, MAYBE_TIME, TEXT, TIME } from "./scalar.ts";
import { STATUSES, UNENDED } from "./status.ts";

const VERIFIED = v.strictObject({
  scheme: v.string(),
  secret: v.string(),
  id: MAYBE_TEXT,
  timestamp: MAYBE_TEXT,
});

/** What the signature of a call showed. */
export type Verified = Read<typeof VERIFIED>;

const SUMMARY_MEMBERS = {
  id: v.string(),
  status: v.picklist(STATUSES),
  status_message: MAYBE_TEXT,
  webhook: MAYBE_TEXT,
  flow: v.string(),
  flow_version: v.pipe(
    MAYBE_TEXT,
    v.description("Hash of its content; null where the flow was not there"),
  ),
  is_productive: v.boolean(),
  is_async: v.boolean(),
  project_id: v.string(),
  role: MAYBE_TEXT,
  created_by: MAYBE_TEXT,
  parent_id: MAYBE_TEXT,
  replay_of: MAYBE_TEXT,
  address: v.pipe(MAYBE_TEXT, v.description("Of the client whose call started it")),
  verified: v.pipe(
    v.nullable(VERIFIED),
    v.description("What the call's signature showed; null without a right one"),
  ),
  node: v.pipe(
    MAYBE_TEXT,
    v.description("NODE_NAME of the node that has it, or had it; null: there are no nodes"),
  ),
  created_at: TIME,
  started_at: MAYBE_TIME,
  ended_at: MAYBE_TIME,
};

/** An execution as lists show it. */
export const EXECUTION_SUMMARY = v.strictObject(SUMMARY_MEMBERS);

export type ExecutionSummary = Read<typeof EXECUTION_SUMMARY>;

/** A custom response as it is stored (section 4.7). */
const CUSTOM_RESPONSE = v.strictObject({
  status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599)),
  headers: v.record(v.string(), v.union([v.string(), v.array(v.string())])),
  body: v.string(),
  body_encoding: v.optional(v.literal("base64")),
});

export type CustomResponse = Read<typeof CUSTOM_RESPONSE>;

export const EXECUTION = v.strictObject({
  ...SUMMARY_MEMBERS,
  input_value: v.unknown(),
  output_value: v.unknown(),
  response: v.nullable(CUSTOM_RESPONSE),
});

export type Execution = Read<typeof EXECUTION>;

export const STARTED = v.strictObject({ id: v.string() });

export type Started = Read<typeof STARTED>;

export const LOG_LINE = v.strictObject({
  at: TIME,
  level: v.picklist(["debug", "info", "warn", "error"]),
  text: v.string(),
});

export type LogLine = Read<typeof LOG_LINE>;

/** The body that runs an execution again. */
export const REPLAY = v.strictObject({
  input_value: v.optional(v.unknown()),
  flow_version: v.optional(TEXT),
});

const CANCEL_FILTER = v.pipe(
  v.strictObject({
    webhook: v.optional(
      v.pipe(v.string("expected the name of a webhook"), v.transform(toResourceName)),
    ),
    flow: v.optional(v.pipe(v.string("expected the name of a flow"), v.transform(toResourceName))),
    status: v.optional(v.picklist(UNENDED, `expected ${UNENDED.join(" or ")}`)),
    parent_id: v.optional(v.string("expected the id of an execution")),
  }),
  v.check(
    (filter) => Object.values(filter).some((value) => value !== undefined),
    "expected at least one of webhook, flow, status, parent_id",
  ),
);

/** The body that cancels all that fit. */
export const CANCEL = v.strictObject({ filter: CANCEL_FILTER });

export const CANCELLED = v.strictObject({
  matched: v.pipe(COUNT, v.description("Executions that fit and had not ended.")),
  cancelled: v.pipe(COUNT, v.description("Those that were cancelled before they ended.")),
});

export type Cancelled = Read<typeof CANCELLED>;
