import { STATUS } from "../../shared/contract/status.ts";
import { toLogText, type Log } from "../../shared/log.ts";
import type { Meters } from "../metrics/meters.ts";
import type { ActiveExecution } from "./active.ts";
import type { Outcome } from "./outcome.ts";

export interface EndingReportOptions {
  readonly log: Log;
  readonly meters: Pick<Meters, "countEnding">;
  /** LOG_CALLS: a success is worth a line at level info. */
  readonly hasCalls: boolean;
  /** LOG_MESSAGES: lines hold the status message, which is the flow's own text. */
  readonly hasMessages: boolean;
}

/** @param endedAt as it is recorded, in milliseconds since the epoch */
export type ReportEnding = (execution: ActiveExecution, outcome: Outcome, endedAt: number) => void;

/**
 * Tells of each execution that ends: in its webhook's figures, and in the log with one line at a
 * level that says how bad it is.
 */
export function openEndingReport(options: EndingReportOptions): ReportEnding {
  const { log, meters, hasCalls, hasMessages } = options;
  return (execution, outcome, endedAt) => {
    const { id, flow, row, trace, givenAt } = execution;
    const { webhook, address } = row;
    const { status } = outcome;
    const runMs = givenAt === null ? null : endedAt - givenAt;
    const waitMs = (givenAt ?? endedAt) - row.created_at;
    meters.countEnding({ webhook, status, waitMs, runMs });
    const level = levelOf(status, hasCalls);
    if (!log.isLevelEnabled(level)) return;
    const members = {
      execution: id,
      webhook,
      flow,
      status,
      ...(hasMessages && toWords(execution, outcome)),
      duration_ms: runMs,
      wait_ms: waitMs,
      address,
      ...trace,
    };
    log[level](members, STATUS[status].isFailure ? "Execution failed" : "Execution ended");
  };
}

function levelOf(status: Outcome["status"], hasCalls: boolean): "debug" | "info" | "warn" {
  if (STATUS[status].isFailure) return "warn";
  return status === "ENDED_CANCELLED" || hasCalls ? "info" : "debug";
}

/** What the flow said of it, and where. */
function toWords({ place }: ActiveExecution, { status, status_message }: Outcome): object {
  const message = status_message === null ? null : toLogText(status_message);
  return place !== null && status === "ENDED_ERROR"
    ? { message, place: toLogText(place) }
    : { message };
}
