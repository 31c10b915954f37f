import { isEnding, isLine, isRecord, isRequest } from "../shared/wire/protocol.ts";
import type { FromThread, TaskResult } from "../shared/wire/thread-messages.ts";

/**
 * Shapes of what a thread sends. A flow that got hold of its thread's channel could send
 * anything: what has no known shape is dropped.
 */

export function isFromThread(value: unknown): value is FromThread {
  if (!isRecord(value)) return false;
  const { type, id, number } = value;
  if (type === "log") return typeof id === "string" && isLine(value["line"]);
  if (type === "ended") return typeof id === "string" && isTold(value);
  return type === "operation" && Number.isSafeInteger(number) && isRequest(value["request"]);
}

function isTold({ ending, ms, is_last }: Record<string, unknown>): boolean {
  const isTime = Number.isFinite(ms) && (ms as number) >= 0;
  return isEnding(ending) && isTime && typeof is_last === "boolean";
}

export function isTaskResult(value: unknown): value is TaskResult {
  return isRecord(value) && value["type"] === "inspected" && isRecord(value["inspection"]);
}
