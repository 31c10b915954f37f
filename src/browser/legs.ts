import { read, requireVisitor } from "./api.ts";
import { openSearch, pollFor, traceOf, withTrace } from "./call-search.ts";
import { may } from "./page.ts";
import type { Execution } from "./resources.ts";

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
  /** Whether it is certain that it carries an idempotency key: sent again, it starts nothing. */
  readonly isIdempotent: boolean;
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly executionId: string | null;
  /** Where the final leg can be asked for again; null where there was none. */
  readonly finalUrl: string | null;
  /** Whether it is the answer of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
}

/** More legs than any call has: an hour of poll windows. */
const MOST_LEGS = 200;

/** What there is to tell of a call before its answer. */
export interface CallProgress {
  readonly onLeg: (leg: Leg) => void;
  /** As soon as the execution is known; never where the visitor may not see it. */
  readonly onExecution: (id: string) => void;
}

/**
 * Makes a call leg by leg. Browsers follow redirects unseen, or stop at them unseen, so the first
 * leg stops, its execution is found by the trace that the request carried, and the following legs
 * are asked for by its identifier, as the redirect would have asked. A leg that is held has its
 * execution looked for meanwhile.
 */
export async function callByLegs(
  request: CallRequest,
  progress: CallProgress,
): Promise<CallAnswer> {
  await requireVisitor();
  const [headers, trace] = withTrace(request.headers);
  // What cannot be looked for is called all the same.
  const search = may("execution.read")
    ? await openSearch(request.webhook, trace).catch(() => null)
    : null;
  if (search === null) return callWhole(request, performance.now(), progress.onLeg);
  const traced = { ...request, headers };
  const start = performance.now();
  const answered = new AbortController();
  const found = pollFor(search, answered.signal, progress.onExecution);
  const answer = await callFirst(traced, start, progress.onLeg).finally(() => answered.abort());
  if (answer !== null) return answer;
  const own = (await found) ?? (await search());
  const id = own ?? (request.isIdempotent ? await askAgain(traced) : null);
  if (id === null) throw new Error(NOT_FOUND);
  progress.onExecution(id);
  const last = await follow(request, id, start, progress.onLeg);
  return own === null ? { ...last, isReplayed: !(await isOf(trace, id)) } : last;
}

/** An execution that an earlier call has started does not know the trace: the service tells which it is. */
async function askAgain({ url, method, headers, body }: CallRequest): Promise<string | null> {
  const target = new URL(url);
  target.searchParams.append("async", "");
  const response = await fetch(target, { method, headers, body });
  return response.ok ? response.headers.get(EXECUTION_ID) : null;
}

/** Whether a call with this trace has started it. */
async function isOf(trace: string, id: string): Promise<boolean> {
  return traceOf((await read<Execution>(["execution", id])).input_value) === trace;
}

/** @returns null: the call is redirected */
async function callFirst(
  request: CallRequest,
  start: number,
  onLeg: (leg: Leg) => void,
): Promise<CallAnswer | null> {
  if (!request.canFollow) return callWhole(request, start, onLeg);
  const { url, method, headers, body } = request;
  const { leg, response } = await timed("First leg", start, () =>
    fetch(url, { method, headers, body, redirect: "manual" }),
  );
  const isRedirected = response.type === "opaqueredirect";
  onLeg(isRedirected ? { ...leg, status: 303 } : { ...leg, what: "Answer" });
  return isRedirected ? null : toAnswer(response, null);
}

const NOT_FOUND =
  "The call was accepted, but its execution was not found among those that came after it was sent";

const EXECUTION_ID = "flowhook-execution-id";

/** The browser follows, which sees each Location and shows none: the legs are one. */
async function callWhole(
  request: CallRequest,
  start: number,
  onLeg: (leg: Leg) => void,
): Promise<CallAnswer> {
  const { url, method, headers, body } = request;
  const send = () => fetch(url, { method, headers, body });
  const { leg, response } = await timed("All legs", start, send);
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
  return {
    status: response.status,
    headers,
    text,
    executionId: id,
    finalUrl: null,
    isReplayed: false,
  };
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
    executionId: response.headers.get(EXECUTION_ID),
    finalUrl,
    isReplayed: response.headers.get("idempotent-replayed") === "true",
  };
}
