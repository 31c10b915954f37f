import { RequestError } from "../../shared/errors.ts";

/** A fault as it crosses from a thread of the store. */
export interface UnitError {
  /** `expect` of a statement, or SQLite's extended result code, e.g. SQLITE_CONSTRAINT_UNIQUE. */
  readonly code: string;
  readonly message: string;
}

/** A unit that was not committed, or a read that failed. */
export class StoreError extends Error {
  /** SQLite's extended result code, or what a statement expected. */
  readonly code: string;

  constructor(error: UnitError) {
    super(error.message);
    this.name = "StoreError";
    this.code = error.code;
  }

  get isUniqueConflict(): boolean {
    return this.code === "SQLITE_CONSTRAINT_UNIQUE" || this.code === "SQLITE_CONSTRAINT_PRIMARYKEY";
  }

  /** The disk is full, the file is locked, or cannot be read or written just now. */
  get isUnavailable(): boolean {
    return isPassing(this);
  }
}

/** Whether the store can be written to again once its disk or its lock is free. */
export function isPassing(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  const PASSING = /^SQLITE_(FULL|BUSY|LOCKED|IOERR|READONLY|CANTOPEN|NOMEM)/;
  return typeof code === "string" && PASSING.test(code);
}

/** Whether a file is damaged, or is no database. */
export function isDamage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^SQLITE_(CORRUPT|NOTADB)/.test(code);
}

/** What SQLite threw, as plain data. */
export function toError(error: unknown): UnitError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return {
    code: typeof code === "string" ? code : "SQLITE_ERROR",
    message: typeof message === "string" ? message : String(error),
  };
}

/** A store that cannot write now, or a list too long, is 503; anything else is passed on. */
export function toRequestError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  if (error.code === "READ_TOO_LONG")
    return new RequestError(
      "overloaded",
      "The list takes too long to read. Ask for less: a shorter time, one webhook, one status",
      { headers: { "retry-after": "5" }, cause: error },
    );
  if (!error.isUnavailable) return error;
  return new RequestError("store_unavailable", "The store cannot write now. Try again later", {
    headers: { "retry-after": "5" },
    cause: error,
  });
}
