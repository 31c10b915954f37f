import type { ExecutionSummary, Verified } from "../../shared/contract/execution.ts";
import { toIso } from "../../shared/clock.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { PayloadRow } from "../store/executions.ts";

/** The narrow part of an execution's record, as the API shows it. */
export function toSummary(row: ExecutionRow, role: string | null): ExecutionSummary {
  return {
    id: row.id,
    status: row.status,
    status_message: row.status_message,
    webhook: row.webhook,
    flow: row.flow,
    flow_version: row.flow_version,
    is_productive: row.is_productive === 1,
    is_async: row.is_async === 1,
    project_id: row.project_id,
    role,
    created_by: row.created_by,
    parent_id: row.parent_id,
    replay_of: row.replay_of,
    address: row.address,
    verified: row.verified === null ? null : (JSON.parse(row.verified) as Verified),
    node: row.node,
    created_at: toIso(row.created_at),
    started_at: toIso(row.started_at),
    ended_at: toIso(row.ended_at),
  };
}

/** JSON text of a whole record: the wide values are stored as JSON and put in unparsed. */
export function toRecordText(
  row: ExecutionRow,
  payload: PayloadRow | undefined,
  role: string | null,
): string {
  return toText(toSummary(row, role), payload);
}

/** The same for callers by the matrix of earlier releases: without what came since. */
export function toEarlierRecordText(...of: Parameters<typeof toRecordText>): string {
  const [row, payload, role] = of;
  const { address: _address, verified: _verified, node: _node, ...summary } = toSummary(row, role);
  return toText(summary, payload);
}

function toText(narrow: Partial<ExecutionSummary>, payload: PayloadRow | undefined): string {
  const summary = JSON.stringify(narrow).slice(0, -1);
  const input = payload?.input_value ?? "null";
  const output = payload?.output_value ?? "null";
  const response = payload?.response ?? "null";
  return `${summary},"input_value":${input},"output_value":${output},"response":${response}}`;
}
