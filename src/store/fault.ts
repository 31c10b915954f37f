import { Refusal } from "../lib/errors.ts";
import type { UnitFault } from "./thread-protocol.ts";

/** A unit that was not committed, or a read that failed. */
export class StoreFault extends Error {
  /** SQLite's extended result code, or what a statement expected. */
  readonly code: string;

  constructor(fault: UnitFault) {
    super(fault.message);
    this.name = "StoreFault";
    this.code = fault.code;
  }

  get isUniqueConflict(): boolean {
    return this.code === "SQLITE_CONSTRAINT_UNIQUE" || this.code === "SQLITE_CONSTRAINT_PRIMARYKEY";
  }

  /** The disk is full, the file is locked, or cannot be read or written just now. */
  get isUnavailable(): boolean {
    return /^SQLITE_(FULL|BUSY|LOCKED|IOERR|READONLY|CANTOPEN|NOMEM)/.test(this.code);
  }
}

/** A store that cannot write now is 503 for whoever asks; anything else is passed on. */
export function toRefusal(fault: unknown): unknown {
  if (!(fault instanceof StoreFault) || !fault.isUnavailable) return fault;
  return new Refusal("store_unavailable", "The store cannot write now. Try again later", {
    headers: { "retry-after": "5" },
    cause: fault,
  });
}
