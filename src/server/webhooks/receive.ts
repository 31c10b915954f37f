import type { Flow } from "../flows/catalog.ts";
import type { Executions } from "../executions/executions.ts";
import type { StartRequest } from "../executions/start-request.ts";
import type { ActiveExecution } from "../executions/active.ts";
import { readOutcome, type Outcome } from "../executions/outcome.ts";
import { toRecordText } from "../executions/record.ts";
import { waitFor, type Waited } from "../executions/wait.ts";
import { discardBody } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Meters } from "../../shared/meters.ts";
import { toTrace } from "../request/trace.ts";
import type { Store } from "../store/database.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecution, findPayload } from "../store/executions.ts";
import { toRefusal } from "../store/fault.ts";
import { findRole } from "../store/people.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { admit, type AdmissionRules } from "./admit.ts";
import { authenticate, LoginNeeded, type Gate } from "./authenticate.ts";
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
  respondRefusal,
  respondSeeOther,
  respondUnauthorized,
  toResponse,
  type Reply,
} from "./respond.ts";
import { isAsync, KEY, WAIT, withoutParameters } from "./target.ts";

/** What the corridor needs of the house. */
export interface Corridor extends Gate, AdmissionRules {
  readonly store: Store;
  readonly executions: Executions;
  readonly log: Log;
  readonly meters: Pick<Meters, "countCall" | "countRefusal">;
  readonly findFlow: (name: string) => Flow | undefined;
  readonly default_project_id: string;
  /** EXECUTION_PERMISSIONS: whose permissions an execution has. */
  readonly permissionsOf: (webhook: WebhookRow) => Pick<StartRequest, "role_id" | "acts_for">;
  /** SYNC_MODE, where the webhook has none of its own. */
  readonly sync_mode: "redirect" | "hold";
  readonly response_matrix: "current" | "earlier";
  readonly window_ms: number;
  readonly is_cancelling: boolean;
  readonly is_login_redirect: boolean;
  readonly is_sandboxed: boolean;
  /** Path prefix of the service, from BASE_URL; empty without one. */
  readonly prefix: string;
}

/**
 * The way of a call (section 4): match, authenticate, admit, start, respond. Before the record
 * exists a refusal is thrown and answered here; after it, every ending is a value.
 */
export async function receive(corridor: Corridor, call: Call): Promise<Response> {
  const started = performance.now();
  const counted = { webhook: "" };
  const reply = await pass(corridor, call, counted);
  const seconds = (performance.now() - started) / 1000;
  corridor.meters.countCall(counted.webhook, reply.status, seconds);
  return toResponse(reply, call.request_id);
}

/** @param counted Is told the webhook, once it is known that there is one. */
async function pass(corridor: Corridor, call: Call, counted: { webhook: string }): Promise<Reply> {
  try {
    const matched = await match(corridor.store, call);
    counted.webhook = matched.webhook.name;
    const caller = await authenticate(corridor, matched);
    const reentry = call.query.get(WAIT);
    if (reentry !== null) return await continueWaiting(corridor, caller, reentry);
    const admission = await admit(corridor, caller);
    const until = isHeld(corridor, admission) ? "written" : "synced";
    const request = toStartRequest(corridor, admission);
    const execution = await corridor.executions.start(request, until);
    return await answer(corridor, admission, execution);
  } catch (fault) {
    return refuse(corridor, call, fault);
  }
}

function toStartRequest(corridor: Corridor, admission: Admission): StartRequest {
  const { webhook, call, input, secrets } = admission;
  const is_productive = webhook.is_productive === 1;
  return {
    flow_name: webhook.flow,
    flow: corridor.findFlow(webhook.flow),
    webhook: { id: webhook.id, name: webhook.name },
    input,
    is_productive,
    is_async: isAsync(call.query),
    project_id: projectOf(corridor, webhook),
    ...corridor.permissionsOf(webhook),
    created_by: admission.principal?.user_id ?? null,
    parent_id: null,
    replay_of: null,
    is_connection: is_productive,
    trace: toTrace(call.incoming, openRedaction(secrets)(call.request_id)),
  };
}

/** Execution location (section 2.1): the flow's project, and that of a bundle, is the Default. */
function projectOf(corridor: Corridor, webhook: Admission["webhook"]): string {
  const is_own = webhook.execution_location === "webhook" && webhook.bundle_id === null;
  return (is_own ? webhook.project_id : null) ?? corridor.default_project_id;
}

/** Whether the caller sees nothing before the ending. */
function isHeld(corridor: Corridor, { call, webhook }: Admission): boolean {
  if (isAsync(call.query)) return false;
  const mode = webhook.sync_mode ?? corridor.sync_mode;
  return mode === "hold" || corridor.response_matrix === "earlier";
}

async function answer(
  corridor: Corridor,
  admission: Admission,
  live: ActiveExecution,
): Promise<Reply> {
  const { call, webhook } = admission;
  if (corridor.response_matrix === "earlier") return answerEarlier(corridor, admission, live);
  if (live.row.is_async === 1) return respondCreated(live.id);
  if (isHeld(corridor, admission)) {
    const waited = await waitFor(corridor, live, call.outgoing, null);
    if (isOutcome(waited)) return respondOutcome(waited.outcome, corridor.is_sandboxed);
    return respondUnfinished(admission, live.id, corridor.legs.toValue(live.id, webhook), waited);
  }
  const location = toLocation(call.target, corridor.legs.toValue(live.id, webhook));
  return respondSeeOther(live.id, location, toAsyncHint(call.target));
}

/** A re-entry starts nothing: it waits for one window at most (section 4.4). */
async function continueWaiting(corridor: Corridor, caller: Caller, value: string): Promise<Reply> {
  const { call, webhook } = caller;
  discardBody(call.incoming);
  const id = corridor.legs.toExecutionId(value);
  const live = id === null ? undefined : corridor.executions.find(id);
  if (live !== undefined && live.row.webhook_id === webhook.id) {
    const waited = await waitFor(corridor, live, call.outgoing, corridor.window_ms);
    if (isOutcome(waited)) return respondOutcome(waited.outcome, corridor.is_sandboxed);
    return respondUnfinished(caller, live.id, value, waited);
  }
  const outcome = id === null ? null : await readEnded(corridor, caller, id);
  if (outcome !== null) return respondOutcome(outcome, corridor.is_sandboxed);
  throw new Refusal("not_found", `Webhook "${webhook.name}" has no such execution`);
}

/** Another leg; when the service stops, one that the client walks at the next start. */
function respondUnfinished(
  { call }: Caller,
  execution_id: string,
  value: string,
  waited: "unfinished" | "gone" | "stopping",
): Reply {
  if (waited === "gone") return respondNobody();
  return respondFound(execution_id, toLocation(call.target, value), waited === "stopping");
}

/** @throws Refusal not_authenticated where a signature has outlived its execution */
async function readEnded(corridor: Corridor, caller: Caller, id: string): Promise<Outcome | null> {
  const row = await findExecution(corridor.store, id);
  if (row === undefined || row.webhook_id !== caller.webhook.id) return null;
  if (caller.is_by_signature && (row.ended_at ?? now()) + SIGNATURE_LIFE_MS < now())
    throw new Refusal("not_authenticated", "The signature of this leg is void");
  return readOutcome(row, await findPayload(corridor.store, id));
}

/** The matrix of earlier releases: key by async (section 4.6), on held requests. */
async function answerEarlier(
  corridor: Corridor,
  admission: Admission,
  live: ActiveExecution,
): Promise<Reply> {
  const { call, webhook } = admission;
  const has_key = webhook.key_hash !== null;
  if (live.row.is_async === 1)
    return has_key
      ? respondEarlierRecord(live.id, await readRecord(corridor, live.id))
      : respondEarlierStarted(live.id);
  const waited = await waitFor(corridor, live, call.outgoing, null);
  if (!isOutcome(waited))
    return respondUnfinished(admission, live.id, corridor.legs.toValue(live.id, webhook), waited);
  const { outcome } = waited;
  const is_custom = outcome.status === "ENDED_SUCCESS" && outcome.response !== null;
  if (!has_key || is_custom) return respondEarlierStatus(outcome, corridor.is_sandboxed);
  return respondEarlierRecord(live.id, await readRecord(corridor, live.id));
}

async function readRecord({ store }: Corridor, id: string): Promise<string> {
  const row = (await findExecution(store, id)) as ExecutionRow;
  const role = row.role_id === null ? undefined : await findRole(store, row.role_id);
  return toRecordText(row, await findPayload(store, id), role?.name ?? null);
}

function isOutcome(waited: Waited): waited is { readonly outcome: Outcome } {
  return typeof waited === "object";
}

/** A refused call records no execution; it is logged with its reason. */
function refuse(corridor: Corridor, call: Call, fault: unknown): Reply {
  const { incoming, target } = call;
  const trace = toTrace(incoming, call.request_id);
  const path = (incoming.url ?? "").split("?")[0] ?? "";
  if (fault instanceof LoginNeeded) {
    corridor.meters.countRefusal("not_authenticated");
    corridor.log.info(
      { webhook: target.name, code: "not_authenticated", ...trace },
      "Call refused",
    );
    const accepts_html = incoming.headers.accept?.includes("text/html") === true;
    return corridor.is_login_redirect && accepts_html
      ? respondLogin(toLogin(corridor.prefix, path, target.query))
      : respondUnauthorized();
  }
  const known = toRefusal(fault);
  const refusal = known instanceof Refusal ? known : toInternal(corridor, call, fault);
  const { code, message } = refusal;
  corridor.meters.countRefusal(code);
  corridor.log.info({ webhook: target.name, code, reason: message, ...trace }, "Call refused");
  return respondRefusal(refusal, path);
}

function toInternal({ log }: Corridor, { target }: Call, fault: unknown): Refusal {
  log.error({ webhook: target.name, err: fault }, "Cannot answer a call");
  return new Refusal("internal", "The service failed. Its log has the reason");
}

/** The login screen, and back to the call with its query; a key does not belong in a Location. */
function toLogin(prefix: string, path: string, query: string): string {
  const kept = withoutParameters(query, [KEY]);
  const next = kept === "" ? path : `${path}?${kept}`;
  return `${prefix}/ui/login?next=${encodeURIComponent(next)}`;
}
