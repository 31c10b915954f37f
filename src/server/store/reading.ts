import { AsyncLocalStorage } from "node:async_hooks";

/** On whose behalf lists are read, and whether they still wait for them. */
export interface Reading {
  readonly user_id: string;
  readonly signal: AbortSignal;
}

const current = new AsyncLocalStorage<Reading | null>();

/** The lists that are read while this is done are read for somebody; null: for the service. */
export function readFor<T>(reading: Reading | null, act: () => T): T {
  return current.run(reading, act);
}

export function currentReading(): Reading | null {
  return current.getStore() ?? null;
}
