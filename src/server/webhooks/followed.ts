import type { ActiveExecution } from "../executions/active.ts";
import type { Outcome } from "../executions/outcome.ts";
import { waitFor, type Waited } from "../executions/wait.ts";
import type { Admission, MatchedCall } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import type { Mode } from "./mode.ts";

/** The execution that a call is answered with: its own, or that of an earlier one. */
export interface Followed {
  readonly id: string;
  /** null: it has ended. */
  readonly live: ActiveExecution | null;
  /** Where it has. */
  readonly outcome: Outcome | null;
  /** When its leg's value is issued, where that may be long after its end. */
  readonly issuedAt: number | null;
  /** Whether it is that of an earlier call. */
  readonly isReplayed: boolean;
}

/**
 * A call with the execution that it is answered with. It may wait for it as long as that takes, and
 * so may thousands: nothing of a body or an input is reached from here.
 */
export interface FollowingCall extends MatchedCall {
  /** Keys and tokens that came with it. */
  readonly secrets: readonly string[];
  readonly mode: Mode;
  readonly followed: Followed;
}

export function toFollowing(
  { call, webhook, secrets }: Admission,
  mode: Mode,
  followed: Followed,
): FollowingCall {
  return { call, webhook, secrets, mode, followed };
}

/** Of a call that has started it. */
export function toFollowed(live: ActiveExecution): Followed {
  return { id: live.id, live, outcome: null, issuedAt: null, isReplayed: false };
}

/** @param windowMs null: as long as it takes */
export function waitOn(
  deps: CallDeps,
  { followed: { live, outcome }, call }: FollowingCall,
  windowMs: number | null,
): Promise<Waited> | Waited {
  if (outcome !== null) return { outcome };
  return live === null ? "unfinished" : waitFor(deps, live, call.outgoing, windowMs);
}
