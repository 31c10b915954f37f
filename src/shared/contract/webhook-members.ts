import * as v from "valibot";
import { CORS, RESPONSE_HEADERS } from "./answer-headers.ts";
import { MAX_BODY, METHODS } from "./call-limits.ts";
import { IDEMPOTENCY } from "./idempotency.ts";
import { WEBHOOK_LIMITS } from "./webhook-limits.ts";

/**
 * What a webhook says of its calls and answers, beside where it is and which flow it starts: the
 * members that anybody with webhook.write sets, each with its default.
 */
export const MEMBERS = {
  sync_mode: v.nullable(v.picklist(["redirect", "hold"])),
  default_mode: v.picklist(["sync", "async"], 'expected "sync" or "async"'),
  async_status: v.picklist([200, 201, 202, 204], "expected 200, 201, 202 or 204"),
  methods: v.nullable(METHODS),
  max_body_bytes: v.nullable(MAX_BODY),
  idempotency: v.nullable(IDEMPOTENCY),
  limits: v.nullable(WEBHOOK_LIMITS),
  cors: v.nullable(CORS),
  response_headers: RESPONSE_HEADERS,
  input_check: v.picklist(["run", "refuse"], 'expected "run" or "refuse"'),
};

type Schemas = typeof MEMBERS;

type MemberName = keyof Schemas;

export type Members = { readonly [Name in MemberName]: v.InferOutput<Schemas[Name]> };

export const MEMBER_DEFAULTS: Members = {
  sync_mode: null,
  default_mode: "sync",
  async_status: 201,
  methods: null,
  max_body_bytes: null,
  idempotency: null,
  limits: null,
  cors: null,
  response_headers: {},
  input_check: "run",
};

export const MEMBER_NAMES = Object.keys(MEMBERS) as readonly MemberName[];

/** Each may be left out: then it stays as it is. */
export const MEMBER_FIELDS = v.partial(v.strictObject(MEMBERS)).entries;

/** Each may be left out: then it is the default. */
export const MEMBERS_OR_DEFAULTS = withDefaults();

export type GivenMembers = { readonly [Name in MemberName]?: Members[Name] | undefined };

function withDefaults() {
  const entries = MEMBER_NAMES.map((name) => [
    name,
    v.optional(MEMBERS[name] as v.GenericSchema, MEMBER_DEFAULTS[name]),
  ]);
  return Object.fromEntries(entries) as {
    [Name in MemberName]: v.OptionalSchema<Schemas[Name], v.InferInput<Schemas[Name]>>;
  };
}
