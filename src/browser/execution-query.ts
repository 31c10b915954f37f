import type { Filters } from "./filters.tsx";
import type { ExecutionSummary } from "./resources.ts";

/** The filters of a list of executions as the API takes them: an address may have local times. */
export function toQuery(filters: Filters): Filters {
  const { from, to, ...others } = filters;
  return { ...others, ...toIso("from", from), ...toIso("to", to) };
}

/** Without a zone, the visitor's own time. */
function toIso(name: string, local = ""): Filters {
  const at = Date.parse(local);
  return Number.isNaN(at) ? {} : { [name]: new Date(at).toISOString() };
}

/** Whether an execution is in the list of a query. */
export function matches(execution: ExecutionSummary, query: Filters): boolean {
  const { status, webhook, flow, project_id, text, from, to } = query;
  if (status && !status.split(",").includes(execution.status)) return false;
  if (webhook && execution.webhook !== webhook) return false;
  if (flow && execution.flow !== flow) return false;
  if (project_id && execution.project_id !== project_id) return false;
  if (from && execution.created_at < from) return false;
  if (to && execution.created_at >= to) return false;
  const message = execution.status_message?.toLowerCase() ?? "";
  return !text || message.includes(text.toLowerCase());
}
