import { RequestError } from "../../shared/errors.ts";

/**
 * What kind of error it is:
 * - `unique`: a row of this name or key is there already
 * - `reference`: something still refers to the row, or it refers to none
 * - `expected`: a statement of the unit changed no row; `code` is what it expected
 * - `claimed`: what was to be claimed is another execution's
 * - `allowance`: the connections of its month are used
 * - `busy`: as many of its webhook run or wait as may
 * - `unavailable`: the store cannot be read or written just now; later it can
 * - `too_long`: a list took longer than it may
 * - `other`: a defect, of the service or of the store
 */
export type StoreErrorKind =
  | "unique"
  | "reference"
  | "expected"
  | "claimed"
  | "allowance"
  | "busy"
  | "unavailable"
  | "too_long"
  | "other";

/** An error as it crosses from a thread of the store. */
export interface UnitError {
  readonly kind: StoreErrorKind;
  /** `expect` of a statement, or the store's own code, for whoever reads the log. */
  readonly code: string;
  readonly message: string;
}

/** A unit that was not committed, or a read that failed. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  /** As UnitError has it. */
  readonly code: string;

  constructor(error: UnitError) {
    super(error.message);
    this.name = "StoreError";
    this.kind = error.kind;
    this.code = error.code;
  }
}

/** Whether the store can be read and written again later: its disk is full, or it is locked. */
export function isPassing(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "unavailable";
}

/** Whether the tables were asked, and said no: nothing is missing in them. */
export function isRefusal(kind: StoreErrorKind): boolean {
  return kind === "claimed" || kind === "allowance" || kind === "busy";
}

/** Whether an execution was not begun because another has what it was to claim. */
export function isClaimed(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "claimed";
}

/** Whether an execution was not begun because the connections of its month are used. */
export function isAllowanceUsed(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "allowance";
}

/** Whether an execution was not begun because as many of its webhook run or wait as may. */
export function isBusy(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "busy";
}

/** @param message what waits, or cannot be read, for the store's sake */
export function newUnavailable(message: string): StoreError {
  return new StoreError({ kind: "unavailable", code: "unavailable", message });
}

/** A store that cannot be read or written now, or a list too long, is 503; anything else is passed on. */
export function toRequestError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.kind === "too_long")
    return new RequestError(
      "overloaded",
      "The list takes too long to read. Ask for less: a shorter time, one webhook, one status",
      { headers: { "retry-after": "5" }, cause: error },
    );
  if (error.kind !== "unavailable") return error;
  return new RequestError("store_unavailable", "The store cannot be used now. Try again later", {
    headers: { "retry-after": "5" },
    cause: error,
  });
}
