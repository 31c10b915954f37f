import type { StoreErrorKind, UnitError } from "../store-error.ts";

/** The user, its password, its rights, or the database itself. */
const DENIED = /^(28...|42501|3D000)$/;

/** SQLSTATE codes (PostgreSQL, appendix A) and errors of the connection, in the store's own words. */
const KINDS: readonly (readonly [RegExp, StoreErrorKind])[] = [
  [/^23505$/, "unique"],
  [/^23503$/, "reference"],
  // Connections, resources, shutdown, a read-only server, and what a second try can do.
  [/^(08...|53...|57P..|57014|25006|25P0[34]|40001|40P01|55P03)$/, "unavailable"],
  // What an administrator of the server has taken away, and can give back.
  [DENIED, "unavailable"],
  // A type, as while a dump is restored: the next connection finds it again.
  [/^42704$/, "unavailable"],
  [/^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOTFOUND|EAI_AGAIN|ENOENT)$/, "unavailable"],
];

/** What the driver, or the store's own thread, threw, as plain data. */
export function toUnitError(error: unknown): UnitError {
  const { code, kind, message } = error as { code?: unknown; kind?: unknown; message?: unknown };
  // Of a server that is at several addresses, and at none of them, the driver has the code alone.
  const text = typeof message === "string" && message !== "" ? message : String(code ?? error);
  return {
    kind: typeof kind === "string" ? (kind as StoreErrorKind) : kindOf(code, text),
    code: typeof code === "string" ? code : "POSTGRES",
    message: text,
  };
}

/** The driver's own errors of a connection that ended have no code. */
const ENDED =
  /connection terminated|client has encountered a connection error|not queryable|timeout/i;

/** Of a statement of this connection that has a type which was dropped, and may be there again. */
const TYPE_GONE = /^cache lookup failed for type/;

function kindOf(code: unknown, message: string): StoreErrorKind {
  if (code === "XX000" && TYPE_GONE.test(message)) return "unavailable";
  if (typeof code !== "string") return ENDED.test(message) ? "unavailable" : "other";
  return KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "other";
}

/** Whether it is known that the connection is gone, or worth nothing any more. */
export function isLost(error: unknown): boolean {
  const { kind, code } = toUnitError(error);
  return kind === "unavailable" && !/^(40001|40P01|42501|55P03|53...|57014)$/.test(code);
}

/** Whether a service that starts need not wait for it to pass: somebody has to act. */
export function isDenied(error: unknown): boolean {
  return DENIED.test(toUnitError(error).code);
}

/** Whether it waited for others that wait for it: nothing was changed. */
export function isDeadlock(error: unknown): boolean {
  return toUnitError(error).code === "40P01";
}

/** Whether somebody else has kept a lock for as long as it may be waited for: nothing was changed. */
export function isLocked(error: unknown): boolean {
  return toUnitError(error).code === "55P03";
}

/** Whether the server gave a statement up, which changed nothing. */
export function isOutOfTime(error: unknown): boolean {
  return toUnitError(error).code === "57014";
}
