import type { Flow } from "../flows/catalog.ts";
import { now } from "../../shared/clock.ts";
import { newExecutionId } from "../../shared/id.ts";
import type { Trace } from "../request/trace.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { HeldClaim } from "./claims.ts";
import type { Input } from "./input.ts";
import type { LimitedWebhook } from "./webhook-queue.ts";

/** What an execution is started from: a call, a command, another execution. */
export interface StartRequest {
  readonly flowName: string;
  /** The version to run; undefined: the flow is not there, which is recorded as the ending. */
  readonly flow: RunnableFlow | undefined;
  readonly webhook: LimitedWebhook | null;
  readonly input: Input;
  readonly is_productive: boolean;
  readonly is_async: boolean;
  readonly project_id: string;
  readonly role_id: string | null;
  /** The user whose permissions it has instead of its role's. */
  readonly acts_for: string | null;
  readonly created_by: string | null;
  readonly parent_id: string | null;
  /** Whether its parent waits for its ending. */
  readonly isAwaited?: boolean;
  readonly replay_of: string | null;
  /** Whether it consumes one connection of the month's allowance. */
  readonly isConnection: boolean;
  /** Of the client whose call it is. */
  readonly address?: string;
  /** JSON text of what the call's signature showed. */
  readonly verified?: string | null;
  /** What no other execution is started for, as long as the claim lives. */
  readonly claim?: HeldClaim | null;
  /** The request that starts it; for the log alone. */
  readonly trace?: Trace;
}

/** How to run a flow; without a spec no version of it ever loaded. */
export type RunnableFlow = Pick<Flow, "spec" | "timeoutMs"> & Partial<Pick<Flow, "error">>;

/**
 * The record of an execution that is made now.
 *
 * @param node its name; null: there are none
 * @param version that another node is to run; null: what runs here
 */
export function toRow(
  request: StartRequest,
  node: string | null,
  version: string | null,
): ExecutionRow {
  return {
    id: newExecutionId(),
    status: "PENDING",
    status_message: null,
    webhook_id: request.webhook?.id ?? null,
    webhook: request.webhook?.name ?? null,
    flow: request.flowName,
    flow_version: version ?? request.flow?.spec?.version ?? null,
    is_productive: request.is_productive ? 1 : 0,
    is_async: request.is_async ? 1 : 0,
    project_id: request.project_id,
    role_id: request.role_id,
    acts_for: request.acts_for,
    created_by: request.created_by,
    parent_id: request.parent_id,
    replay_of: request.replay_of,
    address: request.address ?? null,
    verified: request.verified ?? null,
    node,
    created_at: now(),
    started_at: null,
    ended_at: null,
  };
}
