import { read, type List } from "./api.ts";
import type { Execution, ExecutionSummary } from "./resources.ts";

/** How often the execution of a call is looked for that is not answered yet, in milliseconds. */
const POLL_MS = 500;

/** The id of the execution of a call; null: it is not among the newest ones. */
type Search = () => Promise<string | null>;

/** By the trace in its input: other calls of the webhook may come at the same time. */
export function openSearch(webhook: string, trace: string, since: Date): Search {
  // Each is read once: inputs do not change.
  const others = new Set<string>();
  const isIt = async ({ id }: ExecutionSummary): Promise<boolean> => {
    if (others.has(id)) return false;
    const { input_value } = await read<Execution>(["execution", id]);
    if (traceOf(input_value) === trace) return true;
    others.add(id);
    return false;
  };
  return async () => {
    let cursor: string | undefined;
    for (let pages = 0; pages < 5; pages += 1) {
      const query = { webhook, limit: "20", cursor };
      const page: List<ExecutionSummary> = await read(["execution"], query);
      for (const item of page.items) {
        if (Date.parse(item.created_at) < since.getTime() - 60_000) return null;
        if (await isIt(item)) return item.id;
      }
      if (page.next_cursor === null) return null;
      cursor = page.next_cursor;
    }
    return null;
  };
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

function traceOf(input: unknown): string | null {
  const { headers } = input as { headers?: Record<string, string> };
  return headers?.["traceparent"] ?? null;
}
