import type { Client } from "pg";
import {
  isLong,
  sendingMs,
  sizeOf,
  toIdleLimit,
  toValue,
  transact,
  UnmetError,
} from "./connection.ts";
import type { UnitStatement } from "./thread-protocol.ts";

/**
 * Commits statements together or not at all.
 *
 * @returns rows changed by each
 * @throws {Error} where nothing was committed
 */
export async function commitUnit(
  client: Client,
  unit: readonly UnitStatement[],
): Promise<readonly number[]> {
  const sending = sendingOf(unit);
  const act = async (): Promise<readonly number[]> => {
    const changes: number[] = [];
    for (const { sql, parameters, expect } of unit) {
      const { rowCount } = await client.query(sql, parameters.map(toValue));
      if (rowCount === 0 && expect !== null) throw new UnmetError(expect);
      changes.push(rowCount ?? 0);
    }
    return changes;
  };
  return transact(client, act, isLong(sending) ? toIdleLimit(sending) : "");
}

/** How long it takes at the most to send a unit, in milliseconds. */
export function sendingOf(unit: readonly UnitStatement[]): number {
  return sendingMs(unit.flatMap(({ parameters }) => parameters.map(sizeOf)));
}
