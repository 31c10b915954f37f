import { Refusal } from "../../shared/errors.ts";
import { StoreFault } from "../store/fault.ts";
import type { Store } from "../store/database.ts";
import type { Unit } from "../store/thread-protocol.ts";
import { now } from "../../shared/clock.ts";

/** What resources with a unique name and a state have in common. */

/** Names a state of a row, for optimistic concurrency (RFC 9110, section 8.8.3). */
export function toEtag(row: { modified_at: number }): string {
  return `"${row.modified_at}"`;
}

/** @throws Refusal changed_meanwhile where If-Match names another state */
export function requireMatch(row: { modified_at: number }, if_match: string | null): void {
  if (if_match === null || if_match.trim() === "*") return;
  if (if_match.split(",").some((tag) => tag.trim() === toEtag(row))) return;
  throw changedMeanwhile();
}

function changedMeanwhile(): Refusal {
  return new Refusal("changed_meanwhile", "Somebody else has changed it. Read it again first");
}

/** A later state never has the time of an earlier one, which the ETag relies on. */
export function nextTime(row: { modified_at: number }): number {
  return Math.max(now(), row.modified_at + 1);
}

/** @throws Refusal conflict where the name is taken or it is still used, changed_meanwhile */
export async function commitNamed(store: Store, name: string, unit: Unit): Promise<void> {
  try {
    await store.commit(unit);
  } catch (fault) {
    if (!(fault instanceof StoreFault)) throw fault;
    if (fault.isUniqueConflict)
      throw new Refusal("conflict", `The name "${name}" is taken`, { cause: fault });
    if (fault.code === "SQLITE_CONSTRAINT_FOREIGNKEY")
      throw new Refusal("conflict", `"${name}" is still used`, { cause: fault });
    if (fault.code === "changed_meanwhile") throw changedMeanwhile();
    if (fault.code === "not_found")
      throw new Refusal("not_found", `There is no "${name}" any more`, { cause: fault });
    throw fault;
  }
}

/** A wrong member, as `check` reports it. */
export function invalid(field: string, message: string): Refusal {
  return new Refusal("invalid", `${field}: ${message}`, { fields: [{ field, message }] });
}
