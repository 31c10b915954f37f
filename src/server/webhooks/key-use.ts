import type { KeyKind } from "../access/api-key.ts";
import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import { touchKey, type WebhookRow } from "../store/webhooks.ts";

/** Writes down when a webhook's key was last used; a call does not wait for it. */
export type ReportKeyUse = (webhook: WebhookRow, kind: KeyKind) => void;

/** How long a later use may go unwritten. */
const WRITE_INTERVAL_MS = 60_000;

export function openKeyUse(store: Store, log: Log): ReportKeyUse {
  return (webhook, kind) => {
    const column = kind === "current" ? "key_used_at" : "previous_key_used_at";
    const at = now();
    if (at - (webhook[column] ?? 0) < WRITE_INTERVAL_MS) return;
    store.commit([touchKey(store, webhook.id, { [column]: at })]).catch((error: unknown) => {
      log.warn({ webhook: webhook.name, error: String(error) }, "Cannot write the use of a key");
    });
  };
}
