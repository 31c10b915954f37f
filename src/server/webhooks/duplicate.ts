import { readOutcome } from "../executions/outcome.ts";
import { now } from "../../shared/clock.ts";
import { findExecution, findPayload } from "../store/executions.ts";
import type { Admission } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { toFollowing, type Followed, type FollowingCall } from "./followed.ts";
import type { Mode } from "./mode.ts";
import { openRedaction } from "./redaction.ts";

/**
 * A call for which an execution was started before: it gets what its own mode asks for, of that
 * one. While that runs, it is one more who waits for it.
 */
export async function followDuplicate(
  deps: CallDeps,
  admission: Admission,
  mode: Mode,
  executionId: string,
): Promise<FollowingCall> {
  const { webhook, call } = admission;
  const redact = openRedaction(admission.secrets);
  deps.meters.countDuplicate(webhook.name);
  deps.executions.duplicates.note(
    executionId,
    `A duplicate call came from ${call.address}, request ${redact(call.request_id)}`,
  );
  const followed = await findFollowed(deps, executionId);
  // Its caller does not come back: whoever waits for it beside them does not take it along.
  if (mode.is_async && followed.live !== null) deps.executions.watchers.promise(followed.live);
  return toFollowing(admission, mode, followed);
}

async function findFollowed({ executions, store }: CallDeps, id: string): Promise<Followed> {
  const live = executions.find(id) ?? null;
  const issuedAt = now();
  const earlier = { id, live, outcome: null, issuedAt, isReplayed: true };
  if (live !== null) return earlier;
  const row = await findExecution(store, id);
  const elsewhere = row === undefined ? undefined : executions.findAnywhere(row);
  if (elsewhere !== undefined) return { ...earlier, live: elsewhere };
  const outcome = row === undefined ? null : readOutcome(row, await findPayload(store, id));
  return { ...earlier, outcome };
}
