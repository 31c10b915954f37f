import type { Outcome } from "../executions/outcome.ts";
import { toEarlierRecordText } from "../executions/record.ts";
import type { Waited } from "../executions/wait.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecution, findPayload } from "../store/executions.ts";
import { findRole } from "../store/people.ts";
import { answerRulesOf } from "./answer-rules.ts";
import type { MatchedCall } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { waitOn, type FollowingCall } from "./followed.ts";
import { toAsyncHint, toLocation } from "./legs.ts";
import { syncModeOf, type Mode } from "./mode.ts";
import { openRedaction } from "./redaction.ts";
import {
  respondEarlierEnded,
  respondEarlierRecord,
  respondEarlierStarted,
  respondEarlierStatus,
  respondFound,
  respondNobody,
  respondOutcome,
  respondSeeOther,
  respondStarted,
  type Reply,
} from "./respond.ts";

/** RFC 7240, section 3. */
const PREFERENCE_APPLIED = "preference-applied";

/** As others name it. */
const REPLAYED = "idempotent-replayed";

/** Whether the caller sees nothing before the ending. */
export function isHeld(deps: CallDeps, { webhook }: MatchedCall, mode: Mode): boolean {
  if (mode.is_async || mode.waitMs !== null) return false;
  return syncModeOf(webhook, deps) === "hold";
}

/** Waits for the execution of a call, where the call is to. */
export function awaitEnding(deps: CallDeps, following: FollowingCall): Promise<Waited> | Waited {
  const { mode } = following;
  const isWaiting =
    deps.responseMatrix === "earlier"
      ? !mode.is_async
      : isHeld(deps, following, mode) || mode.waitMs !== null;
  return isWaiting ? waitOn(deps, following, mode.waitMs) : "unfinished";
}

/** What a call is answered whose execution is recorded, once it has waited. */
export async function answer(
  deps: CallDeps,
  following: FollowingCall,
  waited: Waited,
): Promise<Reply> {
  const reply =
    deps.responseMatrix === "earlier"
      ? await respondEarlier(deps, following, waited)
      : respondWaited(deps, following, waited);
  if (following.followed.isReplayed) reply.headers[REPLAYED] = "true";
  return reply;
}

function respondWaited(deps: CallDeps, following: FollowingCall, waited: Waited): Reply {
  const { mode, webhook } = following;
  if (waited === "unfinished" || (waited === "stopping" && mode.is_async))
    return respondAtOnce(deps, following);
  if (!isOutcome(waited)) return respondLater(deps, following, waited);
  const reply = respondOutcome(waited.outcome, answerRulesOf(deps, webhook));
  if (mode.applied !== null) reply.headers[PREFERENCE_APPLIED] = mode.applied;
  return reply;
}

function respondAtOnce({ legs }: CallDeps, following: FollowingCall): Reply {
  const { call, webhook, secrets, mode } = following;
  const { id, issuedAt } = following.followed;
  const location = toLocation(call.target, legs.toValue(id, webhook, issuedAt));
  // A sender may write it to a log; the leg itself needs nothing but its value.
  const reply = mode.is_async
    ? respondStarted(webhook.async_status, id, openRedaction(secrets)(location))
    : respondSeeOther(id, location, toAsyncHint(call.target));
  if (mode.applied !== null) reply.headers[PREFERENCE_APPLIED] = mode.applied;
  return reply;
}

/** Another leg; when the service stops, one that the client walks at the next start. */
export function respondUnfinished(
  { call }: MatchedCall,
  executionId: string,
  value: string,
  waited: "unfinished" | "gone" | "stopping",
): Reply {
  if (waited === "gone") return respondNobody();
  return respondFound(executionId, toLocation(call.target, value), waited === "stopping");
}

/** The first of the legs on which a caller goes on waiting. */
function respondLater(
  { legs }: CallDeps,
  following: FollowingCall,
  waited: "unfinished" | "gone" | "stopping",
): Reply {
  const { id, issuedAt } = following.followed;
  return respondUnfinished(following, id, legs.toValue(id, following.webhook, issuedAt), waited);
}

/** The matrix of earlier releases: key by async (section 4.6), on held requests. */
async function respondEarlier(
  deps: CallDeps,
  following: FollowingCall,
  waited: Waited,
): Promise<Reply> {
  const { webhook, mode } = following;
  const { id } = following.followed;
  const hasKey = webhook.key_hash !== null;
  if (mode.is_async)
    return hasKey
      ? respondEarlierRecord(id, await readRecord(deps, id))
      : respondEarlierStarted(id);
  if (!isOutcome(waited)) return respondLater(deps, following, waited);
  const { outcome } = waited;
  const rules = answerRulesOf(deps, webhook);
  const isCustom = outcome.status === "ENDED_SUCCESS" && outcome.response !== null;
  if (!hasKey || isCustom) return respondEarlierStatus(outcome, rules);
  return respondEarlierEnded(id, await readRecord(deps, id), rules);
}

async function readRecord({ store }: CallDeps, id: string): Promise<string> {
  const row = (await findExecution(store, id)) as ExecutionRow;
  const role = row.role_id === null ? undefined : await findRole(store, row.role_id);
  return toEarlierRecordText(row, await findPayload(store, id), role?.name ?? null);
}

export function isOutcome(waited: Waited): waited is { readonly outcome: Outcome } {
  return typeof waited === "object";
}
