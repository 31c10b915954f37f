/** What tells whether the response that a flow made has reached a caller. */
interface Ended {
  readonly status: string;
  readonly status_message: string | null;
  /** Null: it was started by hand, by another flow or as a replay. */
  readonly webhook: string | null;
  readonly is_async: boolean;
}

/** Why a response in the record was not sent, for people; null where it was (section 4.7). */
export function whyUnsent({ status, status_message, webhook, is_async }: Ended): string | null {
  if (webhook === null) return "Not sent: the execution was not started by a call";
  if (is_async) return "Not sent: the call was asynchronous";
  if (status === "ENDED_SUCCESS") return null;
  const who = status === "ENDED_CANCELLED" ? "a caller who still waited" : "the caller";
  return `Not sent: ${who} got 500 ${status}: ${status_message ?? ""}`;
}
