import type { Generated } from "kysely";
import type { ExecutionSummary, LogLine } from "../../shared/contract/execution.ts";
import type { Members } from "../../shared/contract/webhook-members.ts";
import type { Webhook } from "../../shared/contract/webhook.ts";
import type { SharedSchema } from "./shared-schema.ts";

/**
 * The tables. Times are milliseconds since the epoch, flags 0 or 1, and wide values JSON text,
 * all of which PostgreSQL stores as well (bigint, integer, text).
 */
export interface Schema extends SharedSchema {
  migration: MigrationTable;
  project: ProjectTable;
  role: RoleTable;
  user: UserTable;
  user_role: UserRoleTable;
  token: TokenTable;
  webhook: WebhookTable;
  webhook_secret: WebhookSecretTable;
  execution: ExecutionTable;
  execution_moved: ExecutionMovedTable;
  execution_claim: ExecutionClaimTable;
  execution_input: ExecutionInputTable;
  execution_output: ExecutionOutputTable;
  execution_log: ExecutionLogTable;
  ledger: LedgerTable;
  connection_usage: ConnectionUsageTable;
  setting: SettingTable;
  secret: SecretTable;
  audit: AuditTable;
}

export interface MigrationTable {
  name: string;
  applied_at: number;
}

export interface ProjectTable {
  id: string;
  name: string;
  description: string;
  created_at: number;
  modified_at: number;
}

export interface RoleTable {
  id: string;
  name: string;
  /** JSON list of {permission, project_id?}. */
  permissions: string;
  propagate: number;
  created_at: number;
  modified_at: number;
}

export interface UserTable {
  id: string;
  name: string;
  email: string;
  password_hash: string;
  is_enabled: number;
  /** Latest sign of life in the UI, or login; the 402 rule reads it. */
  active_at: number | null;
  created_at: number;
  modified_at: number;
}

export interface UserRoleTable {
  user_id: string;
  role_id: string;
}

export interface TokenTable {
  id: string;
  user_id: string;
  /** SHA-256 of the token, hexadecimal. */
  hash: string;
  created_at: number;
  expires_at: number;
  last_used_at: number | null;
  last_used_from: string | null;
}

export interface WebhookTable {
  id: string;
  name: string;
  description: string;
  flow: string;
  role_id: string | null;
  project_id: string | null;
  bundle_id: string | null;
  is_enabled: number;
  is_productive: number;
  require_login: number;
  /** SHA-256 of the API key, hexadecimal; null: no key is required. */
  key_hash: string | null;
  previous_key_hash: string | null;
  /** Until when the replaced key is still accepted. */
  previous_key_until: number | null;
  /** When the key last admitted a call, to the minute. */
  key_used_at: number | null;
  previous_key_used_at: number | null;
  sync_mode: Members["sync_mode"];
  execution_location: Webhook["execution_location"];
  /** Of calls that do not say it themselves. */
  default_mode: Members["default_mode"];
  /** Status of asynchronous answers. */
  async_status: Members["async_status"];
  /** JSON list of those that it takes; null: all. */
  methods: string | null;
  /** JSON list of addresses and ranges that may call it; null: any. */
  allowed_addresses: string | null;
  /** Below MAX_BODY_BYTES; null: that. */
  max_body_bytes: number | null;
  /** JSON text of by what its calls are told apart; null: by nothing. */
  idempotency: string | null;
  /** JSON text of how often it may be called, and how many run at once; null: no limits. */
  limits: string | null;
  /** JSON text of which pages may read its answers; null: none but its own origin's. */
  cors: string | null;
  /** JSON object of headers that answers of ended executions have; null: none. */
  response_headers: string | null;
  /** Who refuses an input that does not fit: the flow's run, or the server before the record. */
  input_check: "run" | "refuse";
  /** JSON text of how its calls are signed; null: they need not be. */
  signature: string | null;
  /** Raised by each change of that and of its secrets. */
  signature_revision: number;
  created_by: string;
  created_at: number;
  modified_by: string;
  modified_at: number;
}

/** The secrets that a webhook checks signatures with. */
export interface WebhookSecretTable {
  webhook_id: string;
  secret: string;
}

/** What only one execution may be started for. */
export interface ExecutionClaimTable {
  /** SHA-256, hexadecimal. */
  hash: string;
  execution_key: number;
  /** SHA-256 of the call, hexadecimal; null: it is not compared. */
  fingerprint: string | null;
  expires_at: number;
}

/** Members of an execution that are no text of their own here: flags, times and what is looked up. */
type Converted =
  | "is_productive"
  | "is_async"
  | "role"
  | "verified"
  | "created_at"
  | "started_at"
  | "ended_at";

type AsAnswered = {
  -readonly [Name in Exclude<keyof ExecutionSummary, Converted>]: ExecutionSummary[Name];
};

/** The narrow columns that lists and filters read. */
export interface ExecutionTable extends AsAnswered {
  /** Made from the id (execution-key.ts), and in its order. */
  key: number;
  webhook_id: string | null;
  is_productive: number;
  is_async: number;
  role_id: string | null;
  /** The user whose permissions it has instead of its role's; see executions/permissions.ts. */
  acts_for: string | null;
  parent_key: number | null;
  /** JSON text of what its signature showed. */
  verified: string | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

/** Those that have another key than the one made from their id. */
export interface ExecutionMovedTable {
  id: string;
  key: number;
}

/** The wide columns, apart from the narrow ones. */
export interface ExecutionInputTable {
  execution_key: number;
  input_value: string;
  /** Where in input_value the body stands as it was sent, when it does. */
  raw_body_at: number | null;
  /** The body as it was sent, where input_value does not hold it (YAML, forms). */
  raw_body: string | null;
  target: string | null;
}

/** Inserted at the end, where there is any, and never changed. */
export interface ExecutionOutputTable {
  execution_key: number;
  output_value: string | null;
  response: string | null;
}

export interface ExecutionLogTable {
  seq: Generated<number>;
  execution_key: number;
  at: number;
  level: LogLine["level"];
  text: string;
}

/** One row. */
export interface LedgerTable {
  /** Number of the last row of the ledger whose effect the other tables have. */
  applied: number;
  /** Grows by one whenever a file of the ledger begins anew, and at each start and end. */
  emptied: number;
}

/** Calls to productive webhooks, per calendar month (UTC). */
export interface ConnectionUsageTable {
  /** `2026-11`; one row, or several parts where several services use the store. */
  month: string;
  used: number;
}

export interface SettingTable {
  name: string;
  /** JSON text. */
  value: string;
  created_at: number;
  modified_at: number;
}

export interface SecretTable {
  name: string;
  /** AES-256-GCM: nonce, ciphertext and tag, base64. */
  sealed: string;
  created_at: number;
  modified_at: number;
}

export interface AuditTable {
  seq: Generated<number>;
  at: number;
  user_id: string | null;
  user_name: string | null;
  address: string;
  /** `webhook.create` */
  action: string;
  /** Name or id of what was acted on. */
  target: string | null;
  /** HTTP status, or the code of the error. */
  result: string;
  /** JSON list of the members that were given; never their values. */
  members: string;
  /** JSON list of what changed from what to what; null: nothing that is shown. */
  changes: string | null;
  /** NODE_NAME; null: the store was one service's. */
  node: string | null;
}
