import { read, type List } from "./api.ts";
import type { Execution, ExecutionSummary } from "./resources.ts";

/** How often the execution of a call is looked for that is not answered yet, in milliseconds. */
const POLL_MS = 500;

/** How far the clocks of nodes may differ, in milliseconds: more is an alert. */
const CLOCKS_MS = 1000;

/** The id of the execution of a call; null: it is not among the first ones since the search began. */
type Search = () => Promise<string | null>;

/**
 * Begins before the call is sent. Of what comes after the newest execution by then, the oldest are
 * looked at first: however busy the webhook is, few are before the one of the call, which is known by
 * the trace in its input.
 */
export async function openSearch(webhook: string, trace: string): Promise<Search> {
  const known = await readNewest(webhook);
  const from = known[0] && beginningAfter(known[0]);
  // Each is read once: inputs do not change.
  const others = new Set(known.map(({ id }) => id));
  const isIt = async ({ id }: ExecutionSummary): Promise<boolean> => {
    const { input_value } = await read<Execution>(["execution", id]);
    if (traceOf(input_value) === trace) return true;
    others.add(id);
    return false;
  };
  return async () => {
    let cursor: string | undefined;
    for (let pages = 0; pages < 5;) {
      const query = { webhook, from, order: "asc", limit: "100", cursor };
      const page: List<ExecutionSummary> = await read(["execution"], query);
      const unknown = page.items.filter(({ id }) => !others.has(id));
      for (const item of unknown) if (await isIt(item)) return item.id;
      if (page.next_cursor === null) return null;
      cursor = page.next_cursor;
      if (unknown.length > 0) pages += 1;
    }
    return null;
  };
}

/** As many as one answer has, newest first: the clocks of nodes differ, so the search begins before them. */
async function readNewest(webhook: string): Promise<readonly ExecutionSummary[]> {
  const query = { webhook, limit: "100" };
  return (await read<List<ExecutionSummary>>(["execution"], query)).items;
}

/** From when on what comes later is listed, by the clock of the service, in ISO 8601. */
function beginningAfter({ node, created_at }: ExecutionSummary): string {
  const early = node === null ? 0 : CLOCKS_MS;
  return new Date(Date.parse(created_at) - early).toISOString();
}

/**
 * Looks for the execution of a call while it is under way, and tells it.
 *
 * @returns null: it was not found before the answer
 */
export async function pollFor(
  search: Search,
  answered: AbortSignal,
  tell: (id: string) => void,
): Promise<string | null> {
  for (;;) {
    await pass(POLL_MS, answered);
    if (answered.aborted) return null;
    // What cannot be read now is there the next time, or the call itself says what is wrong.
    const id = await search().catch(() => null);
    if (id === null) continue;
    if (!answered.aborted) tell(id);
    return id;
  }
}

/** Waits so many milliseconds, or until the signal comes. */
function pass(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const end = (): void => resolve();
  signal.addEventListener("abort", end);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  });
}

/** Headers with a trace, and that one; a caller who names one already keeps it. */
export function withTrace(given: Headers): [headers: Headers, trace: string] {
  const headers = new Headers(given);
  const id = newId();
  const trace = headers.get("traceparent") ?? `00-${id}-${id.slice(16)}-01`;
  headers.set("traceparent", trace);
  return [headers, trace];
}

function newId(): string {
  return crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((hex, byte) => hex + byte.toString(16).padStart(2, "0"), "");
}

/** The trace that came with a call; null: there was none. */
export function traceOf(input: unknown): string | null {
  const { headers } = input as { headers?: Record<string, string> };
  return headers?.["traceparent"] ?? null;
}
