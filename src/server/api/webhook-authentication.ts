import {
  AUTHENTICATED_WEBHOOK,
  WEBHOOK_AUTHENTICATION,
  type WebhookAuthentication,
} from "../../shared/contract/webhook.ts";
import { generateKey, hashKey } from "../access/api-key.ts";
import { requirePassword, type Principal } from "../access/login.ts";
import type { SignatureMember } from "../access/signature-scheme.ts";
import { holdSecrets, putWebhookSecrets, raiseRevision } from "../store/webhook-secrets.ts";
import { updateWebhook, type WebhookRow } from "../store/webhooks.ts";
import { requireIn, requireUsable } from "./access.ts";
import type { Api } from "./api.ts";
import { changesOf } from "./audit-changes.ts";
import { toAddressColumn } from "./limit-members.ts";
import { requireIdempotency } from "./idempotency-member.ts";
import { defineRoute } from "./route.ts";
import { commitNamed, nextTime, requireMatch, toEtag } from "./named.ts";
import { answerWebhook, projectOf, requireWebhook } from "./webhook-record.ts";
import { requireLimits } from "./webhook-limits.ts";
import { toSignature } from "./signature-member.ts";
import { requireSecrets, toSignatureColumn } from "./signature-secrets.ts";

/** The webhook authentication endpoint (section 4.8). */
export const authenticateWebhook = defineRoute({
  method: "PUT",
  path: "/webhook/:name/authentication",
  summary: "Enable or disable a webhook, require a login, a key, signatures or addresses",
  needs: "webhook.authenticate",
  action: "webhook.authenticate",
  body: WEBHOOK_AUTHENTICATION,
  example: {
    password: "your own password",
    is_enabled: true,
    key: { generate: true },
    keep_previous_sec: 3600,
  },
  answer: AUTHENTICATED_WEBHOOK,
  async act(api, { principal, params, body, base_url, ifMatch }) {
    const row = await requireWebhook(api, principal, params["name"] ?? "");
    requireIn(principal, "webhook.authenticate", projectOf(api, row));
    await requireUsable(api.store, principal, api.permissionsOf(row));
    await requirePassword(api.logins, principal, body.password);
    requireMatch(row, ifMatch);
    const key = newKey(body);
    const signature = newSignature(api, principal, row, body);
    const secrets = signature ? await requireSecrets(api, signature) : [];
    // Nothing else: when a key was used, and what secrets are worth, may be written meanwhile.
    const change: Partial<WebhookRow> = {
      is_enabled: Number(body.is_enabled ?? row.is_enabled === 1),
      require_login: Number(body.require_login ?? row.require_login === 1),
      ...(key === undefined ? {} : toKeyColumns(row, key, body.keep_previous_sec)),
      ...(body.allowed_addresses === undefined
        ? {}
        : { allowed_addresses: toAddressColumn(body.allowed_addresses) }),
      ...(signature === undefined ? {} : toSignatureColumn(signature)),
      modified_by: principal.user_id,
      modified_at: nextTime(row),
    };
    const changed = { ...row, ...change };
    requireIdempotency(changed);
    requireLimits(changed);
    await commitNamed(api.store, row.name, [
      ...holdSecrets(api.store, secrets),
      updateWebhook(api.store, row.id, row.modified_at, change),
      ...(signature === undefined
        ? []
        : [
            raiseRevision(api.store, row.id),
            ...putWebhookSecrets(api.store, row.id, signature?.secrets ?? []),
          ]),
    ]);
    const webhook = await answerWebhook(api, changed, base_url);
    const answer = typeof key === "string" ? { ...webhook, key } : webhook;
    const changes = changesOf("webhook", await answerWebhook(api, row, base_url), webhook);
    return { status: 200, body: answer, headers: { etag: toEtag(changed) }, changes };
  },
});

/** undefined: it stays as it is; null: no key. */
function newKey({ key }: WebhookAuthentication): string | null | undefined {
  return typeof key === "object" && key !== null ? generateKey() : key;
}

function toKeyColumns(row: WebhookRow, key: string | null, keepSec: number): Partial<WebhookRow> {
  const isKept = keepSec > 0 && key !== null && row.key_hash !== null;
  return {
    key_hash: key === null ? null : hashKey(key),
    previous_key_hash: isKept ? row.key_hash : null,
    previous_key_until: isKept ? nextTime(row) + keepSec * 1000 : null,
    key_used_at: null,
    previous_key_used_at: isKept ? row.key_used_at : null,
  };
}

/**
 * undefined: it stays as it is; null: none.
 *
 * @throws RequestError invalid, or forbidden for who may not use secrets
 */
function newSignature(
  api: Api,
  principal: Principal,
  row: WebhookRow,
  { signature }: WebhookAuthentication,
): SignatureMember | null | undefined {
  if (signature === undefined || signature === null) return signature;
  requireIn(principal, "secret.use", projectOf(api, row));
  return toSignature(signature, api.base_url);
}
