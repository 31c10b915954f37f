import { filtersOfAddress, type Filters } from "./filters.tsx";
import type { ExecutionSummary } from "./resources.ts";

/** The filters that the address of a list may have, as the API names them, with their labels. */
export const EXECUTION_FILTERS = [
  ["status", "Status"],
  ["text", "Text"],
  ["webhook", "Webhook"],
  ["flow", "Flow"],
  ["project_id", "Project"],
  ["parent_id", "Started by execution"],
  ["replay_of", "Replay of"],
  ["role", "Role"],
  ["created_by", "Started by user"],
  ["from", "From"],
  ["to", "Until"],
] as const;

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

/** Filters that are a member of an execution as it is. */
const EQUAL = ["webhook", "flow", "project_id", "parent_id", "replay_of", "role"] as const;

const TIMES: readonly string[] = ["from", "to"];

const DECIDED: readonly string[] = [...EQUAL, "status", "text", ...TIMES];

/** The filters of the address that the list has; a time that is none filters nothing. */
export function executionFiltersOfAddress(): Filters {
  const filters = Object.entries(filtersOfAddress(EXECUTION_FILTERS.map(([name]) => name)));
  const isRead = ([name, value]: readonly [string, string]) =>
    !TIMES.includes(name) || !Number.isNaN(Date.parse(value));
  return Object.fromEntries(filters.filter(isRead));
}

/** Whether all that a query asks for can be told from an execution; the address may name more. */
export function canDecide(query: Filters): boolean {
  return Object.keys(query).every((name) => DECIDED.includes(name));
}

/** Whether an execution is in the list of a query that can be decided. */
export function matches(execution: ExecutionSummary, query: Filters): boolean {
  const { status, text, from, to } = query;
  if (EQUAL.some((name) => query[name] && execution[name] !== query[name])) return false;
  if (status && !status.split(",").includes(execution.status)) return false;
  if (from && execution.created_at < from) return false;
  if (to && execution.created_at >= to) return false;
  const message = execution.status_message?.toLowerCase() ?? "";
  return !text || message.includes(text.toLowerCase());
}
