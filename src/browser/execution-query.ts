import { filtersOfAddress, quote, unknownOfAddress, type Filters } from "./filters.tsx";
import { STATUS, STATUSES } from "../shared/contract/status.ts";
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

const NAMES = EXECUTION_FILTERS.map(([name]) => name);

/** The filters as the API takes them: an address may have days, and local times. */
export function toQuery(filters: Filters): Filters {
  const times = TIMES.map((name) => [name, toInstant(name, filters[name] ?? "")]);
  const known = times.filter(([, instant]) => instant !== null);
  const others = Object.entries(filters).filter(([name]) => !isTime(name));
  return Object.fromEntries([...others, ...known]) as Filters;
}

/** Filters that are a member of an execution as it is. */
const EQUAL = ["webhook", "flow", "project_id", "parent_id", "replay_of", "role"] as const;

const TIMES = ["from", "to"] as const;

type TimeFilter = (typeof TIMES)[number];

export function isTime(name: string): name is TimeFilter {
  return TIMES.some((time) => time === name);
}

/** Whether a time of the address is a day as a whole. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text);
}

/**
 * The moment from which, or before which, executions are listed: a day counts from its beginning
 * or to its end. Without a zone it is of the visitor's own.
 *
 * @returns in UTC; null: it is no day and no time
 */
export function toInstant(name: TimeFilter, text: string): string | null {
  const at = new Date(isDay(text) ? `${text}T00:00` : text);
  if (Number.isNaN(at.getTime()) || !beginsWithDay(text)) return null;
  if (name === "to" && isDay(text)) at.setHours(24, 0, 0, 0);
  return at.toISOString();
}

/** Browsers take the 30th of February for a day of March. */
function beginsWithDay(text: string): boolean {
  const day = text.slice(0, "2026-01-31".length);
  return isDay(day) && new Date(`${day}T00:00Z`).getUTCDate() === Number(day.slice(-2));
}

/** What a time may be, to be said where it is none. */
export const TIME_EXPECTED = "expected a day or a time, 2026-01-31 or 2026-01-31T16:30";

/** What a status may be called, to be said where something else was typed. */
const STATUSES_EXPECTED = `expected one of ${STATUSES.map((status) => STATUS[status].label).join(", ")}`;

/**
 * Statuses as the API names them, of their labels or of those names, with commas between them:
 * `failed,timed-out`.
 *
 * @throws Error where one is none
 */
export function toStatuses(text: string): string {
  const found = text.split(",").map((one) => {
    const status = STATUSES.find((known) =>
      [known, STATUS[known].label].some((name) => lettersOf(name) === lettersOf(one)),
    );
    if (status === undefined) throw new Error(`"status:${one.trim()}": ${STATUSES_EXPECTED}`);
    return status;
  });
  return [...new Set(found)].join(",");
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, "");
}

/** What is wrong with the filters of the address that the list has not, and each time that is none. */
export function wrongsOfAddress(): readonly string[] {
  const times = Object.entries(filtersOfAddress(TIMES))
    .filter(([name, text]) => text !== "" && isTime(name) && toInstant(name, text) === null)
    .map((filter) => `${quote(filter)} of the address filters nothing: ${TIME_EXPECTED}`);
  return [...unknownOfAddress(NAMES), ...times];
}

/**
 * The filters of the address that the list has; a time that is none filters nothing.
 *
 * @param search of another address than that of the page
 */
export function executionFiltersOfAddress(search = location.search): Filters {
  const filters = Object.entries(filtersOfAddress(NAMES, search));
  const isRead = ([name, value]: readonly [string, string]) =>
    !isTime(name) || toInstant(name, value) !== null;
  return Object.fromEntries(filters.filter(isRead));
}

/** All but who started it, which the API takes as a name as well. */
const DECIDED: readonly string[] = [...EQUAL, "status", "text", ...TIMES];

/** Texts beyond are found by the service in more ways of writing them: `é` is one character, or two. */
const ASCII = /^[\x20-\x7e]*$/;

/** Whether all that a query asks for can be told from an execution; the address may name more. */
export function canDecide(query: Filters): boolean {
  return (
    Object.keys(query).every((name) => DECIDED.includes(name)) && ASCII.test(query["text"] ?? "")
  );
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
