import { between, duration } from "./format.ts";
import { pagePath } from "./page.ts";
import type { ExecutionSummary } from "./resources.ts";
import { StatusBadge } from "./status.tsx";
import { Table } from "./table.tsx";
import { Time } from "./time.tsx";

export const EXECUTION_COLUMNS = ["Status", "Called", "-Flow", "When", "-Took"];

/** An execution in a list: status, what it was, when, how long, and what it said. */
export function ExecutionRow(props: { execution: ExecutionSummary; isNew?: boolean }) {
  const { id, status, webhook, flow, status_message, created_at, started_at, ended_at } =
    props.execution;
  return (
    <tr data-id={id} class={props.isNew === true ? "new" : ""}>
      <td>
        <StatusBadge status={status} />
      </td>
      <th scope="row">
        <a href={pagePath("executions", id)}>{webhook ?? `flow ${flow}`}</a>
        {status_message ? <p class="soft line">{status_message}</p> : null}
      </th>
      <td class="wide">{flow}</td>
      <td>
        <Time of={created_at} />
      </td>
      <td class="wide figure">{duration(between(started_at, ended_at))}</td>
    </tr>
  );
}

export function ExecutionTable({ items }: { items: readonly ExecutionSummary[] }) {
  return (
    <Table caption="Executions" columns={EXECUTION_COLUMNS}>
      {items.map((execution) => (
        <ExecutionRow key={execution.id} execution={execution} />
      ))}
    </Table>
  );
}
