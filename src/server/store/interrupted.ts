import type { ExecutionRow } from "./execution-row.ts";

/** What is told of an execution that ended because what ran it went away. */
export const INTERRUPTED_COLUMNS = [
  "id",
  "flow",
  "webhook",
  "status_message",
  "address",
  "created_at",
  "started_at",
] as const satisfies (keyof ExecutionRow)[];

export type Interrupted = Pick<ExecutionRow, (typeof INTERRUPTED_COLUMNS)[number]>;

export type ReportInterrupted = (executions: readonly Interrupted[]) => void;
