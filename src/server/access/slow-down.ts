import { setTimeout as wait } from "node:timers/promises";
import { networkOf } from "./network.ts";

/**
 * Slows the refusals of an address that guesses, one after the other. What is right is never
 * slowed: many callers can share an address, and none of them may shut out the others.
 */
export interface SlowDown {
  /** Resolves when the refusal may leave. */
  refused(address: string): Promise<void>;
}

export interface SlowDownLimits {
  /** Refusals without any delay. */
  readonly free: number;
  /** What each further one costs, in milliseconds; as much is forgiven again by time. */
  readonly step_ms: number;
  /** Longest delay, in milliseconds. */
  readonly most_ms: number;
}

/** Beyond it the oldest are forgotten, so that many networks cost no memory. */
const MOST_NETWORKS = 10_000;

export function openSlowDown({ free, step_ms, most_ms }: SlowDownLimits): SlowDown {
  /** When the debt of a network is paid, by the monotonic clock: each refusal adds a step to it. */
  const paid = new Map<string, number>();
  /** So that an address is forgiven soon after it has stopped. */
  const most_debt = free * step_ms + most_ms;
  return {
    async refused(address) {
      const network = networkOf(address);
      const at = performance.now();
      const due = Math.min(Math.max(paid.get(network) ?? 0, at) + step_ms, at + most_debt);
      paid.delete(network);
      paid.set(network, due);
      if (paid.size > MOST_NETWORKS) paid.delete(paid.keys().next().value as string);
      const delay = Math.min(due - at - free * step_ms, most_ms);
      if (delay > 0) await wait(delay);
    },
  };
}
