import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import { openEntry } from "./audit-entry.ts";
import { openAuditRateLimit } from "./audit-rate-limit.ts";
import { login } from "./auth.ts";

/** A login elsewhere than at the API's own route: at the login screen. */
export interface ScreenLogin {
  readonly user_name: string;
  readonly address: string;
  /** As of the route: `200`, or the code of the refusal. */
  readonly result: string;
}

/** Failed ones in one minute. */
const FAILED_PER_MINUTE = 300;

/** Writes logins of the login screen into the audit, as those of the API's route. */
export function openLoginAudit(deps: {
  readonly store: Store;
  readonly log: Log;
}): (made: ScreenLogin) => Promise<void> {
  const auditRateLimit = openAuditRateLimit(deps.log, FAILED_PER_MINUTE);
  return async ({ user_name, address, result }) => {
    const entry = openEntry({ store: deps.store, auditRateLimit }, login, { address, params: {} });
    entry.given({ user_name, password: "" });
    await entry.close(result);
  };
}
