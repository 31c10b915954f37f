import type { ServerResponse } from "node:http";
import type { Executions } from "./executions.ts";
import type { ActiveExecution } from "./active.ts";
import type { Outcome } from "./outcome.ts";

/** How waiting for an execution came to an end. */
export type Waited =
  | { readonly outcome: Outcome }
  /** The poll window is over. */
  | "unfinished"
  /** The client's connection has closed. */
  | "gone"
  /** The service shuts down: the client is to come back to the next start. */
  | "stopping";

export interface WaitRules {
  readonly executions: Pick<Executions, "cancelAlone" | "onStop" | "watchers">;
  /** WEBHOOK_CANCEL_ENABLED, for the legs of a synchronous call. */
  readonly isCancelling: boolean;
}

/**
 * Waits until the execution has ended, the window is over, or the client is gone. Where nobody
 * else waits, a client that goes takes its synchronous execution with it (section 4.4).
 *
 * @param windowMs null: as long as it takes
 */
export function waitFor(
  rules: WaitRules,
  execution: ActiveExecution,
  outgoing: ServerResponse,
  windowMs: number | null,
): Promise<Waited> {
  const { watchers } = rules.executions;
  const { promise, resolve, reject } = Promise.withResolvers<Waited>();
  let isOver = false;
  let forget = (): void => {};
  const end = (waited: Waited): void => {
    if (isOver) return;
    isOver = true;
    waiting.end = null;
    clearTimeout(timer);
    outgoing.off("close", onClose);
    forget();
    watchers.delete(execution);
    if (waited === "gone" && execution.watchers === 0) onLeft(rules, execution);
    resolve(waited);
  };
  const waiting: Waiting = { end };
  const onClose = (): void => end("gone");
  const timer = windowMs === null ? undefined : setTimeout(end, windowMs, "unfinished");
  watchers.add(execution);
  outgoing.on("close", onClose);
  forget = rules.executions.onStop(() => end("stopping"));
  if (outgoing.destroyed) onClose();
  // It may have been told while it began to listen.
  if (isOver) forget();
  execution.ended.then(toEnd(waiting), reject);
  return promise;
}

/** All that an execution holds, until it ends, of one who has waited for it. */
interface Waiting {
  end: ((waited: Waited) => void) | null;
}

/** Made here: a function that is made in `waitFor` holds all that others there do, the answer too. */
function toEnd(waiting: Waiting): (outcome: Outcome) => void {
  return (outcome) => waiting.end?.({ outcome });
}

function onLeft({ executions, isCancelling }: WaitRules, execution: ActiveExecution): void {
  if (!isCancelling || execution.row.is_async !== 0) return;
  executions.watchers.whenAlone(execution, () =>
    executions.cancelAlone(execution.id, "Cancelled: the caller's connection was closed"),
  );
}
