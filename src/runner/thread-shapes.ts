import { isRecord } from "../shared/wire/protocol.ts";
import type { TaskResult } from "../shared/wire/thread-messages.ts";

/** A flow that got hold of its thread's channel could send anything as its task's result. */
export function isTaskResult(value: unknown): value is TaskResult {
  if (!isRecord(value) || value["type"] !== "inspected") return false;
  return isRecord(value["inspection"]) && isWithheld(value["lacking"]);
}

function isWithheld(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return typeof value["files"] === "boolean" && typeof value["net"] === "boolean";
}
