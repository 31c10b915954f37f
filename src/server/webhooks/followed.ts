import type { ActiveExecution } from "../executions/active.ts";
import type { Outcome } from "../executions/outcome.ts";
import { waitFor, type Waited } from "../executions/wait.ts";
import type { Call } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";

/** The execution that a call is answered with: its own, or that of an earlier one. */
export interface Followed {
  readonly id: string;
  /** null: it has ended. */
  readonly live: ActiveExecution | null;
  /** Where it has. */
  readonly outcome: Outcome | null;
  /** When its leg's value is issued, where that may be long after its end. */
  readonly issuedAt: number | null;
}

export function toFollowed(live: ActiveExecution): Followed {
  return { id: live.id, live, outcome: null, issuedAt: null };
}

/** @param window_ms null: as long as it takes */
export async function waitOn(
  deps: CallDeps,
  { live, outcome }: Followed,
  { outgoing }: Call,
  windowMs: number | null,
): Promise<Waited> {
  if (outcome !== null) return { outcome };
  return live === null ? "unfinished" : waitFor(deps, live, outgoing, windowMs);
}
