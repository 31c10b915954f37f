import * as v from "valibot";
import { STATUSES } from "../../shared/contract/status.ts";
import { SIGNATURE } from "./signature-member.ts";
import { MEMBERS } from "./webhook-members.ts";

/**
 * What the API answers: one schema for each resource (contract, section 2). The OpenAPI document
 * is made from them, and the tests hold every answer against them.
 */

/** ISO 8601 in UTC. */
const TIME = v.pipe(v.string(), v.isoTimestamp());
const MAYBE_TIME = v.nullable(TIME);
const MAYBE_TEXT = v.nullable(v.string());
const COUNT = v.pipe(v.number(), v.integer(), v.minValue(0));

/** A page of a list. */
export function listOf<const Item extends v.GenericSchema>(item: Item) {
  return v.strictObject({
    items: v.array(item),
    next_cursor: v.pipe(
      v.nullable(v.string()),
      v.description("Given as `cursor`, it leads to the next page; null: this is the last one"),
    ),
  });
}

export const GRANTED = v.strictObject({
  permission: v.pipe(v.string(), v.description('A permission, "<resource>.*", or "*"')),
  project_id: v.pipe(MAYBE_TEXT, v.description("The only project it holds for; null: all")),
});

const PERSON = { id: v.string(), name: v.string(), email: v.string(), roles: v.array(v.string()) };

const LOGGED_IN = v.strictObject(PERSON);

export const LOGIN = v.strictObject({ token: v.string(), expires_at: TIME, user: LOGGED_IN });

export const ME = v.strictObject({ ...PERSON, permissions: v.array(GRANTED) });

export const USER = v.strictObject({
  ...PERSON,
  is_enabled: v.boolean(),
  active_at: MAYBE_TIME,
  created_at: TIME,
  modified_at: TIME,
});

export const TOKEN = v.strictObject({
  id: v.string(),
  user_name: v.string(),
  is_current: v.boolean(),
  created_at: TIME,
  expires_at: TIME,
  last_used_at: MAYBE_TIME,
  last_used_from: MAYBE_TEXT,
});

const WEBHOOK_MEMBERS = {
  id: v.string(),
  name: v.string(),
  description: v.string(),
  flow: v.string(),
  role: MAYBE_TEXT,
  project_id: MAYBE_TEXT,
  bundle_id: MAYBE_TEXT,
  is_enabled: v.boolean(),
  is_productive: v.boolean(),
  require_login: v.boolean(),
  is_key_required: v.boolean(),
  key_used_at: v.pipe(MAYBE_TIME, v.description("When the key last admitted a call")),
  previous_key_until: v.pipe(MAYBE_TIME, v.description("Until when the replaced key is kept")),
  previous_key_used_at: v.pipe(MAYBE_TIME, v.description("When that one last admitted a call")),
  execution_location: v.picklist(["webhook", "flow"]),
  ...MEMBERS,
  signature: v.pipe(
    v.nullable(SIGNATURE),
    v.description("How its calls are signed; null: they need not be"),
  ),
  allowed_addresses: v.pipe(
    v.array(v.string()),
    v.description("Addresses and ranges that may call it; empty: any"),
  ),
  url: v.string(),
  created_by: v.string(),
  created_at: TIME,
  modified_by: v.string(),
  modified_at: TIME,
};

export const WEBHOOK = v.strictObject(WEBHOOK_MEMBERS);

const KEY = v.pipe(v.string(), v.description("The API key; shown this once"));

export const NEW_WEBHOOK = v.strictObject({ ...WEBHOOK_MEMBERS, key: KEY });

export const AUTHENTICATED_WEBHOOK = v.strictObject({ ...WEBHOOK_MEMBERS, key: v.optional(KEY) });

const VERIFIED = v.strictObject({
  scheme: v.string(),
  secret: v.string(),
  id: MAYBE_TEXT,
  timestamp: MAYBE_TEXT,
});

/** The newest first. */
export const REFUSED_CALLS = v.strictObject({
  items: v.array(
    v.strictObject({
      at: TIME,
      code: v.string(),
      reason: v.string(),
      status: COUNT,
      method: v.string(),
      path: v.pipe(v.string(), v.description("As in the request line, without the query")),
      address: v.string(),
      request_id: v.string(),
      headers: v.pipe(v.record(v.string(), v.string()), v.description("Secret ones as …")),
      body_bytes: v.nullable(COUNT),
      body_sha256: v.pipe(
        MAYBE_TEXT,
        v.description("Of the bytes that came: another one at the sender means that they changed"),
      ),
    }),
  ),
});

const SUMMARY_MEMBERS = {
  id: v.string(),
  status: v.picklist(STATUSES),
  status_message: MAYBE_TEXT,
  webhook: MAYBE_TEXT,
  flow: v.string(),
  flow_version: MAYBE_TEXT,
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
  created_at: TIME,
  started_at: MAYBE_TIME,
  ended_at: MAYBE_TIME,
};

export const EXECUTION_SUMMARY = v.strictObject(SUMMARY_MEMBERS);

/** A custom response as it is stored (section 4.7). */
const CUSTOM_RESPONSE = v.strictObject({
  status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599)),
  headers: v.record(v.string(), v.union([v.string(), v.array(v.string())])),
  body: v.string(),
  body_encoding: v.optional(v.literal("base64")),
});

export const EXECUTION = v.strictObject({
  ...SUMMARY_MEMBERS,
  input_value: v.unknown(),
  output_value: v.unknown(),
  response: v.nullable(CUSTOM_RESPONSE),
});

export const STARTED = v.strictObject({ id: v.string() });

export const LOG_LINE = v.strictObject({
  at: TIME,
  level: v.picklist(["debug", "info", "warn", "error"]),
  text: v.string(),
});

const ACCESS = v.strictObject({
  net: v.boolean(),
  read: v.array(v.string()),
  write: v.array(v.string()),
  secrets: v.array(v.string()),
});

const FLOW_MEMBERS = {
  name: v.string(),
  description: MAYBE_TEXT,
  version: MAYBE_TEXT,
  bundle: MAYBE_TEXT,
  state: v.picklist(["ready", "broken"]),
  error: v.nullable(v.strictObject({ message: v.string(), stack: MAYBE_TEXT })),
  file: v.string(),
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

export const FLOW_WITH_SOURCE = v.strictObject({ ...FLOW_MEMBERS, source: MAYBE_TEXT });

export const BUNDLE = v.strictObject({
  name: v.string(),
  description: MAYBE_TEXT,
  directory: v.string(),
  flows: v.array(v.string()),
});

export const PROJECT = v.strictObject({
  id: v.string(),
  name: v.string(),
  description: v.string(),
  created_at: TIME,
  modified_at: TIME,
});

export const ROLE = v.strictObject({
  id: v.string(),
  name: v.string(),
  permissions: v.array(GRANTED),
  propagate: v.boolean(),
  created_at: TIME,
  modified_at: TIME,
});

export const SETTING = v.strictObject({
  name: v.string(),
  value: v.unknown(),
  created_at: TIME,
  modified_at: TIME,
});

export const SECRET = v.strictObject({ name: v.string(), created_at: TIME, modified_at: TIME });

export const AUDIT_ENTRY = v.strictObject({
  id: COUNT,
  at: TIME,
  user_name: MAYBE_TEXT,
  address: v.string(),
  action: v.string(),
  target: MAYBE_TEXT,
  result: v.pipe(v.string(), v.description("The HTTP status, or the code of the error")),
  members: v.pipe(v.array(v.string()), v.description("Names of the members that were given")),
});

export const STATISTICS = v.strictObject({
  from: TIME,
  to: TIME,
  interval_sec: v.number(),
  items: v.array(
    v.strictObject({
      at: TIME,
      webhook: MAYBE_TEXT,
      calls: COUNT,
      failures: COUNT,
      duration_avg_ms: v.nullable(v.number()),
      duration_max_ms: v.nullable(v.number()),
      duration_p50_ms: v.nullable(v.number()),
      duration_p95_ms: v.nullable(v.number()),
      duration_p99_ms: v.nullable(v.number()),
    }),
  ),
});

export const WORKSPACE = v.strictObject({
  version: v.string(),
  connections: v.strictObject({
    month: v.string(),
    used: COUNT,
    allowance: v.pipe(v.nullable(COUNT), v.description("CONNECTION_ALLOWANCE; null: unlimited")),
  }),
  executions: v.strictObject({ running: COUNT, waiting: COUNT }),
  runners: v.strictObject({
    restarts: COUNT,
    processes: v.array(v.strictObject({ rss_bytes: COUNT, threads: COUNT, running: COUNT })),
  }),
});

const DIFFERENCE = v.strictObject({ from: v.unknown(), to: v.unknown() });

export const IMPORTED = v.strictObject({
  dry_run: v.boolean(),
  items: v.array(
    v.strictObject({
      name: v.string(),
      action: v.picklist(["create", "skip", "replace", "rename"]),
      changes: v.record(v.string(), DIFFERENCE),
      key: v.optional(KEY),
    }),
  ),
});

/** Problem details (RFC 9457). */
export const PROBLEM = v.strictObject({
  type: v.pipe(v.string(), v.description("urn:flowhook:error: and the code")),
  title: v.string(),
  status: COUNT,
  detail: v.string(),
  instance: v.string(),
  errors: v.optional(v.array(v.strictObject({ field: v.string(), message: v.string() }))),
});

/** The names under which the OpenAPI document has them. */
export const NAMED_SHAPES: Readonly<Record<string, v.GenericSchema>> = {
  AuditEntry: AUDIT_ENTRY,
  AuthenticatedWebhook: AUTHENTICATED_WEBHOOK,
  Bundle: BUNDLE,
  Execution: EXECUTION,
  ExecutionSummary: EXECUTION_SUMMARY,
  Flow: FLOW,
  FlowWithSource: FLOW_WITH_SOURCE,
  Imported: IMPORTED,
  LogLine: LOG_LINE,
  Login: LOGIN,
  Me: ME,
  NewWebhook: NEW_WEBHOOK,
  Problem: PROBLEM,
  Project: PROJECT,
  RefusedCalls: REFUSED_CALLS,
  Role: ROLE,
  Secret: SECRET,
  Setting: SETTING,
  Statistics: STATISTICS,
  Token: TOKEN,
  User: USER,
  Webhook: WEBHOOK,
  Workspace: WORKSPACE,
};
