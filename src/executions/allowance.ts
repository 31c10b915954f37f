import { now } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { countConnection } from "../store/executions.ts";
import type { Statement } from "../store/thread-protocol.ts";

/** The connection allowance of a calendar month in UTC (section 8). */

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

/**
 * Counts one connection; its unit fails with `allowance_used` at the limit.
 *
 * @param allowance CONNECTION_ALLOWANCE; null: unlimited
 * @throws Refusal allowance_used: nothing can be counted under an allowance of 0
 */
export function toConnection(allowance: number | null, at: number): Statement {
  if (allowance !== null && allowance < 1) throw refuseConnection();
  return countConnection({ month: monthOf(at), limit: allowance ?? Number.MAX_SAFE_INTEGER });
}

export function refuseConnection(): Refusal {
  const at = now();
  monthOf(at);
  return new Refusal(
    "allowance_used",
    "The connection allowance of this month is used. It is renewed with the next month (UTC)",
    { headers: { "retry-after": String(Math.ceil((month.to - at) / 1000)) } },
  );
}
