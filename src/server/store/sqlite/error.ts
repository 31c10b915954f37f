import type { StoreErrorKind, UnitError } from "../store-error.ts";

/** SQLite's extended result codes, in the store's own words. */

/** Those whose names begin so. */
const KINDS: readonly (readonly [RegExp, StoreErrorKind])[] = [
  [/^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)$/, "unique"],
  [/^SQLITE_CONSTRAINT_FOREIGNKEY$/, "reference"],
  [/^SQLITE_(FULL|BUSY|LOCKED|IOERR|READONLY|CANTOPEN|NOMEM)/, "unavailable"],
];

/** What SQLite threw, or a thread of the store, as plain data. */
export function toUnitError(error: unknown): UnitError {
  const { code, kind, message } = error as { code?: unknown; kind?: unknown; message?: unknown };
  return {
    kind: typeof kind === "string" ? (kind as StoreErrorKind) : kindOf(code),
    code: typeof code === "string" ? code : "SQLITE_ERROR",
    message: typeof message === "string" ? message : String(error),
  };
}

function kindOf(code: unknown): StoreErrorKind {
  if (typeof code !== "string") return "other";
  return KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "other";
}

/** Whether SQLite can be read and written again once its disk or its lock is free. */
export function isPassingError(error: unknown): boolean {
  return toUnitError(error).kind === "unavailable";
}

/** Whether a file is damaged, or is no database. */
export function isDamage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^SQLITE_(CORRUPT|NOTADB)/.test(code);
}
