import type { Algorithm, PresetName, SchemeName } from "../../shared/contract/signature-scheme.ts";

/**
 * How senders sign their calls. A preset is a row of the table below, in the words of `custom`.
 */

/** Where a sender says when it signed. */
export interface SentTime {
  readonly header?: string | undefined;
  /** Name of a candidate, `name=value`, in the signature's own header. */
  readonly parameter?: string | undefined;
  readonly unit: "s" | "ms";
}

/** A scheme spelled out; header names in lower case. */
export interface Scheme {
  readonly algorithm: Algorithm;
  readonly header: string;
  /** What each candidate begins with. */
  readonly prefix: string;
  /** Between candidates; null: there is one. */
  readonly separator: "," | " " | ";" | null;
  /** Name of the candidates that count, where they are `name=value`. */
  readonly parameter: string | null;
  readonly encoding: "hex" | "base64";
  readonly secret_encoding: "utf8" | "hex" | "base64" | "standard_webhooks";
  /** What is signed, with {body}, {timestamp}, {id}, {method} and {url} in their places. */
  readonly message: string;
  readonly timestamp: SentTime | null;
  readonly id_header: string | null;
  /** What tells its deliveries apart, as `header:` or `json:`; null: nothing does. */
  readonly delivery?: string | null;
}

/** As somebody else than this table spells one. */
export type CustomScheme = Scheme & { readonly secret_encoding: "utf8" | "hex" | "base64" };

/** What `custom` has unless it says otherwise. */
export const CUSTOM_DEFAULTS = {
  prefix: "",
  separator: null,
  parameter: null,
  encoding: "hex",
  secret_encoding: "utf8",
  message: "{body}",
  timestamp: null,
  id_header: null,
} as const satisfies Partial<Scheme>;

const HMAC = { ...CUSTOM_DEFAULTS, algorithm: "hmac-sha256" } as const;

/** Whose secrets are `whsec_` (HMAC, candidates `v1,`) or `whpk_` (Ed25519, `v1a,`). */
function standardWebhooks(family: "webhook" | "svix"): Scheme {
  return {
    ...HMAC,
    header: `${family}-signature`,
    separator: " ",
    prefix: "v1,",
    encoding: "base64",
    secret_encoding: "standard_webhooks",
    message: "{id}.{timestamp}.{body}",
    timestamp: { header: `${family}-timestamp`, unit: "s" },
    id_header: `${family}-id`,
    delivery: `header:${family}-id`,
  };
}

/** The first whose header a call has is the one that it is held against. */
export const PRESETS = {
  standard_webhooks: [standardWebhooks("webhook"), standardWebhooks("svix")],
  github: [
    {
      ...HMAC,
      header: "x-hub-signature-256",
      prefix: "sha256=",
      delivery: "header:x-github-delivery",
    },
  ],
  stripe: [
    {
      ...HMAC,
      header: "stripe-signature",
      separator: ",",
      parameter: "v1",
      message: "{timestamp}.{body}",
      timestamp: { parameter: "t", unit: "s" },
      delivery: "json:/id",
    },
  ],
  slack: [
    {
      ...HMAC,
      header: "x-slack-signature",
      prefix: "v0=",
      message: "v0:{timestamp}:{body}",
      timestamp: { header: "x-slack-request-timestamp", unit: "s" },
      delivery: "json:/event_id",
    },
  ],
  shopify: [
    {
      ...HMAC,
      header: "x-shopify-hmac-sha256",
      encoding: "base64",
      delivery: "header:x-shopify-webhook-id",
    },
  ],
  gitlab_token: [
    { ...HMAC, algorithm: "token", header: "x-gitlab-token", delivery: "header:idempotency-key" },
  ],
} as const satisfies Record<PresetName, readonly Scheme[]>;

/** How a webhook wants its calls signed, as it is stored; secrets by their names. */
export interface SignatureMember {
  readonly scheme: SchemeName;
  readonly secrets: string[];
  readonly mode: "enforce" | "observe";
  /** null: the scheme has no timestamp. */
  readonly tolerance_sec: number | null;
  readonly custom: CustomScheme | null;
}

/** @returns the scheme, or those of which a call uses one */
export function schemesOf({
  scheme,
  custom,
}: Pick<SignatureMember, "scheme" | "custom">): readonly [Scheme, ...Scheme[]] {
  if (scheme !== "custom") return PRESETS[scheme];
  if (custom === null) throw new Error("A custom scheme is not spelled out");
  return [custom];
}

const PLACE = /\{(\w+)\}/;

/** What can stand in a message. */
export const PLACES = ["body", "timestamp", "id", "method", "url"] as const;

export type Place = (typeof PLACES)[number];

/** A part of a message: a text, or what stands for something of the call. */
export type MessagePart = { readonly text: string } | { readonly place: Place };

/** A message in its parts; the words in braces are places. */
export function readMessage(message: string): MessagePart[] {
  return message
    .split(PLACE)
    .map((part, at) => (at % 2 === 0 ? { text: part } : { place: part as Place }));
}

/** The words in braces of a message. */
export function placesOf(message: string): string[] {
  return message.split(PLACE).filter((_, at) => at % 2 === 1);
}

/** What tells deliveries of a scheme apart; null: nothing does. */
export function deliveryOf({ delivery, id_header }: Scheme): string | null {
  return delivery ?? (id_header === null ? null : `header:${id_header}`);
}
