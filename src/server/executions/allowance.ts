import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { connectionsByMonth } from "../store/connection-usage.ts";
import { isAllowanceUsed, isPassing } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";

let month = { name: "", from: 0, to: 0 };

/** `2026-11`, in UTC. The latest answer is kept, because each call asks. */
export function monthOf(at: number): string {
  if (at >= month.from && at < month.to) return month.name;
  const date = new Date(at);
  const [year, index] = [date.getUTCFullYear(), date.getUTCMonth()];
  const name = date.toISOString().slice(0, 7);
  month = { name, from: Date.UTC(year, index, 1), to: Date.UTC(year, index + 1, 1) };
  return name;
}

/** The connection allowance of a calendar month in UTC (section 8). */
export interface Allowance {
  /**
   * Counts one connection.
   *
   * @returns its month
   * @throws RequestError allowance_used
   */
  take(at: number): string;
  /** Connections of the month. */
  usedAt(at: number): Promise<number>;
  /** It was not recorded after all. @returns what its caller is told */
  giveBack(month: string, error: unknown): unknown;
}

/** @param limit CONNECTION_ALLOWANCE; null: unlimited */
export async function openAllowance(store: Store, limit: number | null): Promise<Allowance> {
  if (store.shared !== null) return openSharedAllowance(store);
  return openOwnAllowance(limit ?? Infinity, await connectionsByMonth(store));
}

/** Counted in memory first, because this service alone writes to the store. */
function openOwnAllowance(limit: number, used: Map<string, number>): Allowance {
  return {
    take(at) {
      const name = monthOf(at);
      const count = used.get(name) ?? 0;
      if (count >= limit) throw refuseConnection();
      used.set(name, count + 1);
      return name;
    },
    usedAt: async (at) => used.get(monthOf(at)) ?? 0,
    giveBack(name, error) {
      used.set(name, (used.get(name) ?? 1) - 1);
      return error;
    },
  };
}

/** Counted by the store, with the begin: each begin beyond the limit is refused there. */
function openSharedAllowance(store: Store): Allowance {
  let usedUp: string | null = null;
  /** As it was read last. */
  let used: ReadonlyMap<string, number> = new Map();
  return {
    take(at) {
      const name = monthOf(at);
      // What is used stays used.
      if (name === usedUp) throw refuseConnection();
      return name;
    },
    async usedAt(at) {
      try {
        used = await connectionsByMonth(store);
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      return used.get(monthOf(at)) ?? 0;
    },
    giveBack(name, error) {
      if (!isAllowanceUsed(error)) return error;
      usedUp = name;
      return refuseConnection();
    },
  };
}

function refuseConnection(): RequestError {
  const at = now();
  monthOf(at);
  return new RequestError(
    "allowance_used",
    "The connection allowance of this month is used. It is renewed with the next month (UTC)",
    { headers: { "retry-after": String(Math.ceil((month.to - at) / 1000)) } },
  );
}
