import type { Store } from "../store/store.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findWebhook } from "../store/webhooks.ts";
import type { Outcome } from "./outcome.ts";

/** Headers with which an answer says which pages may read it. */
const OF_CORS = /^access-control-/i;

export function isOfCors(header: string): boolean {
  return OF_CORS.test(header);
}

/** Whether a flow's response says which pages may read it. */
export function hasCors({ response }: Outcome): boolean {
  return response !== null && Object.keys(response.headers).some(isOfCors);
}

/** Leaves such headers out with a warning where the webhook itself says it. Never rejects. */
export async function leaveOutCors(
  store: Store,
  { webhook_id, webhook }: ExecutionRow,
  outcome: Outcome,
): Promise<Outcome> {
  const { response, warnings } = outcome;
  if (webhook === null || response === null || !hasCors(outcome)) return outcome;
  // What cannot be read now is left out of the answer all the same.
  const row = await findWebhook(store, webhook).catch(() => undefined);
  if (row === undefined || row.id !== webhook_id || row.cors === null) return outcome;
  const all = Object.entries(response.headers);
  const headers = Object.fromEntries(all.filter(([name]) => !isOfCors(name)));
  const left = Object.keys(response.headers).filter(isOfCors);
  const told = left.map(
    (name) => `Header "${name}" was left out of the response: the webhook has "cors"`,
  );
  return { ...outcome, response: { ...response, headers }, warnings: [...warnings, ...told] };
}
