import type { MemberField } from "./webhook-members.tsx";

const EXAMPLE = '{"from": "header:idempotency-key"}';

/** The tab of what is delivered more than once. */
export const DELIVERY_FIELDS: readonly MemberField[] = [
  {
    name: "idempotency",
    label: "Calls that are sent again",
    hint: `Default: empty, each call starts an execution. ${EXAMPLE} tells calls apart by a header; also query:NAME, json:/POINTER, or "scheme" for the id of a signed delivery. Beside it window_sec (86400), required (false), compare (true: another call with the same key gets 422), after_failure ("run_again" or "same"). A key that is missing where it is required, or cannot be used, gets 400.`,
    rows: 6,
    toText: ({ idempotency }) => (idempotency === null ? "" : JSON.stringify(idempotency, null, 2)),
    toValue: (text) => (text.trim() === "" ? null : toJson(text)),
  },
];

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Expected JSON, as ${EXAMPLE}`, { cause: error });
  }
}
