/** The states of an execution and the transitions between them (contract, section 2). */

export const STATUSES = [
  "PENDING",
  "RUNNING",
  "ENDED_SUCCESS",
  "ENDED_ERROR",
  "ENDED_TIMEOUT",
  "ENDED_CANCELLED",
] as const;

export type Status = (typeof STATUSES)[number];

export type EndedStatus = Exclude<Status, "PENDING" | "RUNNING">;

export function isEnded(status: string): status is EndedStatus {
  return status.startsWith("ENDED_");
}
