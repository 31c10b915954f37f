import { between, duration } from "./format.ts";
import { pagePath } from "./page.ts";
import type { ExecutionSummary } from "./resources.ts";
import { StatusBadge } from "./status.tsx";
import { NamedCell, type Column } from "./table.tsx";
import { Time } from "./time.tsx";

/** An execution in a list: status, what it was, when, how long, and what it said. */
export const EXECUTION_COLUMNS: readonly Column<ExecutionSummary>[] = [
  ["Status", ({ status }) => <StatusBadge status={status} />],
  ["Called", (execution) => <Called execution={execution} />, "head"],
  ["Flow", ({ flow }) => flow, "wide"],
  ["When", ({ created_at }) => <Time of={created_at} />],
  ["Took", ({ started_at, ended_at }) => duration(between(started_at, ended_at)), "wide figure"],
];

function Called({ execution }: { execution: ExecutionSummary }) {
  const { id, webhook, flow, status_message } = execution;
  const name = webhook ?? `flow ${flow}`;
  return <NamedCell name={name} path={pagePath("executions", id)} note={status_message} />;
}
