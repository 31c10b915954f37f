import { RequestError } from "../../shared/errors.ts";
import { StoreError } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";
import type { Unit } from "../store/statement.ts";
import { now } from "../../shared/clock.ts";

/** What resources with a unique name and a state have in common. */

/** Names a state of a row, for optimistic concurrency (RFC 9110, section 8.8.3). */
export function toEtag(row: { modified_at: number }): string {
  return `"${row.modified_at}"`;
}

/**
 * A proxy that compresses an answer makes its tag weak; the state that it names is the same.
 *
 * @throws RequestError changed_meanwhile where If-Match names another state
 */
export function requireMatch(row: { modified_at: number }, ifMatch: string | null): void {
  if (ifMatch === null || ifMatch.trim() === "*") return;
  const tags = ifMatch.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (tags.includes(toEtag(row))) return;
  throw changedMeanwhile();
}

function changedMeanwhile(): RequestError {
  return new RequestError("changed_meanwhile", "Somebody else has changed it. Read it again first");
}

/** A later state never has the time of an earlier one, which the ETag relies on. */
export function nextTime(row: { modified_at: number }): number {
  return Math.max(now(), row.modified_at + 1);
}

/** @throws RequestError conflict where the name is taken or it is still used, changed_meanwhile */
export async function commitNamed(store: Store, name: string, unit: Unit): Promise<void> {
  try {
    await store.commit(unit);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (error.kind === "unique")
      throw new RequestError("conflict", `The name "${name}" is taken`, { cause: error });
    if (error.kind === "reference")
      throw new RequestError("conflict", `"${name}" is still used`, { cause: error });
    if (error.code === "changed_meanwhile") throw changedMeanwhile();
    throw error;
  }
}

/** A wrong member, as `check` reports it. */
export function invalid(field: string, message: string): RequestError {
  return new RequestError("invalid", `${field}: ${message}`, { fields: [{ field, message }] });
}
