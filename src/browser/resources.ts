/** What the management API answers (contract, section 3), as far as pages look at it. */

import type { Status } from "../shared/contract/status.ts";

export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly flow: string;
  readonly role: string | null;
  readonly project_id: string | null;
  readonly bundle_id: string | null;
  readonly is_enabled: boolean;
  readonly is_productive: boolean;
  readonly require_login: boolean;
  readonly is_key_required: boolean;
  readonly sync_mode: "redirect" | "hold" | null;
  readonly execution_location: "webhook" | "flow";
  readonly default_mode: "sync" | "async";
  readonly async_status: number;
  readonly methods: readonly string[] | null;
  readonly max_body_bytes: number | null;
  readonly allowed_addresses: readonly string[];
  readonly idempotency: object | null;
  readonly signature: {
    readonly scheme: string;
    readonly secrets: readonly string[];
    readonly mode: "enforce" | "observe";
    readonly tolerance_sec: number | null;
    readonly custom: unknown;
  } | null;
  readonly url: string;
  readonly created_at: string;
  readonly modified_at: string;
  /** Only in the answer that sets it. */
  readonly key?: string;
}

export interface ExecutionSummary {
  readonly id: string;
  readonly status: Status;
  readonly status_message: string | null;
  readonly webhook: string | null;
  readonly flow: string;
  readonly flow_version: string | null;
  readonly is_productive: boolean;
  readonly is_async: boolean;
  readonly project_id: string;
  readonly role: string | null;
  readonly parent_id: string | null;
  readonly replay_of: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

export interface CustomResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  readonly body_encoding?: string;
}

export interface Execution extends ExecutionSummary {
  readonly input_value: unknown;
  readonly output_value: unknown;
  readonly response: CustomResponse | null;
}

export interface LogLine {
  readonly at: string;
  readonly level: string;
  readonly text: string;
}

export interface Permissions {
  readonly net: boolean;
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly secrets: readonly string[];
}

export interface Flow {
  readonly name: string;
  readonly description: string | null;
  readonly version: string | null;
  readonly bundle: string | null;
  readonly state: "ready" | "broken";
  readonly error: { readonly message: string; readonly stack: string | null } | null;
  readonly file: string;
  readonly permissions: Permissions | null;
  readonly granted: Partial<Permissions> | null;
  readonly timeout_sec: number;
  readonly memory_mb: number | null;
  readonly isolation: "flow" | "execution" | null;
  readonly has_input_schema: boolean | null;
  readonly source?: string | null;
}

export interface Workspace {
  readonly version: string;
  readonly connections: {
    readonly month: string;
    readonly used: number;
    readonly allowance: number | null;
  };
  readonly executions: { readonly running: number; readonly waiting: number };
  readonly runners?: {
    readonly restarts: number;
    readonly processes: readonly {
      readonly rss_bytes: number;
      readonly threads: number;
      readonly running: number;
    }[];
  };
}

export interface Interval {
  readonly at: string;
  readonly webhook: string | null;
  readonly calls: number;
  readonly failures: number;
  readonly duration_avg_ms: number | null;
  readonly duration_max_ms: number | null;
  readonly duration_p50_ms: number | null;
  readonly duration_p95_ms: number | null;
  readonly duration_p99_ms: number | null;
}

export interface Statistics {
  readonly from: string;
  readonly to: string;
  readonly interval_sec: number;
  readonly items: readonly Interval[];
}

export interface Grant {
  readonly permission: string;
  readonly project_id: string | null;
}

export interface Named {
  readonly id?: string;
  readonly name: string;
}
