import { schemesOf, type SignatureMember } from "../access/signature-scheme.ts";
import type { WebhookRow } from "../store/webhooks.ts";

type Requirement = Readonly<Record<string, readonly string[]>>;

/** What a webhook requires of its callers, in the words of OpenAPI. */
export interface Credentials {
  /** Any one of these; empty: nothing is required. */
  readonly security: readonly Requirement[];
  readonly schemes: Readonly<Record<string, object>>;
}

const KEY = {
  key: { type: "http", scheme: "bearer", description: "The API key of the webhook" },
  keyInQuery: { type: "apiKey", in: "query", name: "key" },
};

const LOGIN = {
  token: { type: "apiKey", in: "header", name: "x-service-token" },
  cookie: { type: "apiKey", in: "cookie", name: "service-token" },
};

export function describeCredentials(webhook: WebhookRow): Credentials {
  const signature = describeSignature(webhook);
  const required = [
    ...(webhook.key_hash === null ? [] : [KEY]),
    ...(webhook.require_login === 1 ? [LOGIN] : []),
    ...(signature === null ? [] : [signature]),
  ];
  const schemes = Object.assign({}, ...required) as Credentials["schemes"];
  if (required.length === 0) return { security: [], schemes };
  // One of each: all that is required must be there.
  const combine = (combined: readonly Requirement[], one: object): Requirement[] =>
    combined.flatMap((before) => Object.keys(one).map((name) => ({ ...before, [name]: [] })));
  return { security: required.reduce<readonly Requirement[]>(combine, [{}]), schemes };
}

function describeSignature({ signature }: WebhookRow): Record<string, object> | null {
  if (signature === null) return null;
  const member = JSON.parse(signature) as SignatureMember;
  if (member.mode !== "enforce") return null;
  const [{ header }] = schemesOf(member);
  const description = `A signature of the body, by the scheme "${member.scheme}"`;
  return { [`signature-${header}`]: { type: "apiKey", in: "header", name: header, description } };
}
