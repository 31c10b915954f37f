import { useState } from "hono/jsx/dom";
import { CustomFields, toCustom } from "./custom-signature.tsx";
import { ErrorLine, Field, SteadyFields } from "./field.tsx";
import { numberOf, textOf } from "./form-values.ts";
import { SecretChoice, secretsOf } from "./secret-choice.tsx";
import type { Webhook } from "./resources.ts";

/** How a webhook checks signatures: the dialog that sets it, and its words for people. */

const SCHEMES = [
  ["standard_webhooks", "Standard Webhooks (Svix, OpenAI, GitLab and others)"],
  ["github", "GitHub"],
  ["stripe", "Stripe"],
  ["slack", "Slack"],
  ["shopify", "Shopify"],
  ["gitlab_token", "GitLab's secret token"],
  ["custom", "Another one"],
] as const;

/** Those whose calls say when they were signed; of another one its fields decide. */
const TIMED = ["standard_webhooks", "stripe", "slack", "custom"];

const MODES = [
  ["enforce", "is refused with 401"],
  ["observe", "is logged, and the call admitted"],
] as const;

export function SignatureFields({ webhook: { signature } }: { webhook: Webhook }) {
  const [scheme, setScheme] = useState<string>(signature?.scheme ?? "standard_webhooks");
  return (
    <SteadyFields>
      <Field
        name="signature.scheme"
        label="Who signs"
        choices={SCHEMES}
        value={scheme}
        onInput={setScheme}
      />
      <SecretChoice name="signature.secrets" chosen={signature?.secrets ?? []} />
      <Field
        name="signature.mode"
        label="A wrong signature"
        hint="Default: it is refused."
        choices={MODES}
        value={signature?.mode ?? "enforce"}
      />
      {scheme === "custom" ? <CustomFields custom={signature?.custom ?? null} /> : null}
      {TIMED.includes(scheme) ? (
        <Field
          name="signature.tolerance_sec"
          label="Seconds that its time may be old or new"
          hint="Default: empty, 300 where a time is signed. At most 3600; others get 401."
          value={String(signature?.tolerance_sec ?? "")}
        />
      ) : null}
      <ErrorLine name="signature" />
    </SteadyFields>
  );
}

export function toSignatureBody(values: FormData): Record<string, unknown> {
  const toleranceSec = numberOf(values, "signature.tolerance_sec");
  const scheme = textOf(values, "signature.scheme");
  return {
    signature: {
      scheme,
      secrets: secretsOf(values, "signature.secrets"),
      mode: textOf(values, "signature.mode"),
      ...(toleranceSec === null ? {} : { tolerance_sec: toleranceSec }),
      ...(scheme === "custom" ? { custom: toCustom(values) } : {}),
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
