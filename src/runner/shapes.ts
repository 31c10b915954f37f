import { isEnding, isLine, isRecord, isRequest, isText, type FromRunner } from "./protocol.ts";

/** Shapes of what comes over the wall: a flow may have taken over the side that sent it. */

const KINDS = new Set<unknown>(["flow", "module", "broken"]);

type Check = (message: Record<string, unknown>) => boolean;

const CHECKS: Readonly<Record<string, Check>> = {
  ready: () => true,
  refused: ({ message }) => isText(message),
  ended: ({ id, ending }) => isText(id) && isEnding(ending),
  returned: ({ id }) => isText(id),
  log: ({ id, lines }) => isText(id) && Array.isArray(lines) && lines.every(isLine),
  operation: ({ number, request }) => Number.isSafeInteger(number) && isRequest(request),
  inspected: ({ number, inspection }) => Number.isSafeInteger(number) && isInspection(inspection),
  beat: ({ rss_bytes, threads, native_wait_ms }) =>
    [rss_bytes, threads, native_wait_ms].every(Number.isSafeInteger),
  stuck: ({ key }) => isText(key),
};

export function isFromRunner(value: unknown): value is FromRunner {
  if (!isRecord(value) || typeof value["type"] !== "string") return false;
  return Object.hasOwn(CHECKS, value["type"]) && CHECKS[value["type"]]?.(value) === true;
}

function isInspection(value: unknown): boolean {
  if (!isRecord(value) || !KINDS.has(value["kind"])) return false;
  if (value["kind"] === "flow") return isRecord(value["manifest"]);
  return value["kind"] === "module" || isText(value["message"]);
}
