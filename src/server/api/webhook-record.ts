import type { Webhook } from "../../shared/contract/webhook.ts";
import type { Principal } from "../access/login.ts";
import { toIso } from "../../shared/clock.ts";
import { findRole } from "../store/people.ts";
import { findWebhook, listWebhooks, type WebhookRow, type Within } from "../store/webhooks.ts";
import { isVisible, visibleProjects } from "./access.ts";
import type { Api } from "./api.ts";
import { showAddresses } from "./limit-members.ts";
import { missing, MOST_NAMES, namesOf } from "./missing.ts";
import { showSignature } from "./signature-member.ts";
import { toMembers } from "../store/webhook-columns.ts";

/** A webhook as the API shows it; its key is never part of it. */
export function toWebhook(
  row: WebhookRow,
  more: { role: string | null; base_url: string; call_mode: Webhook["call_mode"] },
): Webhook {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    flow: row.flow,
    role: more.role,
    project_id: row.project_id,
    bundle_id: row.bundle_id,
    is_enabled: row.is_enabled === 1,
    is_productive: row.is_productive === 1,
    require_login: row.require_login === 1,
    is_key_required: row.key_hash !== null,
    key_used_at: toIso(row.key_used_at),
    previous_key_until: toIso(row.previous_key_until),
    previous_key_used_at: toIso(row.previous_key_used_at),
    execution_location: row.execution_location,
    call_mode: more.call_mode,
    ...toMembers(row),
    signature: showSignature(row.signature),
    allowed_addresses: showAddresses(row.allowed_addresses),
    url: `${more.base_url}/api/latest/webhook/${encodeURIComponent(row.name)}/call`,
    created_by: row.created_by,
    created_at: toIso(row.created_at),
    modified_by: row.modified_by,
    modified_at: toIso(row.modified_at),
  };
}

export function projectOf(api: Api, row: Pick<WebhookRow, "project_id" | "bundle_id">): string {
  return (row.bundle_id === null ? row.project_id : null) ?? api.defaultProjectId;
}

/** Whether a webhook is to be seen. */
export function mayRead(
  api: Api,
  principal: Principal,
  row: Pick<WebhookRow, "project_id" | "bundle_id">,
): boolean {
  return isVisible(principal, "webhook.read", projectOf(api, row));
}

/** @throws RequestError not_found, also where the principal may not see it */
export async function requireWebhook(
  api: Api,
  principal: Principal,
  name: string,
): Promise<WebhookRow> {
  const row = await findWebhook(api.store, name.normalize("NFC"));
  if (row !== undefined && mayRead(api, principal, row)) return row;
  const limit = MOST_NAMES;
  const known = listWebhooks(api.store, { within: withinVisible(api, principal), limit });
  throw missing("webhook", name, await namesOf(known));
}

/** Where the webhooks are that the principal may see; null: anywhere. */
export function withinVisible(api: Api, principal: Principal): Within | null {
  const projectIds = visibleProjects(principal, "webhook.read");
  const { defaultProjectId } = api;
  return projectIds === null ? null : { projectIds, defaultProjectId };
}

export async function answerWebhook(api: Api, row: WebhookRow, base_url: string): Promise<Webhook> {
  const role = row.role_id === null ? undefined : await findRole(api.store, row.role_id);
  return toWebhook(row, { role: role?.name ?? null, base_url, call_mode: api.callModeOf(row) });
}
