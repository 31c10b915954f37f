import type { Principal } from "../access/login.ts";
import { readKey } from "../access/signature-key.ts";
import { schemesOf, type SignatureMember } from "../access/signature-scheme.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Unit } from "../store/statement.ts";
import { raiseRevisions, webhooksOfSecret } from "../store/webhook-secrets.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { findSecret, type SecretRow } from "../store/workspace.ts";
import type { Api } from "./api.ts";
import { joinNames } from "./in-use.ts";
import { invalid } from "./named.ts";
import { mayRead } from "./webhook-record.ts";

/** Secrets that webhooks check signatures with. */

export function toSignatureColumn(member: SignatureMember | null): Pick<WebhookRow, "signature"> {
  return { signature: member === null ? null : JSON.stringify(member) };
}

/**
 * @returns the secrets as they were seen
 * @throws RequestError invalid for one that is not here, or that the scheme cannot use
 */
export async function requireSecrets(
  { store, secrets }: Api,
  member: SignatureMember,
  path = "signature",
): Promise<SecretRow[]> {
  const [scheme] = schemesOf(member);
  const seen: SecretRow[] = [];
  for (const [at, name] of member.secrets.entries()) {
    const field = `${path}.secrets.${at}`;
    const row = await findSecret(store, name);
    if (row === undefined) throw invalid(field, `there is no secret "${name}"`);
    const key = readKey(name, secrets.open(name, row.sealed), scheme);
    if (typeof key === "string") throw invalid(field, `secret "${name}": ${key}`);
    seen.push(row);
  }
  return seen;
}

/**
 * @returns the webhooks that use it, as they were seen
 * @throws RequestError invalid where one could not use the new value
 */
export async function requireUsableValue(
  api: Api,
  principal: Principal,
  name: string,
  value: string,
): Promise<WebhookRow[]> {
  const webhooks = await webhooksOfSecret(api.store, name);
  for (const webhook of webhooks) {
    const [scheme] = schemesOf(JSON.parse(webhook.signature ?? "null") as SignatureMember);
    const key = readKey(name, value, scheme);
    if (typeof key !== "string") continue;
    const who = mayRead(api, principal, webhook) ? `webhook "${webhook.name}"` : "a webhook";
    throw invalid("value", `${key}, because ${who} checks signatures with it`);
  }
  return webhooks;
}

/** What is signed under the older value is void; writing the same value changes nothing. */
export function toRevisions(api: Api, name: string, sealed: string, value: string): Unit {
  return isSameValue(api, name, sealed, value) ? [] : [raiseRevisions(api.store, name)];
}

function isSameValue({ secrets }: Api, name: string, sealed: string, value: string): boolean {
  try {
    return secrets.open(name, sealed) === value;
  } catch {
    return false;
  }
}

/** @throws RequestError conflict naming the webhooks, as far as the principal may see them */
export async function requireUnused(api: Api, principal: Principal, name: string): Promise<void> {
  const webhooks = await webhooksOfSecret(api.store, name);
  if (webhooks.length === 0) return;
  const shown = webhooks.filter((webhook) => mayRead(api, principal, webhook));
  const users = joinNames(shown.map((webhook) => webhook.name));
  throw new RequestError(
    "conflict",
    `"${name}" is still used: signatures are checked with it by ` +
      (users || "webhooks that your roles do not show"),
  );
}
