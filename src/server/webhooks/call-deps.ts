import type { Claims } from "../executions/claims.ts";
import type { Executions } from "../executions/executions.ts";
import type { StartRequest } from "../executions/start-request.ts";
import type { Flow } from "../flows/catalog.ts";
import type { Log } from "../../shared/log.ts";
import type { Meters } from "../metrics/meters.ts";
import type { Store } from "../store/store.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import type { AdmissionRules } from "./admit.ts";
import type { Refusals } from "../request/refused-calls.ts";
import type { AuthenticationDeps } from "./authenticate.ts";
import type { ReportForwarded } from "./forwarded.ts";
import type { InputCheck } from "./input-check.ts";
import type { FindLarge } from "./json-pointer.ts";

/** What a call needs of the service. */
export interface CallDeps extends AuthenticationDeps, AdmissionRules {
  readonly store: Store;
  readonly executions: Executions;
  readonly log: Log;
  readonly meters: Pick<Meters, "countCall" | "countRefusal" | "countSignature" | "countDuplicate">;
  readonly refusals: Refusals;
  readonly claims: Claims;
  readonly findLarge: FindLarge;
  readonly reportForwarded: ReportForwarded;
  readonly inputCheck: InputCheck;
  readonly findFlow: (name: string) => Flow | undefined;
  /** As `findFlow`; one that is not known is asked for at other nodes. */
  readonly findFlowOrAsk: (name: string) => Promise<Flow | undefined>;
  readonly defaultProjectId: string;
  /** EXECUTION_PERMISSIONS: whose permissions an execution has. */
  readonly permissionsOf: (webhook: WebhookRow) => Pick<StartRequest, "role_id" | "acts_for">;
  /** SYNC_MODE, where the webhook has none of its own. */
  readonly sync_mode: "redirect" | "hold";
  readonly responseMatrix: "current" | "earlier";
  readonly windowMs: number;
  readonly isCancelling: boolean;
  readonly isLoginRedirect: boolean;
  readonly isSandboxed: boolean;
  /** Path prefix of the service, from BASE_URL; empty without one. */
  readonly prefix: string;
}
