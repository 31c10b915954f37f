import type { Log } from "../../shared/log.ts";
import type { Meters } from "../metrics/meters.ts";
import type { Interrupted, ReportInterrupted } from "../store/interrupted.ts";

/** Told with a line each, of those that were interrupted at once. */
const MOST_LINES = 1000;

/** Tells of what a crash has ended as `ReportEnding` tells of what ends by itself. */
export function openInterruptionReport(
  log: Log,
  meters: Pick<Meters, "countInterruption">,
): ReportInterrupted {
  return (executions) => {
    for (const { webhook, created_at, started_at } of executions)
      meters.countInterruption(webhook, (started_at ?? created_at) - created_at);
    for (const one of executions.slice(0, MOST_LINES)) log.warn(toMembers(one), "Execution failed");
    const untold = executions.length - MOST_LINES;
    if (untold > 0) log.warn({ executions: untold }, "As many more were interrupted as well");
  };
}

/** When it was interrupted nobody knows: it has no duration. */
function toMembers({ id, webhook, flow, ...rest }: Interrupted): object {
  return {
    execution: id,
    webhook,
    flow,
    status: "ENDED_ERROR",
    message: rest.status_message,
    duration_ms: null,
    wait_ms: (rest.started_at ?? rest.created_at) - rest.created_at,
    address: rest.address,
  };
}
