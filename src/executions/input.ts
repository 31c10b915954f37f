import type { Job } from "../runner/protocol.ts";
import type { PayloadInput, PayloadRow } from "../store/executions.ts";

/** What an execution receives, as texts: they are stored and cross the wall unparsed. */
export type Input = PayloadInput;

/** The input of an execution that no request started. */
export function toInput(input_value: string): Input {
  return { input_value, raw_body_at: null, raw_body: null, target: null };
}

/** The body as it was sent: a part of input_value, or beside it. */
export function rawBodyOf(
  input: Pick<PayloadRow, "input_value" | "raw_body_at" | "raw_body">,
): string | null {
  const { input_value, raw_body_at, raw_body } = input;
  return raw_body_at === null ? raw_body : input_value.slice(raw_body_at, -1);
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
    raw_body: rawBodyOf(input),
    base_url: more.base_url,
    target: input.target,
  };
}
