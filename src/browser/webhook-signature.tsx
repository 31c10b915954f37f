import { readAll } from "./api.ts";
import { Field } from "./field.tsx";
import { jsonOf, textOf } from "./form.tsx";
import { useLoaded } from "./loaded.ts";
import { may } from "./page.ts";
import type { Named, Webhook } from "./resources.ts";

/** How a webhook checks signatures: the dialog that sets it, and its words for people. */

const SCHEMES = [
  ["standard_webhooks", "Standard Webhooks (Svix, OpenAI, GitLab and others)"],
  ["github", "GitHub"],
  ["stripe", "Stripe"],
  ["slack", "Slack"],
  ["shopify", "Shopify"],
  ["gitlab_token", "GitLab's secret token"],
  ["custom", "Another one, spelled out below"],
] as const;

const CUSTOM = `{
  "algorithm": "hmac-sha256",
  "header": "x-signature",
  "encoding": "hex",
  "message": "{body}"
}`;

const MODES = [
  ["enforce", "is refused with 401"],
  ["observe", "is logged, and the call admitted"],
] as const;

export function SignatureFields({ webhook: { signature } }: { webhook: Webhook }) {
  const [secrets] = useLoaded(() =>
    may("secret.write") ? readAll<Named>("secret") : Promise.resolve([]),
  );
  const names = (secrets ?? []).map(({ name }) => name).join(", ");
  const known = names === "" ? "" : ` Here are: ${names}.`;
  const custom = signature?.custom ?? null;
  return (
    <>
      <Field
        name="scheme"
        label="Who signs"
        choices={SCHEMES}
        value={signature?.scheme ?? "standard_webhooks"}
      />
      <Field
        name="secrets"
        label="Secrets"
        hint={`Names of secrets, separated by commas; any of them admits, so that one can be replaced without a refused call.${known}`}
        value={signature?.secrets.join(", ") ?? ""}
        isRequired
      />
      <Field
        name="mode"
        label="A wrong signature"
        choices={MODES}
        value={signature?.mode ?? "enforce"}
      />
      <Field
        name="tolerance_sec"
        label="Seconds that a timestamp may be old or new"
        hint="300 unless it says otherwise, up to 3600; leave it empty for schemes without a timestamp."
        value={String(signature?.tolerance_sec ?? "")}
      />
      <Field
        name="custom"
        label="Another scheme"
        hint="JSON, for the last choice only."
        rows={6}
        value={custom === null ? "" : JSON.stringify(custom, null, 2)}
      />
      <details>
        <summary>An example of another scheme</summary>
        <pre>{CUSTOM}</pre>
      </details>
    </>
  );
}

/** @throws FieldError where the other scheme is no JSON */
export function toSignatureBody(values: FormData): Record<string, unknown> {
  const tolerance = textOf(values, "tolerance_sec").trim();
  const scheme = textOf(values, "scheme");
  const isCustom = scheme === "custom" && textOf(values, "custom").trim() !== "";
  return {
    signature: {
      scheme,
      secrets: textOf(values, "secrets")
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== ""),
      mode: textOf(values, "mode"),
      ...(tolerance === "" ? {} : { tolerance_sec: Number(tolerance) }),
      ...(isCustom ? { custom: jsonOf(values, "custom") } : {}),
    },
  };
}

export function describeSignature({ signature }: Webhook): string {
  if (signature === null) return "Calls need not be signed.";
  const label = SCHEMES.find(([scheme]) => scheme === signature.scheme)?.[1] ?? signature.scheme;
  const secrets = signature.secrets.join(", ");
  const words =
    signature.mode === "observe" ? "Signatures are checked and logged" : "Calls are signed";
  const isOnce = ["standard_webhooks", "stripe", "slack"].includes(signature.scheme);
  const replay = isOnce
    ? "A signature admits one execution."
    : "A copied call can be repeated unless its time and its id are signed.";
  return `${words}: ${label}, with ${secrets}. ${replay}`;
}

/** What a system that signs is given: most take a redirect for a failure. */
export function senderUrl({ url, default_mode }: Webhook): string {
  return default_mode === "async" ? url : `${url}?async`;
}
