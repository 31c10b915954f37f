import type { FlowSpec } from "../runner/protocol.ts";
import type { Trace } from "../lib/trace.ts";
import type { ExecutionRow } from "../store/executions.ts";
import type { Outcome } from "./outcome.ts";
import type { RunnableFlow } from "./start-request.ts";

/** An execution between its commit and its end, and who waits on it. */
export interface LiveExecution {
  readonly id: string;
  readonly flow: string;
  /** The version that it runs; null where the flow was not there. */
  readonly spec: FlowSpec | null;
  readonly timeout_ms: number;
  readonly webhook_id: string | null;
  readonly is_async: boolean;
  /** What a thread is told of it, as JSON text. */
  readonly facts: string;
  /** The request that started it, for the log; null without one. */
  readonly trace: Trace | null;
  /** Settles after the commit of the ending; never rejects. */
  readonly ended: Promise<Outcome>;
  /** Once set, the ending is decided: what the flow still does changes nothing. */
  decided: Outcome | null;
  /** Requests that wait on it now. */
  watchers: number;
  /** Executions that it has started. */
  children: number;
  /** Tells the waiting: the ending is committed. */
  settle(outcome: Outcome): void;
}

export function newLive(
  row: ExecutionRow,
  flow: RunnableFlow | undefined,
  trace: Trace | null,
): LiveExecution {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const { id, webhook, project_id } = row;
  const is_productive = row.is_productive === 1;
  return {
    id,
    flow: row.flow,
    spec: flow?.spec ?? null,
    timeout_ms: flow?.timeout_ms ?? 0,
    webhook_id: row.webhook_id,
    is_async: row.is_async === 1,
    facts: JSON.stringify({ id, webhook, flow: row.flow, is_productive, project_id }),
    trace,
    ended: promise,
    decided: null,
    watchers: 0,
    children: 0,
    settle: resolve,
  };
}
