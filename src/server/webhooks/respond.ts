import type { CustomResponse } from "../../shared/contract/execution.ts";
import { bodyOf } from "../executions/custom-response.ts";
import { isOfCors } from "../executions/cross-origin.ts";
import type { Outcome } from "../executions/outcome.ts";
import type { OutgoingHttpHeaders } from "node:http";
import { toProblem, type RequestError } from "../../shared/errors.ts";
import { REQUEST_ID } from "../request/trace.ts";
import type { AnswerRules } from "./answer-rules.ts";
import type { Call } from "./call.ts";

/** Every answer of the call endpoint is made and sent here. */

/** An answer before it is sent. */
export interface Reply {
  readonly status: number;
  /** Sent as they are: a name with several values as so many fields. */
  readonly headers: Record<string, string | readonly string[]>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

/** Answers without content have no length either (RFC 9110, section 8.6). */
const WITHOUT_LENGTH: readonly number[] = [204, 304];

/** Echoes the id of the request. Under HEAD no body says nothing of the length that GET would have. */
export function send(
  { outgoing, method, request_id }: Pick<Call, "outgoing" | "method" | "request_id">,
  { status, headers, body }: Reply,
): void {
  headers[REQUEST_ID] = request_id;
  const bytes = body === null ? 0 : Buffer.byteLength(body);
  const isUnknown = method === "HEAD" && bytes === 0;
  if (!isUnknown && !WITHOUT_LENGTH.includes(status)) headers["content-length"] = String(bytes);
  outgoing.writeHead(status, headers as OutgoingHttpHeaders);
  outgoing.end(body);
}

export const EXECUTION_ID = "flowhook-execution-id";

const JSON_TYPE = "application/json; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";

/** Number 13 of the contract's section 4: pages from flows share the origin of the UI. */
const SANDBOX =
  "sandbox allow-downloads allow-forms allow-modals allow-popups " +
  "allow-popups-to-escape-sandbox allow-scripts";

const POLICY = "content-security-policy";
const SNIFFING = "x-content-type-options";

function respond(
  status: number,
  type: string,
  body: string,
  headers: Record<string, string>,
): Reply {
  return {
    status,
    headers: { "content-type": type, "cache-control": "no-store", ...headers },
    body,
  };
}

/** Bytes that a flow has shaped, under a type of the service: nothing is guessed behind it. */
function respondShaped(status: number, type: string, body: string, executionId: string): Reply {
  return respond(status, type, body, { [EXECUTION_ID]: executionId, [SNIFFING]: "nosniff" });
}

/** The result, the custom response, or the error of a synchronous call (section 4.4). */
export function respondOutcome(outcome: Outcome, rules: AnswerRules): Reply {
  if (outcome.status !== "ENDED_SUCCESS") return respondError(outcome, rules);
  if (outcome.response !== null) return respondCustom(outcome, outcome.response, rules);
  const { output_value, id } = outcome;
  return addHeaders(respondShaped(200, JSON_TYPE, output_value ?? "null", id), rules);
}

/** A message of a flow may read like a page; JSON is none, and has no policy. */
function respondError(outcome: Outcome, rules: AnswerRules): Reply {
  const reply = respondShaped(500, TEXT_TYPE, toStatusText(outcome), outcome.id);
  if (rules.isSandboxed) reply.headers[POLICY] = SANDBOX;
  return addHeaders(reply, rules);
}

/** Section 7: status, a colon and a space, then the status message. */
export function toStatusText({ status, status_message }: Outcome): string {
  return `${status}: ${status_message ?? ""}`;
}

const WITHOUT_BODY: readonly number[] = [204, 205, 304];

function respondCustom(outcome: Outcome, custom: CustomResponse, rules: AnswerRules): Reply {
  const { status } = custom;
  const own = Object.entries(custom.headers).filter(([name]) => isOfFlow(name, rules));
  // Not by assignment: "__proto__" is a header's name like any other.
  const headers: Reply["headers"] = Object.fromEntries(own);
  headers[EXECUTION_ID] = outcome.id;
  if (rules.isSandboxed) {
    // On whatever type: browsers guess pages behind many of them, and behind none.
    headers[POLICY] = beside(headers[POLICY], SANDBOX);
    headers[SNIFFING] = "nosniff";
  }
  const body = WITHOUT_BODY.includes(status) ? null : bodyOf(custom);
  return addHeaders({ status, headers, body }, rules, own);
}

/** Names in any case: of another case it would stand beside the service's. */
function isOfFlow(name: string, { isSandboxed, hasCors }: AnswerRules): boolean {
  const lower = name.toLowerCase();
  if (lower === REQUEST_ID || lower === EXECUTION_ID) return false;
  if (hasCors && isOfCors(lower)) return false;
  return !(isSandboxed && lower === SNIFFING);
}

/** Of policies all hold: the webhook's stands beside the service's, where the flow has none. */
function addHeaders(
  reply: Reply,
  { added }: AnswerRules,
  own: readonly (readonly [name: string, value: unknown])[] = [],
): Reply {
  const names = Object.keys(added);
  if (names.length === 0) return reply;
  const taken = new Set(Object.keys(reply.headers).map((name) => name.toLowerCase()));
  const hasPolicy = own.some(([name]) => name.toLowerCase() === POLICY);
  for (const name of names) {
    const lower = name.toLowerCase();
    const value = added[name] as string | readonly string[];
    if (!taken.has(lower)) reply.headers[name] = value;
    else if (lower === POLICY && !hasPolicy)
      reply.headers[POLICY] = [reply.headers[POLICY] ?? [], value].flat(2);
  }
  return reply;
}

/** The service's value as one more field of its name; of policies, all hold. */
function beside(own: string | readonly string[] | undefined, value: string) {
  return own === undefined ? value : [...[own].flat(), value];
}

/** Section 4.5. @param location of the leg that has its result */
export function respondStarted(status: number, executionId: string, location: string): Reply {
  const headers = { [EXECUTION_ID]: executionId, location };
  if (status !== 204) return respond(status, TEXT_TYPE, executionId, headers);
  return { status, headers: { "cache-control": "no-store", ...headers }, body: null };
}

/** The first leg of a synchronous call, with a word for people (section 4.4). */
export function respondSeeOther(executionId: string, location: string, hint: string): Reply {
  const text =
    `Execution ${executionId} has started. Follow the redirect for its result ` +
    `(curl -L), or ${hint} to get its id at once.\n`;
  return respond(303, TEXT_TYPE, text, { location, [EXECUTION_ID]: executionId });
}

/**
 * The execution has not ended within the poll window (section 4.4).
 *
 * @param isLast whether the service stops, so that the connection cannot be used again
 */
export function respondFound(executionId: string, location: string, isLast: boolean): Reply {
  const text = `Execution ${executionId} has not ended yet. Follow the redirect to go on waiting.\n`;
  const connection: Record<string, string> = isLast ? { connection: "close" } : {};
  return respond(302, TEXT_TYPE, text, { location, [EXECUTION_ID]: executionId, ...connection });
}

/** The browser's way over the login screen (section 5.1). */
export function respondLogin(location: string): Reply {
  return respond(302, TEXT_TYPE, "Log in first: follow the redirect with a browser.\n", {
    location,
  });
}

/** Section 4.6, without a key on the webhook: the status as a JSON string. */
export function respondEarlierStatus(outcome: Outcome, rules: AnswerRules): Reply {
  if (outcome.status === "ENDED_SUCCESS" && outcome.response !== null)
    return respondCustom(outcome, outcome.response, rules);
  const status = outcome.status === "ENDED_SUCCESS" ? 200 : 500;
  const text = JSON.stringify(toStatusText(outcome));
  return addHeaders(respondShaped(status, JSON_TYPE, text, outcome.id), rules);
}

/** Section 4.6, with a key: the execution record, as JSON text. */
export function respondEarlierRecord(executionId: string, record: string): Reply {
  return respondShaped(200, JSON_TYPE, record, executionId);
}

/** The record of an execution that has ended. */
export function respondEarlierEnded(id: string, record: string, rules: AnswerRules): Reply {
  return addHeaders(respondEarlierRecord(id, record), rules);
}

/** Section 4.6, asynchronous without a key: no JSON body. */
export function respondEarlierStarted(executionId: string): Reply {
  const headers = { "cache-control": "no-store", [EXECUTION_ID]: executionId };
  return { status: 200, headers, body: null };
}

/** Back to a sender who asks whether the URL is the webhook's. */
export function respondChallenge(challenge: string): Reply {
  return respond(200, TEXT_TYPE, challenge, { [SNIFFING]: "nosniff" });
}

/** A page of another origin may send the call that its browser asked for. */
export function respondPreflight(headers: Record<string, string>): Reply {
  return { status: 204, headers: { "cache-control": "no-store", ...headers }, body: null };
}

/** The client is gone: nobody reads this, and it counts as no success. The status is nginx's for it. */
export function respondNobody(): Reply {
  return { status: 499, headers: {}, body: null };
}

/** Whether it was the login or the key: the same answer (section 7; contract, number 4). */
export function respondUnauthorized(): Reply {
  return respond(401, JSON_TYPE, '"401 Unauthorized"', { "www-authenticate": "Bearer" });
}

/** A refused call as problem details (RFC 9457). */
export function respondRequestError(refused: RequestError, instance: string): Reply {
  if (refused.code === "not_authenticated") return respondUnauthorized();
  const problem = JSON.stringify(toProblem(refused, instance));
  return respond(refused.status, "application/problem+json", problem, refused.headers);
}
