import { isRecord, isText, type FromRunner } from "../../shared/wire/protocol.ts";

/** Shapes of what comes over the wall: a flow may have taken over the side that sent it. */

const KINDS = new Set<unknown>(["flow", "module", "broken"]);

type Check = (message: Record<string, unknown>) => boolean;

const CHECKS: Readonly<Record<FromRunner["type"], Check>> = {
  ready: () => true,
  refused: ({ message }) => isText(message),
  inspected: ({ number, inspection }) => isCount(number) && isInspection(inspection),
  stuck: () => true,
  heartbeat: ({ rss_bytes, native_wait_ms, native_load, restless }) =>
    [rss_bytes, native_wait_ms, native_load].every(isCount) &&
    Array.isArray(restless) &&
    restless.every(isCount),
  started: ({ thread }) => isCount(thread),
  told: ({ thread, text }) => isCount(thread) && isText(text),
  recalled: ({ thread, begun }) => isCount(thread) && isCount(begun),
  exited: ({ thread, begun, message }) => isCount(thread) && isCount(begun) && isText(message),
};

export function isFromRunner(value: unknown): value is FromRunner {
  if (!isRecord(value) || typeof value["type"] !== "string") return false;
  if (!Object.hasOwn(CHECKS, value["type"])) return false;
  return CHECKS[value["type"] as FromRunner["type"]](value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isInspection(value: unknown): boolean {
  if (!isRecord(value) || !KINDS.has(value["kind"])) return false;
  if (value["kind"] === "flow") return isRecord(value["manifest"]);
  return value["kind"] === "module" || isText(value["message"]);
}
