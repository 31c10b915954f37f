import type { CallRow } from "../scenario.ts";

export const PLAIN = { "content-type": "text/plain" };

/** A call of the flow that answers as its payload says, held so that a row is one request. */
export function answering(
  name: string,
  covers: CallRow["covers"],
  steps: readonly object[],
  expect: CallRow["expect"],
  forbid: readonly string[] = [],
): CallRow {
  return {
    name,
    covers,
    webhook: "answer",
    body: { steps },
    expect: { execution: {}, ...expect },
    forbid,
  };
}

export function response(
  status: unknown,
  headers: unknown = PLAIN,
  body: unknown = "custom body",
): object {
  return { webhook_response: { status, headers, body } };
}

/** The flow's answer broke a rule: the execution says which, and the caller gets 500. */
export function broken(
  name: string,
  covers: CallRow["covers"],
  step: object,
  says: RegExp,
): CallRow {
  return answering(name, covers, [step], {
    status: 500,
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: { matches: /^ENDED_ERROR: ./ },
    execution: { status: "ENDED_ERROR", status_message: says },
  });
}
