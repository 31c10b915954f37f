import { bodyOf, type CustomResponse } from "../executions/custom-response.ts";
import type { Outcome } from "../executions/outcome.ts";
import { toProblem, type Refusal } from "../lib/errors.ts";
import { REQUEST_ID } from "../lib/trace.ts";

/** Every Response of the call endpoint is made here. */

/** An answer before it is sent. */
export interface Reply {
  readonly status: number;
  /** Pairs only where a name repeats: a plain object is sent as it is. */
  readonly headers: Record<string, string> | [string, string][];
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

/** @param request_id echoed by every answer */
export function toResponse({ status, headers, body }: Reply, request_id: string): Response {
  if (Array.isArray(headers)) headers.push([REQUEST_ID, request_id]);
  else headers[REQUEST_ID] = request_id;
  return new Response(body, { status, headers });
}

export const EXECUTION_ID = "flowhook-execution-id";

const JSON_TYPE = "application/json; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";

/** Number 13 of the contract's section 4: pages from flows share the origin of the UI. */
const SANDBOX =
  "sandbox allow-downloads allow-forms allow-modals allow-popups " +
  "allow-popups-to-escape-sandbox allow-scripts";

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

/** The result, the custom response, or the error of a synchronous call (section 4.4). */
export function respondOutcome(outcome: Outcome, is_sandboxed: boolean): Reply {
  const headers = { [EXECUTION_ID]: outcome.id };
  if (outcome.status !== "ENDED_SUCCESS")
    return respond(500, TEXT_TYPE, toStatusText(outcome), headers);
  if (outcome.response !== null) return respondCustom(outcome, outcome.response, is_sandboxed);
  return respond(200, JSON_TYPE, outcome.output_value ?? "null", headers);
}

/** Section 7: status, a colon and a space, then the status message. */
export function toStatusText({ status, status_message }: Outcome): string {
  return `${status}: ${status_message ?? ""}`;
}

const WITHOUT_BODY: readonly number[] = [204, 205, 304];
const ACTIVE_TYPE = /html|svg|xml/i;

function respondCustom(outcome: Outcome, custom: CustomResponse, is_sandboxed: boolean): Reply {
  const { status } = custom;
  const pairs: [string, string][] = Object.entries(custom.headers)
    .filter(([name]) => name.toLowerCase() !== REQUEST_ID)
    .flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one]));
  pairs.push([EXECUTION_ID, outcome.id]);
  if (is_sandboxed && isActive(pairs)) pairs.push(["content-security-policy", SANDBOX], NOSNIFF);
  const body = WITHOUT_BODY.includes(status) ? null : bodyOf(custom);
  return { status, headers: toHeadersInit(pairs), body };
}

const NOSNIFF: [string, string] = ["x-content-type-options", "nosniff"];

/** Whether a browser may run what is in it; without a type it would guess. */
function isActive(pairs: readonly [string, string][]): boolean {
  const types = pairs.filter(([name]) => name.toLowerCase() === "content-type");
  return types.length === 0 || types.some(([, type]) => ACTIVE_TYPE.test(type));
}

/** A plain object is sent as it is, without a default type. */
function toHeadersInit(pairs: [string, string][]): Reply["headers"] {
  const names = new Set(pairs.map(([name]) => name.toLowerCase()));
  return names.size === pairs.length ? Object.fromEntries(pairs) : pairs;
}

/** Section 4.5. */
export function respondCreated(execution_id: string): Reply {
  return respond(201, TEXT_TYPE, execution_id, { [EXECUTION_ID]: execution_id });
}

/** The first leg of a synchronous call, with a word for people (section 4.4). */
export function respondSeeOther(execution_id: string, location: string, hint: string): Reply {
  const text =
    `Execution ${execution_id} has started. Follow the redirect for its result ` +
    `(curl -L), or add ${hint} to the URL to get its id at once.\n`;
  return respond(303, TEXT_TYPE, text, { location, [EXECUTION_ID]: execution_id });
}

/**
 * The execution has not ended within the poll window (section 4.4).
 *
 * @param is_last whether the service stops, so that the connection cannot be used again
 */
export function respondFound(execution_id: string, location: string, is_last: boolean): Reply {
  const text = `Execution ${execution_id} has not ended yet. Follow the redirect to go on waiting.\n`;
  const connection: Record<string, string> = is_last ? { connection: "close" } : {};
  return respond(302, TEXT_TYPE, text, { location, [EXECUTION_ID]: execution_id, ...connection });
}

/** The browser's way over the login screen (section 5.1). */
export function respondLogin(location: string): Reply {
  return respond(302, TEXT_TYPE, "Log in first: follow the redirect with a browser.\n", {
    location,
  });
}

/** Section 4.6, without a key on the webhook: the status as a JSON string. */
export function respondEarlierStatus(outcome: Outcome, is_sandboxed: boolean): Reply {
  if (outcome.status === "ENDED_SUCCESS" && outcome.response !== null)
    return respondCustom(outcome, outcome.response, is_sandboxed);
  const status = outcome.status === "ENDED_SUCCESS" ? 200 : 500;
  const headers = { [EXECUTION_ID]: outcome.id };
  return respond(status, JSON_TYPE, JSON.stringify(toStatusText(outcome)), headers);
}

/** Section 4.6, with a key: the execution record, as JSON text. */
export function respondEarlierRecord(execution_id: string, record: string): Reply {
  return respond(200, JSON_TYPE, record, { [EXECUTION_ID]: execution_id });
}

/** Section 4.6, asynchronous without a key: no JSON body. */
export function respondEarlierStarted(execution_id: string): Reply {
  const headers = { "cache-control": "no-store", [EXECUTION_ID]: execution_id };
  return { status: 200, headers, body: null };
}

/** The client is gone: nobody reads this. */
export function respondNobody(): Reply {
  return { status: 204, headers: {}, body: null };
}

/** Whether it was the login or the key: the same answer (section 7; contract, number 4). */
export function respondUnauthorized(): Reply {
  return respond(401, JSON_TYPE, '"401 Unauthorized"', { "www-authenticate": "Bearer" });
}

/** A refused call as problem details (RFC 9457). */
export function respondRefusal(refusal: Refusal, instance: string): Reply {
  if (refusal.code === "not_authenticated") return respondUnauthorized();
  const problem = JSON.stringify(toProblem(refusal, instance));
  return respond(refusal.status, "application/problem+json", problem, refusal.headers);
}
