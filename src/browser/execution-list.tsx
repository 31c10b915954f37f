import { isEnded } from "../shared/contract/status.ts";
import { between, duration } from "./format.ts";
import { executionFiltersOfAddress } from "./execution-query.ts";
import { pathOf } from "./neighbours.tsx";
import { pagePath } from "./page.ts";
import type { ExecutionSummary } from "./resources.ts";
import { StatusBadge } from "./status.tsx";
import { NamedCell, type Column } from "./table.tsx";
import { Elapsed, TimeAgo } from "./time.tsx";
import { Said } from "./said.tsx";

/** An execution in a list: status, what was called, what it said, when, and how long it took. */
export const EXECUTION_COLUMNS: readonly Column<ExecutionSummary>[] = [
  ["Status", ({ status }) => <StatusBadge status={status} />],
  ["Called", (execution) => <Called execution={execution} />, "head"],
  ["Message", ({ status_message }) => <Message of={status_message} />, "wide said"],
  ["When", (execution) => <When execution={execution} />],
  ["Took", (execution) => <Took execution={execution} />, "wide figure"],
];

/** The flow is told where the webhook has another name; on a phone, so is the message. */
function Called({ execution }: { execution: ExecutionSummary }) {
  const { id, webhook, flow, status_message } = execution;
  const note = webhook === null || webhook === flow ? null : `flow ${flow}`;
  return (
    <>
      <NamedCell name={webhook ?? `flow ${flow}`} path={pathInList(id)} note={note} />
      <Message of={status_message} style="soft phone" />
    </>
  );
}

function Message({ of, style = "" }: { of: string | null; style?: string }) {
  if (of === null) return null;
  return (
    <p class={`line ${style}`}>
      <Said text={of} />
    </p>
  );
}

/** A link, so that a pointer on it shows the time and a click opens the execution. */
function When({ execution: { id, created_at } }: { execution: ExecutionSummary }) {
  return (
    <a class="plainly" href={pathInList(id)} tabindex={-1}>
      <TimeAgo of={created_at} />
    </a>
  );
}

/** With the filters of the list of executions, where it is in that list. */
function pathInList(id: string): string {
  const isList = location.pathname === pagePath("executions");
  return pathOf(id, isList ? executionFiltersOfAddress() : {});
}

/** Of one that has not ended, how long it has been running or waiting. */
function Took({ execution }: { execution: ExecutionSummary }) {
  const { status, created_at, started_at, ended_at } = execution;
  if (isEnded(status)) return duration(between(started_at, ended_at));
  return (
    <span class="soft">
      <Elapsed since={started_at ?? created_at} /> so far
    </span>
  );
}
