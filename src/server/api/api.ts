import type { Activity } from "../access/activity.ts";
import type { AddressReader } from "../access/client-address.ts";
import type { SiteCheck } from "../access/credentials.ts";
import type { Logins } from "../access/login.ts";
import type { SecretBox } from "../access/secret-box.ts";
import type { Configuration } from "../config/load.ts";
import type { Executions } from "../executions/executions.ts";
import type { StartRequest } from "../executions/start-request.ts";
import type { Catalog } from "../flows/catalog.ts";
import type { Bodies } from "../request/body.ts";
import type { Refusals } from "../request/refused-calls.ts";
import type { Log } from "../../shared/log.ts";
import type { Supervisor } from "../workers/supervisor.ts";
import type { Store } from "../store/store.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import type { Webhook } from "../../shared/contract/webhook.ts";
import type { EventStreams } from "./event-streams.ts";
import type { ExecutionFeed } from "./execution-feed.ts";
import type { LargeBodies } from "./json-body.ts";

/** What the management API needs of the service. */
export interface Api {
  readonly configuration: Configuration;
  readonly store: Store;
  readonly catalog: Catalog;
  readonly executions: Executions;
  readonly logins: Logins;
  readonly activity: Activity;
  readonly addressOf: AddressReader;
  readonly isCrossSite: SiteCheck;
  readonly secrets: SecretBox;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly bodies: Bodies;
  readonly largeBodies: LargeBodies;
  readonly streams: EventStreams;
  readonly feed: ExecutionFeed;
  readonly runnersStatus: Supervisor["status"];
  /** EXECUTION_PERMISSIONS: whose permissions an execution of a webhook has. */
  readonly permissionsOf: (webhook: WebhookRow) => Pick<StartRequest, "role_id" | "acts_for">;
  /** SYNC_MODE and RESPONSE_MATRIX: what a call gets that does not say it itself. */
  readonly callModeOf: (webhook: WebhookRow) => Webhook["call_mode"];
  /** CONNECTION_ALLOWANCE; null: unlimited. */
  readonly connectionAllowance: number | null;
  /** WORKER_THREADS. */
  readonly mostRunning: number;
  /** MAX_QUEUED_EXECUTIONS. */
  readonly mostWaiting: number;
  /** PLUGINS_DIR, absolute. */
  readonly pluginsDir: string;
  /** NODE_NAME. */
  readonly nodeName: string;
  /** When the service was started, milliseconds since the epoch. */
  readonly startedAt: number;
  /** MAX_BODY_BYTES. */
  readonly maxBodyBytes: number;
  /** RESPONSE_SANDBOX. */
  readonly isSandboxed: boolean;
  /** WAIT_POLL_WINDOW_SEC in milliseconds. */
  readonly windowMs: number;
  readonly defaultProjectId: string;
  /** BASE_URL; null: derived from the request. */
  readonly base_url: string | null;
  /** Path prefix of the service; empty without one. */
  readonly prefix: string;
}
