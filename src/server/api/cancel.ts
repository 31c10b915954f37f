import { CANCEL, CANCELLED, EXECUTION, type Cancelled } from "../../shared/contract/execution.ts";
import type { Principal } from "../access/login.ts";
import { isEnded, UNENDED } from "../../shared/contract/status.ts";
import type { ActiveExecution } from "../executions/active.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { listExecutions, type ExecutionFilter } from "../store/execution-lists.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecution } from "../store/executions.ts";
import { isVisible, requireIn, visibleProjects } from "./access.ts";
import type { Api } from "./api.ts";
import { answerExecution, requireExecution } from "./execution.ts";
import { defineRoute } from "./route.ts";

/** Executions that are looked for at once. */
const PAGE = 500;
/** Those that begin so soon after the request fit its filter too; milliseconds. */
const CHASE_MS = 1000;

export const cancelExecution = defineRoute({
  method: "POST",
  path: "/execution/:id/cancel",
  summary: "Cancel an execution that has not ended",
  needs: "execution.cancel",
  action: "execution.cancel",
  answer: EXECUTION,
  async act(api, { principal, params }) {
    const row = await requireExecution(api, principal, params["id"] ?? "");
    requireIn(principal, "execution.cancel", row.project_id);
    const live = isEnded(row.status) ? undefined : api.executions.findAnywhere(row);
    const isCancelled = live !== undefined && (await cancel(api, principal, live));
    const ended = (await findExecution(api.store, row.id)) as ExecutionRow;
    if (!isCancelled)
      throw new RequestError("already_ended", `The execution has ended as ${ended.status} already`);
    return { status: 200, text: await answerExecution(api, ended) };
  },
});

/** Whoever filled the queue is stopped by one call (contract, section 7, number 2). */
export const cancelExecutions = defineRoute({
  method: "POST",
  path: "/execution/cancel",
  summary: "Cancel all executions that have not ended and fit a filter",
  needs: "execution.cancel",
  action: "execution.cancel",
  body: CANCEL,
  example: { filter: { webhook: "orders", status: "PENDING" } },
  answer: CANCELLED,
  async act(api, { principal, body }) {
    const { status, ...filter } = body.filter;
    const query = {
      ...filter,
      statuses: status === undefined ? UNENDED : [status],
      projectIds: visibleProjects(principal, "execution.cancel"),
      to: now() + CHASE_MS,
      limit: PAGE,
    };
    const told = await cancelAll(api, principal, query);
    const changes = Object.entries({ filter: body.filter, ...told });
    return {
      status: 200,
      body: told,
      changes: changes.map(([member, to]) => ({ member, from: null, to })),
    };
  },
});

/** Looks until nothing new is found: what was cancelled last may have started others before. */
async function cancelAll(
  api: Api,
  principal: Principal,
  query: ExecutionFilter,
): Promise<Cancelled> {
  const found = new Set<string>();
  let cancelled = 0;
  for (let before = -1; found.size > before;) {
    before = found.size;
    const cancels: Promise<boolean>[] = [];
    for await (const row of listAll(api, query)) {
      const { id, project_id } = row;
      if (found.has(id) || !isVisible(principal, "execution.read", project_id)) continue;
      found.add(id);
      const live = api.executions.findAnywhere(row);
      if (live !== undefined) cancels.push(cancel(api, principal, live));
    }
    cancelled += (await Promise.all(cancels)).filter(Boolean).length;
  }
  return { matched: found.size, cancelled };
}

async function* listAll(api: Api, query: ExecutionFilter): AsyncGenerator<ExecutionRow> {
  for (let after: string | undefined; ;) {
    const rows = await listExecutions(api.store, { ...query, after });
    yield* rows;
    after = rows.at(-1)?.id;
    if (rows.length < PAGE) return;
  }
}

/** Resolves once it has ended, by this or otherwise. @returns false where that was decided before */
async function cancel(
  { executions }: Api,
  { user_name }: Principal,
  live: ActiveExecution,
): Promise<boolean> {
  executions.watchers.add(live);
  try {
    const isCancelled = await executions.cancel(live.id, `Cancelled by the user ${user_name}`);
    if (isCancelled || live.decided !== null) await live.ended;
    return isCancelled;
  } finally {
    executions.watchers.delete(live);
  }
}
