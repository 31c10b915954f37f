import type { AuthenticatedWebhook as Webhook } from "../shared/contract/webhook.ts";

import { printFields } from "./table.ts";

/** Said in other words, or of no use to people. */
const OTHERWISE = [
  "id",
  "name",
  "is_enabled",
  "is_productive",
  "require_login",
  "flow",
  "role",
  "call_mode",
];

/** All that a webhook has, for people; what is null is left out. */
export function printMembers(webhook: Webhook): void {
  printWebhook(webhook);
  const rest = Object.entries(webhook).filter(
    ([member]) => ![...OTHERWISE, "is_key_required", "url"].includes(member),
  );
  const toText = (value: unknown): unknown =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : value;
  const shown = rest.filter(([, value]) => !isEmpty(value));
  process.stdout.write("\n");
  const members = Object.fromEntries(shown.map(([member, value]) => [member, toText(value)]));
  printFields({ "calls get": ANSWERS[webhook.call_mode], ...members });
}

/** What a call gets that does not say it itself: by two members, and the configuration. */
const ANSWERS: Readonly<Record<Webhook["call_mode"], string>> = {
  async: "the execution's id",
  redirect: "redirects to the result",
  hold: "the result",
};

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** One webhook for people, with its key where it was set just now. */
export function printWebhook(webhook: Webhook): void {
  const { name, flow, role, url, key } = webhook;
  printFields({
    name,
    enabled: webhook.is_enabled ? "yes" : "no",
    mode: webhook.is_productive ? "productive" : "development",
    admits: describeAdmission(webhook),
    flow,
    role,
    url,
    ...(webhook.signature === null ? {} : { signature: describeSignature(webhook.signature) }),
    ...(webhook.signature === null ? {} : { "for sender": senderUrl(webhook) }),
    ...(key === undefined ? {} : { key: `${key}  (shown this once)` }),
  });
}

function describeSignature({ scheme, mode }: NonNullable<Webhook["signature"]>): string {
  return mode === "observe" ? `${scheme}, observed` : scheme;
}

/** What a caller has to have. */
export function describeAdmission({ require_login, is_key_required, signature }: Webhook): string {
  const isEnforced = signature !== null && signature.mode === "enforce";
  const needed = [
    ...(require_login ? ["login"] : []),
    ...(is_key_required ? ["key"] : []),
    ...(isEnforced ? ["signature"] : []),
  ];
  return needed.join(" and ") || "everybody";
}

/** What a system that signs its calls is given: most take a redirect for a failure. */
function senderUrl({ url, default_mode }: Webhook): string {
  return default_mode === "async" ? url : `${url}?async`;
}
