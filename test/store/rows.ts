import type { ExecutionRow, PayloadInput } from "../../src/server/store/execution-row.ts";

/** Executions as tests put them into a store. */

/** A UUID version 7 of a time and a counter, told apart by a number. */
export function toId(at: number, number: number, count = 0): string {
  const time = at.toString(16).padStart(12, "0");
  const counter = count.toString(16).padStart(3, "0");
  const tail = number.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-8000-${tail}`;
}

/** One that has ended well, unless it says otherwise. */
export function newRow(id: string, members: Partial<ExecutionRow> = {}): ExecutionRow {
  return {
    id,
    status: "ENDED_SUCCESS",
    status_message: null,
    webhook_id: null,
    webhook: null,
    flow: "f",
    flow_version: null,
    is_productive: 1,
    is_async: 0,
    project_id: "p",
    role_id: null,
    acts_for: null,
    created_by: null,
    parent_id: null,
    replay_of: null,
    address: null,
    verified: null,
    node: null,
    created_at: 1,
    started_at: 1,
    ended_at: 1,
    ...members,
  };
}

export const INPUT: PayloadInput = {
  input_value: '{"json":1}',
  raw_body_at: 8,
  raw_body: null,
  target: "/webhook/w",
};
