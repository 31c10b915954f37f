import { readOutcome } from "../executions/outcome.ts";
import { now } from "../../shared/clock.ts";
import { findExecution, findPayload } from "../store/executions.ts";
import { answer } from "./answer.ts";
import type { Admission } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import type { Followed } from "./followed.ts";
import type { Mode } from "./mode.ts";
import { openRedaction } from "./redaction.ts";
import type { Reply } from "./respond.ts";

/** As others name it. */
const REPLAYED = "idempotent-replayed";

/**
 * A call for which an execution was started before: it gets what its own mode asks for, of that
 * one. While that runs, it is one more who waits for it.
 */
export async function answerDuplicate(
  deps: CallDeps,
  admission: Admission,
  mode: Mode,
  executionId: string,
): Promise<Reply> {
  const { webhook, call } = admission;
  const redact = openRedaction(admission.secrets);
  deps.meters.countDuplicate(webhook.name);
  deps.executions.duplicates.note(
    executionId,
    `A duplicate call came from ${call.address}, request ${redact(call.request_id)}`,
  );
  const followed = await findFollowed(deps, executionId);
  const reply = await answer(deps, admission, mode, followed);
  reply.headers[REPLAYED] = "true";
  return reply;
}

async function findFollowed({ executions, store }: CallDeps, id: string): Promise<Followed> {
  const live = executions.find(id) ?? null;
  const issuedAt = now();
  if (live !== null) return { id, live, outcome: null, issuedAt };
  const row = await findExecution(store, id);
  const elsewhere = row === undefined ? undefined : executions.findAnywhere(row);
  if (elsewhere !== undefined) return { id, live: elsewhere, outcome: null, issuedAt };
  const outcome = row === undefined ? null : readOutcome(row, await findPayload(store, id));
  return { id, live: null, outcome, issuedAt };
}
