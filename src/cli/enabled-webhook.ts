import { hashKey } from "../server/access/api-key.ts";
import type { Store } from "../server/store/store.ts";
import { findRoleByName, findUserByName } from "../server/store/people.ts";
import { WEBHOOK_DEFAULTS } from "../server/store/webhook-columns.ts";
import { insertWebhook, type WebhookRow } from "../server/store/webhooks.ts";
import { now } from "../shared/clock.ts";
import { newId } from "../shared/id.ts";

export interface EnabledWebhook {
  /** Of the flow, and of the webhook. */
  readonly flow: string;
  readonly description: string;
  /** null: whoever reaches the service may call it. */
  readonly key: string | null;
}

/** Creates a webhook that answers at once: of the demo, or of the author's own service. */
export async function putEnabledWebhook(
  store: Store,
  { flow, description, key }: EnabledWebhook,
): Promise<void> {
  const admin = await findUserByName(store, "admin");
  const role = await findRoleByName(store, "webhook");
  const at = now();
  const by = admin?.id ?? "";
  const row: WebhookRow = {
    id: newId(),
    name: flow,
    description,
    flow,
    role_id: role?.id ?? null,
    project_id: null,
    bundle_id: null,
    is_enabled: 1,
    is_productive: 1,
    require_login: 0,
    key_hash: key === null ? null : hashKey(key),
    previous_key_hash: null,
    previous_key_until: null,
    key_used_at: null,
    previous_key_used_at: null,
    ...WEBHOOK_DEFAULTS,
    execution_location: "webhook",
    created_by: by,
    created_at: at,
    modified_by: by,
    modified_at: at,
  };
  await store.commit([insertWebhook(store, row)]);
}
