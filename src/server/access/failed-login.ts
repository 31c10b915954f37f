import type { Log } from "../../shared/log.ts";
import type { Meters } from "../metrics/meters.ts";
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

export interface FailureReportOptions {
  readonly log: Log;
  readonly meters: Pick<Meters, "countFailedLogin">;
}

const LOCKED: Readonly<Record<Locked, string>> = {
  subject: "this user from this address",
  address: "everybody from this address",
};

/** Tells of each wrong password, and once more of the last that is checked for a while. */
export function openFailureReport({ log, meters }: FailureReportOptions) {
  return (what: string, { user, address, locked }: FailedLogin): void => {
    meters.countFailedLogin(locked !== null);
    const members = { user: user?.name ?? null, address };
    log.warn(members, what);
    if (locked !== null)
      log.warn(members, `Too many failed attempts: ${LOCKED[locked]} is locked out for a while`);
  };
}
