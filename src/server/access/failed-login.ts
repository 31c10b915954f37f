import type { Log } from "../../shared/log.ts";
import type { Locked } from "./lockout.ts";

/** A password that was wrong. */
export interface FailedLogin {
  /** undefined: there is none of this name, which may be a password in the wrong field. */
  readonly user: { readonly name: string } | undefined;
  /** Of the client. */
  readonly address: string;
  /** What this failure has locked; null: nothing. */
  readonly locked: Locked | null;
}

const LOCKED: Readonly<Record<Locked, string>> = {
  subject: "this user from this address",
  address: "everybody from this address",
};

/** A line for each wrong password, and one where it was the last that is checked for a while. */
export function logFailure(log: Log, what: string, { user, address, locked }: FailedLogin): void {
  const members = { user: user?.name ?? null, address };
  log.warn(members, what);
  if (locked !== null)
    log.warn(members, `Too many failed attempts: ${LOCKED[locked]} is locked out for a while`);
}
