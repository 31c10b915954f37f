import type { Webhook } from "./resources.ts";

/** Those of the schemes that are one sender's, which takes a URL and a secret and no key. */
const SENDERS: Readonly<Record<string, string>> = {
  github: "GitHub",
  stripe: "Stripe",
  slack: "Slack",
  shopify: "Shopify",
  gitlab_token: "GitLab",
};

/** What is to be done where calls are signed and need a key as well; null: they need none. */
export function keyBesideSignature({ is_key_required, signature }: Webhook): string | null {
  if (!is_key_required || signature === null) return null;
  const sender = SENDERS[signature.scheme] ?? "A sender that signs";
  const fails = `Calls need the key of this webhook as well. ${sender} usually sends none, and is then answered with 401.`;
  return signature.mode === "enforce"
    ? `${fails} The signature already shows who calls: remove the key.`
    : `${fails} Signatures are only observed: refuse wrong ones first, then remove the key.`;
}
