import type { FlowSpec } from "../runner/protocol.ts";
import type { Trace } from "../lib/trace.ts";
import type { Outcome } from "./outcome.ts";

/** An execution between its commit and its end, and who waits on it. */
export interface LiveExecution {
  readonly id: string;
  readonly flow: string;
  /** The version that it runs; null where the flow was not there. */
  readonly spec: FlowSpec | null;
  readonly webhook_id: string | null;
  readonly is_async: boolean;
  /** The request that started it, for the log; null without one. */
  readonly trace: Trace | null;
  /** Settles after the commit of the ending; never rejects. */
  readonly ended: Promise<Outcome>;
  /** Once set, the ending is decided: what the flow still does changes nothing. */
  decided: Outcome | null;
  /** Requests that wait on it now. */
  watchers: number;
  /** Tells the waiting: the ending is committed. */
  settle(outcome: Outcome): void;
}

/** The executions that are waiting for a thread or running. */
export type LiveExecutions = Map<string, LiveExecution>;

export function newLive(
  from: Pick<LiveExecution, "id" | "flow" | "spec" | "webhook_id" | "is_async" | "trace">,
): LiveExecution {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  return { ...from, ended: promise, decided: null, watchers: 0, settle: resolve };
}
