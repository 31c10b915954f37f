import { isEnding, isLine, isRecord, isRequest } from "../runner/protocol.ts";
import type { FromThread, TaskResult } from "./thread-messages.ts";

/**
 * Shapes of what a thread sends. A flow that got hold of its thread's channel could send
 * anything: what has no known shape is dropped.
 */

export function isFromThread(value: unknown): value is FromThread {
  if (!isRecord(value)) return false;
  const { type, id, number } = value;
  if (type === "log") return typeof id === "string" && isLine(value["line"]);
  if (type === "ran" || type === "ended")
    return typeof id === "string" && isEnding(value["ending"]);
  return type === "operation" && Number.isSafeInteger(number) && isRequest(value["request"]);
}

export function isTaskResult(value: unknown): value is TaskResult {
  if (!isRecord(value)) return false;
  const { type, id, ending, lines, mean_ms, inspection } = value;
  if (type === "ended")
    return (
      typeof id === "string" &&
      isEnding(ending) &&
      Number.isSafeInteger(lines) &&
      Number.isFinite(mean_ms)
    );
  return type === "inspected" && isRecord(inspection);
}
