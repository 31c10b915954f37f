import type { Client } from "pg";
import {
  isLong,
  LOCK_LIMIT,
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
  const idle = isLong(sending) ? `; ${toIdleLimit(sending)}` : "";
  // Behind a pooler the connection may be one that has no such limit.
  return transact(client, act, `set local ${LOCK_LIMIT}${idle}`);
}

/** How long it takes at the most to send a unit, in milliseconds. */
export function sendingOf(unit: readonly UnitStatement[]): number {
  return sendingMs(unit.flatMap(({ parameters }) => parameters.map(sizeOf)));
}
