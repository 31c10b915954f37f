/** Names of schemes by which calls are signed; what each stands for, only the service knows. */

export const ALGORITHMS = ["hmac-sha256", "hmac-sha512", "hmac-sha1", "ed25519", "token"] as const;

export type Algorithm = (typeof ALGORITHMS)[number];

export const PRESET_NAMES = [
  "standard_webhooks",
  "github",
  "stripe",
  "slack",
  "shopify",
  "gitlab_token",
] as const;

export type PresetName = (typeof PRESET_NAMES)[number];

export const SCHEME_NAMES = [...PRESET_NAMES, "custom"] as const;

export type SchemeName = (typeof SCHEME_NAMES)[number];
