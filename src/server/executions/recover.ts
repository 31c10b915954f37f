import { now } from "../../shared/clock.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { Store } from "../store/store.ts";
import { INTERRUPTED, interruptRunning, listUnended } from "../store/unended.ts";
import type { Executions } from "./executions.ts";
import type { ReportInterrupted } from "../store/interrupted.ts";
import type { StartRequest } from "./start-request.ts";

/** Executions read at once. */
const PAGE = 500;

/**
 * Puts in order what the last stop left: what had started ends as interrupted, because a flow is
 * never run twice silently; what had not started is queued again.
 */
export async function recover(options: {
  store: Store;
  executions: Executions;
  findFlow: (name: string, version: string | null) => Promise<StartRequest["flow"]>;
  reportInterrupted: ReportInterrupted;
}): Promise<{ interrupted: number; resumed: number }> {
  const { store, executions, findFlow } = options;
  const running = await Array.fromAsync(readUnended(store, "RUNNING"));
  const [interrupted = 0] = await store.commit([interruptRunning(store, now())]);
  options.reportInterrupted(running.map((row) => ({ ...row, status_message: INTERRUPTED })));
  let resumed = 0;
  for await (const row of readUnended(store, "PENDING")) {
    if (executions.find(row.id) !== undefined) continue;
    executions.resume(row, await findFlow(row.flow, row.flow_version));
    resumed += 1;
  }
  return { interrupted, resumed };
}

/** The oldest first. */
async function* readUnended(
  store: Store,
  status: "PENDING" | "RUNNING",
): AsyncGenerator<ExecutionRow> {
  let after = "";
  for (;;) {
    const rows = await listUnended(store, status, { after, limit: PAGE });
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id ?? "";
  }
}
