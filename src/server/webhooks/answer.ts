import type { Outcome } from "../executions/outcome.ts";
import { toRecordText } from "../executions/record.ts";
import type { Waited } from "../executions/wait.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecution, findPayload } from "../store/executions.ts";
import { findRole } from "../store/people.ts";
import { answerRulesOf } from "./answer-rules.ts";
import type { Admission, Caller } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { waitOn, type Followed } from "./followed.ts";
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

/** Whether the caller sees nothing before the ending. */
export function isHeld(deps: CallDeps, { webhook }: Admission, mode: Mode): boolean {
  if (mode.is_async || mode.waitMs !== null) return false;
  return syncModeOf(webhook, deps) === "hold";
}

/** What a call is answered whose execution is recorded. */
export async function answer(
  deps: CallDeps,
  admission: Admission,
  mode: Mode,
  followed: Followed,
): Promise<Reply> {
  if (deps.responseMatrix === "earlier") return answerEarlier(deps, admission, mode, followed);
  if (mode.waitMs !== null || isHeld(deps, admission, mode))
    return answerHeld(deps, admission, mode, followed);
  return answerAtOnce(deps, admission, mode, followed);
}

function answerAtOnce(
  { legs }: CallDeps,
  { call, webhook, secrets }: Admission,
  { is_async, applied }: Mode,
  { id, issuedAt }: Followed,
): Reply {
  const location = toLocation(call.target, legs.toValue(id, webhook, issuedAt));
  // A sender may write it to a log; the leg itself needs nothing but its value.
  const reply = is_async
    ? respondStarted(webhook.async_status, id, openRedaction(secrets)(location))
    : respondSeeOther(id, location, toAsyncHint(call.target));
  if (applied !== null) reply.headers[PREFERENCE_APPLIED] = applied;
  return reply;
}

/** Waits for the result first, as long as the caller wants to or as it takes. */
async function answerHeld(
  deps: CallDeps,
  admission: Admission,
  mode: Mode,
  followed: Followed,
): Promise<Reply> {
  const { call } = admission;
  const waited = await waitOn(deps, followed, call, mode.waitMs);
  if (waited === "unfinished" || (waited === "stopping" && mode.is_async))
    return answerAtOnce(deps, admission, mode, followed);
  if (!isOutcome(waited)) return respondLater(deps, admission, followed, waited);
  const reply = respondOutcome(waited.outcome, answerRulesOf(deps, admission.webhook));
  if (mode.applied !== null) reply.headers[PREFERENCE_APPLIED] = mode.applied;
  return reply;
}

/** Another leg; when the service stops, one that the client walks at the next start. */
export function respondUnfinished(
  { call }: Caller,
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
  admission: Admission,
  { id, issuedAt }: Followed,
  waited: "unfinished" | "gone" | "stopping",
): Reply {
  return respondUnfinished(admission, id, legs.toValue(id, admission.webhook, issuedAt), waited);
}

/** The matrix of earlier releases: key by async (section 4.6), on held requests. */
async function answerEarlier(
  deps: CallDeps,
  admission: Admission,
  mode: Mode,
  followed: Followed,
): Promise<Reply> {
  const { call, webhook } = admission;
  const { id } = followed;
  const hasKey = webhook.key_hash !== null;
  if (mode.is_async)
    return hasKey
      ? respondEarlierRecord(id, await readRecord(deps, id))
      : respondEarlierStarted(id);
  const waited = await waitOn(deps, followed, call, null);
  if (!isOutcome(waited)) return respondLater(deps, admission, followed, waited);
  const { outcome } = waited;
  const rules = answerRulesOf(deps, webhook);
  const isCustom = outcome.status === "ENDED_SUCCESS" && outcome.response !== null;
  if (!hasKey || isCustom) return respondEarlierStatus(outcome, rules);
  return respondEarlierEnded(id, await readRecord(deps, id), rules);
}

async function readRecord({ store }: CallDeps, id: string): Promise<string> {
  const row = (await findExecution(store, id)) as ExecutionRow;
  const role = row.role_id === null ? undefined : await findRole(store, row.role_id);
  return toRecordText(row, await findPayload(store, id), role?.name ?? null);
}

export function isOutcome(waited: Waited): waited is { readonly outcome: Outcome } {
  return typeof waited === "object";
}
