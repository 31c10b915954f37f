import { now } from "../../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { interruptRunning, listUnended } from "../store/unended.ts";
import type { Executions } from "./executions.ts";
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
}): Promise<{ interrupted: number; resumed: number }> {
  const { store, executions, findFlow } = options;
  const [interrupted = 0] = await store.commit([interruptRunning(store, now())]);
  let resumed = 0;
  let after = "";
  for (;;) {
    const rows = await listUnended(store, "PENDING", { after, limit: PAGE });
    for (const row of rows) {
      if (executions.find(row.id) !== undefined) continue;
      executions.resume(row, await findFlow(row.flow, row.flow_version));
      resumed += 1;
    }
    if (rows.length < PAGE) return { interrupted, resumed };
    after = rows.at(-1)?.id ?? "";
  }
}
