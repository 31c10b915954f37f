import type { Log } from "../../shared/log.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import type { Call } from "./call.ts";

/** Told of a call that came over a proxy, of a webhook that lists addresses. */
export type ReportForwarded = (call: Call, webhook: WebhookRow) => void;

const WARNING =
  "A call of a webhook with allowed_addresses has X-Forwarded-For, and TRUSTED_PROXIES is empty: the " +
  "address that was looked at is the proxy's. If it is your proxy, add it to TRUSTED_PROXIES";

/** Webhooks that are told of, so that nobody fills the log. */
const MOST = 100;

/** Warns once for each webhook. @param hasProxies whether TRUSTED_PROXIES names any */
export function openForwardedWarning(log: Log, hasProxies: boolean): ReportForwarded {
  const told = new Set<string>();
  return ({ incoming, address }, { id, name }) => {
    if (hasProxies || incoming.headers["x-forwarded-for"] === undefined) return;
    if (told.has(id) || told.size >= MOST) return;
    told.add(id);
    log.warn({ webhook: name, peer: address }, WARNING);
  };
}
