import type { Ending } from "../../shared/wire/protocol.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { PayloadRow } from "../store/executions.ts";
import type { CustomResponse } from "../../shared/contract/execution.ts";
import { bodyOf, checkResponse } from "./custom-response.ts";
import { isEnded, type EndedStatus } from "../../shared/contract/status.ts";
import { toStorable } from "../store/storable-text.ts";
import { findValueError } from "./value.ts";

/** How an execution ended: a value, whatever happened. */
export interface Outcome {
  readonly id: string;
  readonly status: EndedStatus;
  readonly status_message: string | null;
  /** JSON text; null unless the flow returned. */
  readonly output_value: string | null;
  readonly response: CustomResponse | null;
  /** Lines for the execution's log, from the service. */
  readonly warnings: readonly string[];
}

export interface OutcomeLimits {
  /** MAX_OUTPUT_BYTES. */
  readonly max_output_bytes: number;
  /** RESPONSE_SANDBOX. */
  readonly sandboxed: boolean;
}

/** An ending to be judged, as it crosses to a thread. */
export interface OutcomeJob {
  readonly id: string;
  readonly ending: Ending;
  readonly limits: OutcomeLimits;
}

/** Texts together up to this size are looked at in the HTTP loop, in characters. */
const AT_ONCE = 256 * 1024;

export function isJudgedAtOnce({ output_value, response }: Ending): boolean {
  return (output_value?.length ?? 0) + (response?.length ?? 0) <= AT_ONCE;
}

/**
 * What a runner reported, checked: its texts come from a thread, and may be anything. A result or
 * response that breaks a rule makes an error of a success.
 */
export function toOutcome(id: string, ending: Ending, limits: OutcomeLimits): Outcome {
  const { status, output_value } = ending;
  const fail = (why: string): Outcome => decide(id, "ENDED_ERROR", why);
  const status_message = ending.status_message === null ? null : toStorable(ending.status_message);
  const base = { id, status_message, output_value, response: null, warnings: [] };
  const mostBytes = limits.max_output_bytes;
  const error = output_value === null ? null : findValueError({ text: output_value, mostBytes });
  if (error !== null) return fail(`output_value: ${error}`);
  if (ending.response === null) return { ...base, status };
  const checked = checkResponse(ending.response, limits.sandboxed);
  if ("error" in checked)
    return status === "ENDED_SUCCESS"
      ? fail(`Cannot send the custom response: ${checked.error}`)
      : { ...base, status };
  if (bodyOf(checked.response).length > mostBytes)
    return fail(`The custom response is larger than ${mostBytes} bytes`);
  return { ...base, status, response: checked.response, warnings: checked.warnings };
}

/** An ending that the service decides: a cancel, a time-out, a flow that is not there. */
export function decide(id: string, status: EndedStatus, message: string): Outcome {
  const status_message = toStorable(message);
  return { id, status, status_message, output_value: null, response: null, warnings: [] };
}

/** The outcome as the store has it; null while the execution has not ended. */
export function readOutcome(row: ExecutionRow, payload: PayloadRow | undefined): Outcome | null {
  if (!isEnded(row.status)) return null;
  const response = payload?.response ?? null;
  return {
    id: row.id,
    status: row.status,
    status_message: row.status_message,
    output_value: payload?.output_value ?? null,
    response: response === null ? null : (JSON.parse(response) as CustomResponse),
    warnings: [],
  };
}

/** JSON of an ending for a flow that waited for it; output_value is JSON already. */
export function toEndingText({ id, status, status_message, output_value }: Outcome): string {
  const head = JSON.stringify({ id, status, status_message });
  return `${head.slice(0, -1)},"output_value":${output_value ?? "null"}}`;
}
