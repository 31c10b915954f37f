import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";

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
export class Allowance {
  readonly #limit: number;
  readonly #used: Map<string, number>;

  /**
   * @param limit CONNECTION_ALLOWANCE; null: unlimited
   * @param used connections until now, by month
   */
  constructor(limit: number | null, used: ReadonlyMap<string, number>) {
    this.#limit = limit ?? Infinity;
    this.#used = new Map(used);
  }

  /**
   * Counts one connection.
   *
   * @returns its month
   * @throws RequestError allowance_used
   */
  take(at: number): string {
    const name = monthOf(at);
    const used = this.#used.get(name) ?? 0;
    if (used >= this.#limit) throw refuseConnection();
    this.#used.set(name, used + 1);
    return name;
  }

  /** Connections of the month. */
  usedAt(at: number): number {
    return this.#used.get(monthOf(at)) ?? 0;
  }

  /** It was not recorded after all. */
  giveBack(name: string): void {
    this.#used.set(name, (this.#used.get(name) ?? 1) - 1);
  }
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
