import type { Flow } from "../flows/catalog.ts";
import type { Executions } from "../executions/executions.ts";
import type { StartRequest } from "../executions/start-request.ts";
import type { ActiveExecution } from "../executions/active.ts";
import { readOutcome, type Outcome } from "../executions/outcome.ts";
import { toRecordText } from "../executions/record.ts";
import { waitFor, type Waited } from "../executions/wait.ts";
import { discardBody } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Meters } from "../../shared/meters.ts";
import { toTrace } from "../request/trace.ts";
import type { Store } from "../store/database.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecution, findPayload } from "../store/executions.ts";
import { toRequestError } from "../store/store-error.ts";
import { findRole } from "../store/people.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { admit, type AdmissionRules } from "./admit.ts";
import { authenticate, LoginRequiredError, type AuthenticationDeps } from "./authenticate.ts";
import type { Admission, Call, Caller } from "./call.ts";
import { SIGNATURE_LIFE_MS, toAsyncHint, toLocation } from "./legs.ts";
import { match } from "./match.ts";
import { openRedaction } from "./redaction.ts";
import {
  respondCreated,
  respondEarlierRecord,
  respondEarlierStarted,
  respondEarlierStatus,
  respondFound,
  respondLogin,
  respondNobody,
  respondOutcome,
  respondRequestError,
  respondSeeOther,
  respondUnauthorized,
  toResponse,
  type Reply,
} from "./respond.ts";
import { isAsync, KEY, WAIT, withoutParameters } from "./target.ts";

/** What a call needs of the service. */
export interface CallDeps extends AuthenticationDeps, AdmissionRules {
  readonly store: Store;
  readonly executions: Executions;
  readonly log: Log;
  readonly meters: Pick<Meters, "countCall" | "countRefusal">;
  readonly findFlow: (name: string) => Flow | undefined;
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

/**
 * The way of a call (section 4): match, authenticate, admit, start, respond. Before the record
 * exists a refusal is thrown and answered here; after it, every ending is a value.
 */
export async function receive(deps: CallDeps, call: Call): Promise<Response> {
  const started = performance.now();
  const counted = { webhook: "" };
  const reply = await pass(deps, call, counted);
  const seconds = (performance.now() - started) / 1000;
  deps.meters.countCall(counted.webhook, reply.status, seconds);
  return toResponse(reply, call.request_id);
}

/** @param counted Is told the webhook, once it is known that there is one. */
async function pass(deps: CallDeps, call: Call, counted: { webhook: string }): Promise<Reply> {
  try {
    const matched = await match(deps.store, call);
    counted.webhook = matched.webhook.name;
    const caller = await authenticate(deps, matched);
    const reentry = call.query.get(WAIT);
    if (reentry !== null) return await continueWaiting(deps, caller, reentry);
    const admission = await admit(deps, caller);
    const until = isHeld(deps, admission) ? "written" : "synced";
    const request = toStartRequest(deps, admission);
    const execution = await deps.executions.start(request, until);
    return await answer(deps, admission, execution);
  } catch (error) {
    return refuse(deps, call, error);
  }
}

function toStartRequest(deps: CallDeps, admission: Admission): StartRequest {
  const { webhook, call, input, secrets } = admission;
  const is_productive = webhook.is_productive === 1;
  return {
    flowName: webhook.flow,
    flow: deps.findFlow(webhook.flow),
    webhook: { id: webhook.id, name: webhook.name },
    input,
    is_productive,
    is_async: isAsync(call.query),
    project_id: projectOf(deps, webhook),
    ...deps.permissionsOf(webhook),
    created_by: admission.principal?.user_id ?? null,
    parent_id: null,
    replay_of: null,
    isConnection: is_productive,
    trace: toTrace(call.incoming, openRedaction(secrets)(call.request_id)),
  };
}

/** Execution location (section 2.1): the flow's project, and that of a bundle, is the Default. */
function projectOf(deps: CallDeps, webhook: Admission["webhook"]): string {
  const isOwn = webhook.execution_location === "webhook" && webhook.bundle_id === null;
  return (isOwn ? webhook.project_id : null) ?? deps.defaultProjectId;
}

/** Whether the caller sees nothing before the ending. */
function isHeld(deps: CallDeps, { call, webhook }: Admission): boolean {
  if (isAsync(call.query)) return false;
  const mode = webhook.sync_mode ?? deps.sync_mode;
  return mode === "hold" || deps.responseMatrix === "earlier";
}

async function answer(deps: CallDeps, admission: Admission, live: ActiveExecution): Promise<Reply> {
  const { call, webhook } = admission;
  if (deps.responseMatrix === "earlier") return answerEarlier(deps, admission, live);
  if (live.row.is_async === 1) return respondCreated(live.id);
  if (isHeld(deps, admission)) {
    const waited = await waitFor(deps, live, call.outgoing, null);
    if (isOutcome(waited)) return respondOutcome(waited.outcome, deps.isSandboxed);
    return respondUnfinished(admission, live.id, deps.legs.toValue(live.id, webhook), waited);
  }
  const location = toLocation(call.target, deps.legs.toValue(live.id, webhook));
  return respondSeeOther(live.id, location, toAsyncHint(call.target));
}

/** A re-entry starts nothing: it waits for one window at most (section 4.4). */
async function continueWaiting(deps: CallDeps, caller: Caller, value: string): Promise<Reply> {
  const { call, webhook } = caller;
  discardBody(call.incoming);
  const id = deps.legs.toExecutionId(value);
  const live = id === null ? undefined : deps.executions.find(id);
  if (live !== undefined && live.row.webhook_id === webhook.id) {
    const waited = await waitFor(deps, live, call.outgoing, deps.windowMs);
    if (isOutcome(waited)) return respondOutcome(waited.outcome, deps.isSandboxed);
    return respondUnfinished(caller, live.id, value, waited);
  }
  const outcome = id === null ? null : await readEnded(deps, caller, id);
  if (outcome !== null) return respondOutcome(outcome, deps.isSandboxed);
  throw new RequestError("not_found", `Webhook "${webhook.name}" has no such execution`);
}

/** Another leg; when the service stops, one that the client walks at the next start. */
function respondUnfinished(
  { call }: Caller,
  executionId: string,
  value: string,
  waited: "unfinished" | "gone" | "stopping",
): Reply {
  if (waited === "gone") return respondNobody();
  return respondFound(executionId, toLocation(call.target, value), waited === "stopping");
}

/** @throws RequestError not_authenticated where a signature has outlived its execution */
async function readEnded(deps: CallDeps, caller: Caller, id: string): Promise<Outcome | null> {
  const row = await findExecution(deps.store, id);
  if (row === undefined || row.webhook_id !== caller.webhook.id) return null;
  if (caller.isBySignature && (row.ended_at ?? now()) + SIGNATURE_LIFE_MS < now())
    throw new RequestError("not_authenticated", "The signature of this leg is void");
  return readOutcome(row, await findPayload(deps.store, id));
}

/** The matrix of earlier releases: key by async (section 4.6), on held requests. */
async function answerEarlier(
  deps: CallDeps,
  admission: Admission,
  live: ActiveExecution,
): Promise<Reply> {
  const { call, webhook } = admission;
  const hasKey = webhook.key_hash !== null;
  if (live.row.is_async === 1)
    return hasKey
      ? respondEarlierRecord(live.id, await readRecord(deps, live.id))
      : respondEarlierStarted(live.id);
  const waited = await waitFor(deps, live, call.outgoing, null);
  if (!isOutcome(waited))
    return respondUnfinished(admission, live.id, deps.legs.toValue(live.id, webhook), waited);
  const { outcome } = waited;
  const isCustom = outcome.status === "ENDED_SUCCESS" && outcome.response !== null;
  if (!hasKey || isCustom) return respondEarlierStatus(outcome, deps.isSandboxed);
  return respondEarlierRecord(live.id, await readRecord(deps, live.id));
}

async function readRecord({ store }: CallDeps, id: string): Promise<string> {
  const row = (await findExecution(store, id)) as ExecutionRow;
  const role = row.role_id === null ? undefined : await findRole(store, row.role_id);
  return toRecordText(row, await findPayload(store, id), role?.name ?? null);
}

function isOutcome(waited: Waited): waited is { readonly outcome: Outcome } {
  return typeof waited === "object";
}

/** A refused call records no execution; it is logged with its reason. */
function refuse(deps: CallDeps, call: Call, error: unknown): Reply {
  const { incoming, target } = call;
  const trace = toTrace(incoming, call.request_id);
  const path = (incoming.url ?? "").split("?")[0] ?? "";
  if (error instanceof LoginRequiredError) {
    deps.meters.countRefusal("not_authenticated");
    deps.log.info({ webhook: target.name, code: "not_authenticated", ...trace }, "Call refused");
    const acceptsHtml = incoming.headers.accept?.includes("text/html") === true;
    return deps.isLoginRedirect && acceptsHtml
      ? respondLogin(toLogin(deps.prefix, path, target.query))
      : respondUnauthorized();
  }
  const known = toRequestError(error);
  const refused = known instanceof RequestError ? known : toInternal(deps, call, error);
  const { code, message } = refused;
  deps.meters.countRefusal(code);
  deps.log.info({ webhook: target.name, code, reason: message, ...trace }, "Call refused");
  return respondRequestError(refused, path);
}

function toInternal({ log }: CallDeps, { target }: Call, error: unknown): RequestError {
  log.error({ webhook: target.name, err: error }, "Cannot answer a call");
  return new RequestError("internal", "The service failed. Its log has the reason");
}

/** The login screen, and back to the call with its query; a key does not belong in a Location. */
function toLogin(prefix: string, path: string, query: string): string {
  const kept = withoutParameters(query, [KEY]);
  const next = kept === "" ? path : `${path}?${kept}`;
  return `${prefix}/ui/login?next=${encodeURIComponent(next)}`;
}
