import { now } from "../../shared/clock.ts";
import { STATUS } from "../../shared/contract/status.ts";
import { toLogText, type Log } from "../../shared/log.ts";
import type { ActiveExecution } from "./active.ts";
import type { Outcome } from "./outcome.ts";

export interface EndingLogOptions {
  readonly log: Log;
  /** LOG_CALLS: a success is worth a line at level info. */
  readonly hasCalls: boolean;
  /** LOG_MESSAGES: lines hold the status message, which is the flow's own text. */
  readonly hasMessages: boolean;
}

export type LogEnding = (execution: ActiveExecution, outcome: Outcome) => void;

/** One line for each execution that ends, at a level that says how bad it is. */
export function openEndingLog({ log, hasCalls, hasMessages }: EndingLogOptions): LogEnding {
  return (execution, outcome) => {
    const level = levelOf(outcome, hasCalls);
    if (!log.isLevelEnabled(level)) return;
    const { id, flow, row, trace, startedAt } = execution;
    const endedAt = now();
    const members = {
      execution: id,
      webhook: row.webhook,
      flow,
      status: outcome.status,
      ...(hasMessages && { message: textOf(outcome) }),
      duration_ms: startedAt === null ? null : endedAt - startedAt,
      wait_ms: (startedAt ?? endedAt) - row.created_at,
      address: row.address,
      ...trace,
    };
    log[level](members, STATUS[outcome.status].isFailure ? "Execution failed" : "Execution ended");
  };
}

function levelOf({ status }: Outcome, hasCalls: boolean): "debug" | "info" | "warn" {
  if (STATUS[status].isFailure) return "warn";
  return status === "ENDED_CANCELLED" || hasCalls ? "info" : "debug";
}

function textOf({ status_message }: Outcome): string | null {
  return status_message === null ? null : toLogText(status_message);
}
