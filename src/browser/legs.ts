import { read, type List } from "./api.ts";
import { may } from "./page.ts";
import type { Execution, ExecutionSummary } from "./resources.ts";

/** A request of a call, as a client that follows redirects makes them (section 4.4). */
export interface Leg {
  readonly what: string;
  readonly status: number;
  /** Milliseconds since the first leg began. */
  readonly fromMs: number;
  readonly tookMs: number;
}

export interface CallRequest {
  readonly webhook: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | null;
  /** Whether what it carries admits the following legs too; otherwise their Location alone does. */
  readonly canFollow: boolean;
  /** Whether each leg needs a key, which no frame sends. */
  readonly isKeyed: boolean;
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly executionId: string | null;
  /** Where the final leg can be asked for again; null where there was none. */
  readonly finalUrl: string | null;
}

/** More legs than any call has: an hour of poll windows. */
const MOST_LEGS = 200;

/**
 * Makes a call leg by leg. Browsers follow redirects unseen, or stop at them unseen, so the first
 * leg stops, its execution is found by the trace that the request carried, and the following legs
 * are asked for by its identifier, as the redirect would have asked.
 */
export async function callByLegs(
  request: CallRequest,
  onLeg: (leg: Leg) => void,
): Promise<CallAnswer> {
  const start = performance.now();
  if (!request.canFollow || !may("execution.read")) return callWhole(request, onLeg);
  const trace = newTrace();
  const headers = new Headers(request.headers);
  if (!headers.has("traceparent")) headers.set("traceparent", `00-${trace}-${trace.slice(16)}-01`);
  const { method, body, url } = request;
  const first = await timed("First leg", start, () =>
    fetch(url, { method, headers, body, redirect: "manual" }),
  );
  if (first.response.type !== "opaqueredirect") {
    onLeg({ ...first.leg, what: "Answer" });
    return toAnswer(first.response, null);
  }
  onLeg({ ...first.leg, status: 303 });
  const sent = headers.get("traceparent") ?? "";
  const execution = await findByTrace(
    request.webhook,
    sent,
    new Date(performance.timeOrigin + start),
  );
  return follow(request, execution.id, start, onLeg);
}

/** The browser follows, which sees each Location and shows none: the legs are one. */
async function callWhole(request: CallRequest, onLeg: (leg: Leg) => void): Promise<CallAnswer> {
  const { url, method, headers, body } = request;
  const send = () => fetch(url, { method, headers, body });
  const { leg, response } = await timed("All legs", performance.now(), send);
  onLeg(leg);
  return toAnswer(response, response.redirected ? response.url : null);
}

async function follow(
  request: CallRequest,
  id: string,
  start: number,
  onLeg: (leg: Leg) => void,
): Promise<CallAnswer> {
  const url = new URL(request.url);
  url.searchParams.set("__wait_execution_id", id);
  const headers = new Headers(request.headers);
  headers.delete("content-type");
  const method = request.method === "HEAD" ? "HEAD" : "GET";
  for (let count = 0; count < MOST_LEGS; count += 1) {
    const { leg, response } = await timed("Wait", start, () =>
      fetch(url, { method, headers, redirect: "manual" }),
    );
    if (response.type !== "opaqueredirect") {
      onLeg({ ...leg, what: "Final leg" });
      const finalUrl = request.isKeyed ? null : url.href;
      return { ...(await toAnswer(response, finalUrl)), executionId: id };
    }
    const own = await findOwnRedirect(id);
    if (own !== null) {
      onLeg({ ...leg, status: own.status, what: "Final leg" });
      return own;
    }
    onLeg({ ...leg, status: 302 });
  }
  throw new Error("The call was redirected too often: look at its execution");
}

/** Where the flow answers with a redirect, browsers hide it as they hide a leg: the record has it. */
async function findOwnRedirect(id: string): Promise<CallAnswer | null> {
  const { status, response } = await read<Execution>(["execution", id]);
  if (status !== "ENDED_SUCCESS" || response === null) return null;
  if (response.status < 300 || response.status > 399) return null;
  const headers = Object.entries(response.headers).map(
    ([name, value]) => [name, String(value)] as const,
  );
  const { body: text } = response;
  return { status: response.status, headers, text, executionId: id, finalUrl: null };
}

async function timed(what: string, start: number, send: () => Promise<Response>) {
  const from = performance.now();
  const response = await send();
  const to = performance.now();
  const leg: Leg = { what, status: response.status, fromMs: from - start, tookMs: to - from };
  return { leg, response };
}

async function toAnswer(response: Response, finalUrl: string | null): Promise<CallAnswer> {
  return {
    status: response.status,
    headers: [...response.headers],
    text: await response.text(),
    executionId: response.headers.get("flowhook-execution-id"),
    finalUrl,
  };
}

function newTrace(): string {
  return crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((hex, byte) => hex + byte.toString(16).padStart(2, "0"), "");
}

/** The execution whose input has the trace: other calls of the webhook may come at the same time. */
async function findByTrace(webhook: string, trace: string, since: Date): Promise<ExecutionSummary> {
  let cursor: string | undefined;
  for (let pages = 0; pages < 5; pages += 1) {
    const page = await read<List<ExecutionSummary>>(["execution"], {
      webhook,
      limit: "20",
      cursor,
    });
    for (const item of page.items) {
      if (Date.parse(item.created_at) < since.getTime() - 60_000) break;
      const { input_value } = await read<Execution>(["execution", item.id]);
      if (traceOf(input_value) === trace) return item;
    }
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  throw new Error("The call was accepted, but its execution was not found among the newest ones");
}

function traceOf(input: unknown): string | null {
  const { headers } = input as { headers?: Record<string, string> };
  return headers?.["traceparent"] ?? null;
}
