import { RequestError } from "../../shared/errors.ts";
import { excessBytes, MAX_GIVEN } from "../../shared/wire/forwarded.ts";
import type { Job } from "../../shared/wire/protocol.ts";
import type { ExecutionRow, PayloadInput } from "../store/execution-row.ts";

/** What an execution receives, as texts: they are stored and cross the wall unparsed. */
export type Input = PayloadInput;

/**
 * What a body says can be several times as long as its bytes. What could not be forwarded is refused
 * wherever it runs: which way it goes, and on which node, is not known yet.
 *
 * @throws RequestError body_too_large where no thread could be given it
 */
export function requireCarried({ input_value, raw_body }: Input): void {
  const bytes = excessBytes(input_value, raw_body ?? "");
  if (bytes === null) return;
  throw new RequestError(
    "body_too_large",
    `As the input of a flow the body has ${bytes} bytes, expected at most ${MAX_GIVEN}`,
  );
}

/** What a call without parameters gives: a flow that was made for calls runs without one too. */
const EMPTY_REQUEST = JSON.stringify({ method: "GET", path: null, headers: {}, query: {} });

/** The input of an execution that no request started. */
export function toInput(input_value = EMPTY_REQUEST): Input {
  return { input_value, raw_body_at: null, raw_body: null, target: null };
}

/** What a thread is given of an execution. */
export function toJob(row: ExecutionRow, input: Input, base_url: string): Job {
  const { id, webhook, flow, project_id, address } = row;
  const { input_value, raw_body_at, raw_body, target } = input;
  const is_productive = row.is_productive === 1;
  const verified = row.verified === null ? null : (JSON.parse(row.verified) as unknown);
  const members = { id, webhook, flow, is_productive, project_id, address, verified };
  const execution = JSON.stringify(members);
  return { id, execution, input_value, raw_body_at, raw_body, base_url, target };
}
