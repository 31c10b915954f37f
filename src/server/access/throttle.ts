import { setTimeout as wait } from "node:timers/promises";
import { networkOf } from "./network.ts";

/**
 * Slows the refusals of an address that guesses, one after the other. What is right is never
 * slowed: many callers can share an address, and none of them may shut out the others.
 */
export interface Throttle {
  /** Resolves when the refusal may leave. */
  refused(address: string): Promise<void>;
}

export interface ThrottleLimits {
  /** Refusals without any delay. */
  readonly free: number;
  /** What each further one costs, in milliseconds; as much is forgiven again by time. */
  readonly stepMs: number;
  /** Longest delay, in milliseconds. */
  readonly mostMs: number;
}

/** Beyond it the oldest are forgotten, so that many networks cost no memory. */
const MOST_NETWORKS = 10_000;

export function openThrottle({ free, stepMs, mostMs }: ThrottleLimits): Throttle {
  /** When the debt of a network is paid, by the monotonic clock: each refusal adds a step to it. */
  const paid = new Map<string, number>();
  /** So that an address is forgiven soon after it has stopped. */
  const mostDebt = free * stepMs + mostMs;
  return {
    async refused(address) {
      const network = networkOf(address);
      const at = performance.now();
      const due = Math.min(Math.max(paid.get(network) ?? 0, at) + stepMs, at + mostDebt);
      paid.delete(network);
      paid.set(network, due);
      if (paid.size > MOST_NETWORKS) paid.delete(paid.keys().next().value as string);
      const delay = Math.min(due - at - free * stepMs, mostMs);
      if (delay > 0) await wait(delay);
    },
  };
}
