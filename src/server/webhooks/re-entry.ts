import { readOutcome, type Outcome } from "../executions/outcome.ts";
import type { ActiveExecution } from "../executions/active.ts";
import { waitFor } from "../executions/wait.ts";
import { discardBody } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecution, findPayload } from "../store/executions.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { answerRulesOf } from "./answer-rules.ts";
import { isOutcome, respondUnfinished } from "./answer.ts";
import type { Caller } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { isReplacing } from "./call-limits.ts";
import { issueOf, SIGNATURE_LIFE_MS } from "./legs.ts";
import { respondOutcome, type Reply } from "./respond.ts";

/** A re-entry starts nothing: it waits for one window at most (section 4.4). */
export async function continueWaiting(
  deps: CallDeps,
  caller: Caller,
  value: string,
): Promise<Reply> {
  const { call, webhook } = caller;
  discardBody(call.incoming);
  const rules = answerRulesOf(deps, webhook);
  const id = deps.legs.toExecutionId(value);
  const live = id === null ? undefined : await findLive(deps, id);
  if (live !== undefined && mayFollow(deps, caller, live.row, value)) {
    const waited = await waitFor(deps, live, call.outgoing, deps.windowMs);
    if (isOutcome(waited)) return respondOutcome(waited.outcome, rules);
    return respondUnfinished(caller, live.id, value, waited);
  }
  const outcome = id === null ? null : await readEnded(deps, caller, id, value);
  if (outcome !== null) return respondOutcome(outcome, rules);
  throw new RequestError("not_found", `Webhook "${webhook.name}" has no such execution`);
}

/**
 * Whether the leg is this caller's. Where a login is required it is the user's who called. Elsewhere
 * whoever has the id has the result; but callers whose place a newer call took were told its id, and
 * only asynchronous callers get no more than that, and those whose call came before the last change
 * of the webhook: ids may have been all that it gave then, and who is refused would call again.
 */
function mayFollow(
  { legs }: CallDeps,
  { webhook, principal }: Caller,
  row: ExecutionRow,
  value: string,
): boolean {
  const { webhook_id, created_by, is_async } = row;
  if (webhook_id !== webhook.id) return false;
  if (principal !== null) return created_by === null || created_by === principal.user_id;
  if (webhook.key_hash !== null || is_async === 1 || !isReplacing(webhook)) return true;
  return legs.isSigned(value, webhook) || isOfBefore(row, webhook);
}

/** As long as a caller may still be on its way, which is as long as a signature admits. */
function isOfBefore({ created_at, ended_at }: ExecutionRow, { modified_at }: WebhookRow): boolean {
  return created_at < modified_at && (ended_at ?? now()) + SIGNATURE_LIFE_MS >= now();
}

/** An execution that has not ended, of this node or of another. */
async function findLive(
  { executions, store }: CallDeps,
  id: string,
): Promise<ActiveExecution | undefined> {
  const own = executions.find(id);
  if (own !== undefined || store.node === null) return own;
  const row = await findExecution(store, id);
  return row === undefined ? undefined : executions.findAnywhere(row);
}

/** @throws RequestError not_authenticated where a signature has outlived its execution */
async function readEnded(
  deps: CallDeps,
  caller: Caller,
  id: string,
  value: string,
): Promise<Outcome | null> {
  const row = await findExecution(deps.store, id);
  if (row === undefined || !mayFollow(deps, caller, row, value)) return null;
  const since = Math.max(row.ended_at ?? now(), issueOf(value));
  if (caller.isBySignature && since + SIGNATURE_LIFE_MS < now())
    throw new RequestError("not_authenticated", "The signature of this leg is void");
  return readOutcome(row, await findPayload(deps.store, id));
}
