import { readAll } from "./api.ts";
import { el } from "./element.ts";
import { field } from "./field.ts";
import { valueOf } from "./form.ts";
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

export async function signatureFields({ signature }: Webhook): Promise<HTMLElement[]> {
  const names = may("secret.write") ? (await readAll<Named>("secret")).map(({ name }) => name) : [];
  const hint = names.length === 0 ? "" : ` Here are: ${names.join(", ")}.`;
  return [
    field({
      name: "scheme",
      label: "Who signs",
      choices: SCHEMES,
      value: signature?.scheme ?? "standard_webhooks",
    }),
    field({
      name: "secrets",
      label: "Secrets",
      hint: `Names of secrets, separated by commas; any of them admits, so that one can be replaced without a refused call.${hint}`,
      value: signature?.secrets.join(", ") ?? "",
      required: true,
    }),
    field({
      name: "mode",
      label: "A wrong signature",
      choices: [
        ["enforce", "is refused with 401"],
        ["observe", "is logged, and the call admitted"],
      ],
      value: signature?.mode ?? "enforce",
    }),
    field({
      name: "tolerance_sec",
      label: "Seconds that a timestamp may be old or new",
      hint: "300 unless it says otherwise, up to 3600; leave it empty for schemes without a timestamp.",
      value: String(signature?.tolerance_sec ?? ""),
    }),
    field({
      name: "custom",
      label: "Another scheme",
      hint: "JSON, for the last choice only.",
      rows: 6,
      value:
        signature?.custom === null || signature === null
          ? ""
          : JSON.stringify(signature.custom, null, 2),
    }),
    el("details", {}, el("summary", {}, "An example of another scheme"), el("pre", {}, CUSTOM)),
  ];
}

/** @throws Error where the other scheme is no JSON */
export function toSignatureBody(form: HTMLFormElement): Record<string, unknown> {
  const tolerance = valueOf(form, "tolerance_sec").trim();
  const custom = valueOf(form, "custom").trim();
  const scheme = valueOf(form, "scheme");
  return {
    signature: {
      scheme,
      secrets: valueOf(form, "secrets")
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== ""),
      mode: valueOf(form, "mode"),
      ...(tolerance === "" ? {} : { tolerance_sec: Number(tolerance) }),
      ...(scheme !== "custom" || custom === "" ? {} : { custom: toJson(custom) }),
    },
  };
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error("The other scheme is not JSON", { cause: error });
  }
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
