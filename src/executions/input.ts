import type { Job } from "../runner/protocol.ts";
import type { PayloadInput } from "../store/executions.ts";

/** What an execution receives, as texts: they are stored and cross the wall unparsed. */
export type Input = PayloadInput;

/** What a call without parameters gives: a flow that was made for calls runs without one too. */
const EMPTY_REQUEST = JSON.stringify({ method: "GET", path: null, headers: {}, query: {} });

/** The input of an execution that no request started. */
export function toInput(input_value = EMPTY_REQUEST): Input {
  return { input_value, raw_body_at: null, raw_body: null, target: null };
}

export function toJob(
  id: string,
  input: Input,
  more: { execution: string; base_url: string },
): Job {
  return {
    id,
    execution: more.execution,
    input_value: input.input_value,
    raw_body_at: input.raw_body_at,
    raw_body: input.raw_body,
    base_url: more.base_url,
    target: input.target,
  };
}
