import type { StartRequest } from "../executions/start-request.ts";
import { isClaimed } from "../store/store-error.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { toTrace } from "../request/trace.ts";
import { admit } from "./admit.ts";
import { answer, awaitEnding, isHeld } from "./answer.ts";
import { followDuplicate } from "./duplicate.ts";
import { toFollowed, toFollowing, type FollowingCall } from "./followed.ts";
import { joinClaims, type Duplicate, type HeldClaim } from "../executions/claims.ts";
import { takeKey } from "./idempotency.ts";
import { takeSignature } from "./replay-window.ts";
import { authenticate } from "./authenticate.ts";
import type { RightSignature } from "../access/signature.ts";
import { forgetBody, type Admission, type Call, type SignedCall } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { addCors, answerPreflight } from "./cors.ts";
import { match, type Passage } from "./match.ts";
import { matchAgain, matchNow, matchWebhook } from "./match-again.ts";
import { earlierModeOf, modeOf, type Mode } from "./mode.ts";
import { continueWaiting } from "./re-entry.ts";
import { describeRate, type Bucket } from "./rate-limit.ts";
import { openRedaction } from "./redaction.ts";
import { refuse } from "./refuse.ts";
import { respondChallenge, send, type Reply } from "./respond.ts";
import { WAIT } from "./target.ts";

/**
 * The way of a call (section 4): match, authenticate, admit, start, respond. Before the record
 * exists a refusal is thrown and answered here; after it, every ending is a value.
 */
export async function receive(deps: CallDeps, call: Call): Promise<void> {
  const started = performance.now();
  const counted: Counted = { name: "", webhook: null };
  let reply: Reply;
  try {
    const passed = await pass(deps, call, counted);
    // The one place where a call waits for its flow, however long: what is held here is held then.
    reply =
      "followed" in passed ? await answer(deps, passed, await awaitEnding(deps, passed)) : passed;
  } catch (error) {
    reply = refuse(deps, call, counted.webhook, error);
  }
  if (call.bucket !== null) addRate(call.bucket, reply);
  const seconds = (performance.now() - started) / 1000;
  deps.meters.countCall(counted.name, reply.status, seconds);
  const { webhook } = counted;
  if (webhook !== null) finish(deps, call, webhook, reply);
  send(call, reply);
}

/** Who is told that nothing is left would wait before it follows a redirect. */
function addRate(bucket: Bucket, { status, headers }: Reply): void {
  if (status !== 303 && status !== 302) Object.assign(headers, describeRate(bucket));
}

/** What is done to every answer of a webhook that is there. */
function finish(deps: CallDeps, call: Call, webhook: WebhookRow, reply: Reply): void {
  if (webhook.cors !== null) addCors(reply, call, webhook);
  if (webhook.allowed_addresses !== null) deps.reportForwarded(call, webhook);
}

interface Counted extends Passage {
  name: string;
}

/**
 * Until the execution is recorded, or what needs none is answered.
 *
 * @param counted Is told the webhook, once it is known that there is one.
 */
async function pass(deps: CallDeps, call: Call, counted: Counted): Promise<Reply | FollowingCall> {
  if (call.method === "OPTIONS") return answerPreflight(deps.store, call, counted);
  const matched = await match(deps.store, call, counted);
  counted.name = matched.webhook.name;
  const caller = await authenticate(deps, matched);
  call.secrets = caller.secrets;
  const reentry = call.query.get(WAIT);
  if (reentry !== null) return continueWaiting(deps, caller, reentry);
  const admitted = await admit(deps, caller);
  if ("challenge" in admitted) return respondChallenge(admitted.challenge);
  const admission = await matchAgain(deps, admitted);
  call.secrets = admission.secrets;
  const { flow } = admission.webhook;
  if (deps.findFlow(flow) === undefined) await deps.findFlowOrAsk(flow);
  const mode = deps.responseMatrix === "earlier" ? earlierModeOf(caller) : modeOf(caller);
  const isClaiming = caller.signed !== null || caller.webhook.idempotency !== null;
  const claim = isClaiming ? await takeClaim(deps, admission) : null;
  const isDuplicate = claim !== null && "executionId" in claim;
  const isChecked = admission.webhook.input_check === "refuse" && !isDuplicate;
  const checked = isChecked ? await checkInput(deps, admission, claim) : admission;
  const following = isDuplicate
    ? await followDuplicate(deps, admission, mode, claim.executionId)
    : await begin(deps, checked, mode, claim);
  forgetBody(call);
  return following;
}

/** The signature decides first; where it is a replay, the key is not looked at. */
async function takeClaim(
  deps: CallDeps,
  admission: Admission,
): Promise<HeldClaim | Duplicate | null> {
  const once = await takeSignature(deps, admission);
  if (once !== null && "executionId" in once) return once;
  const release = (): void => once?.release();
  const keyed = await takeKey(deps, admission).catch((error: unknown) => {
    release();
    throw error;
  });
  if (keyed === null || once === null) return keyed ?? once;
  if (!("executionId" in keyed)) return joinClaims(once, keyed);
  release();
  return keyed;
}

/** For so long a login that was admitted is not looked at again. */
const RECENT_MS = 1000;

/** What is refused leaves its key to the next call. Checks wait for each other, however long that is. */
async function checkInput(
  deps: CallDeps,
  admission: Admission,
  claim: HeldClaim | null,
): Promise<Admission> {
  const began = performance.now();
  try {
    await deps.inputCheck(admission, deps.findFlow(admission.webhook.flow));
    const isRecent = performance.now() - began < RECENT_MS;
    const checked = await (isRecent ? matchWebhook : matchNow)(deps, admission);
    checked.call.secrets = checked.secrets;
    return checked;
  } catch (error) {
    claim?.release();
    throw error;
  }
}

async function begin(
  deps: CallDeps,
  admission: Admission,
  mode: Mode,
  claim: HeldClaim | null,
): Promise<FollowingCall> {
  const request = toStartRequest(deps, admission, mode);
  if (claim !== null) return beginClaimed(deps, admission, mode, { ...request, claim });
  deps.requireRoom(request.flowName, admission.webhook);
  const until = isHeld(deps, admission, mode) ? "written" : "synced";
  const live = await deps.executions.start(request, until);
  return toFollowing(admission, mode, toFollowed(live));
}

/** Where another node was first, its execution is found by a second look. */
async function beginClaimed(
  deps: CallDeps,
  admission: Admission,
  mode: Mode,
  request: StartRequest & { readonly claim: HeldClaim },
): Promise<FollowingCall> {
  const { claim } = request;
  const live = await deps.executions.start(request).catch((error: unknown) => {
    claim.release();
    if (isClaimed(error)) return null;
    throw error;
  });
  if (live !== null) {
    claim.settle(live.id);
    return toFollowing(admission, mode, toFollowed(live));
  }
  const again = await takeClaim(deps, admission);
  if (again === null) throw new Error("A call that had a claim has none any more");
  if ("executionId" in again) return followDuplicate(deps, admission, mode, again.executionId);
  return beginClaimed(deps, admission, mode, { ...request, claim: again });
}

function toStartRequest(deps: CallDeps, admission: Admission, mode: Mode): StartRequest {
  const { webhook, call, input, secrets, signed } = admission;
  const { id, name, limits, modified_at } = webhook;
  const verified = signed === null ? null : signed.verified;
  const is_productive = webhook.is_productive === 1;
  return {
    flowName: webhook.flow,
    flow: deps.findFlow(webhook.flow),
    webhook: { id, name, limits, modified_at },
    input,
    is_productive,
    is_async: mode.is_async,
    project_id: projectOf(deps, webhook),
    ...deps.permissionsOf(webhook),
    created_by: admission.principal?.user_id ?? null,
    parent_id: null,
    replay_of: null,
    isConnection: is_productive,
    address: call.address,
    verified: verified === null ? null : toVerifiedText(signed, verified),
    trace: toTrace(call.incoming, openRedaction(secrets)(call.request_id)),
  };
}

/** Execution location (section 2.1): the flow's project, and that of a bundle, is the Default. */
function projectOf(deps: CallDeps, webhook: Admission["webhook"]): string {
  const isOwn = webhook.execution_location === "webhook" && webhook.bundle_id === null;
  return (isOwn ? webhook.project_id : null) ?? deps.defaultProjectId;
}

function toVerifiedText(
  signed: SignedCall | null,
  { secret, id, timestamp }: RightSignature,
): string {
  return JSON.stringify({ scheme: signed?.scheme, secret, id, timestamp });
}
