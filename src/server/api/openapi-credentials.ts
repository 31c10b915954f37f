import { schemesOf, type Scheme, type SignatureMember } from "../access/signature-scheme.ts";
import type { WebhookRow } from "../store/webhooks.ts";

type Requirement = Readonly<Record<string, readonly string[]>>;

/** What a webhook requires of its callers, in the words of OpenAPI. */
export interface Credentials {
  /** Any one of these; empty: nothing is required. */
  readonly security: readonly Requirement[];
  readonly schemes: Readonly<Record<string, object>>;
  /** Headers that a signature needs beside its own. */
  readonly parameters: readonly Readonly<Record<string, unknown>>[];
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
  const parameters = describeSigned(webhook);
  if (required.length === 0) return { security: [], schemes, parameters };
  // One of each: all that is required must be there.
  const combine = (combined: readonly Requirement[], one: object): Requirement[] =>
    combined.flatMap((before) => Object.keys(one).map((name) => ({ ...before, [name]: [] })));
  const security = required.reduce<readonly Requirement[]>(combine, [{}]);
  return { security, schemes, parameters };
}

/** The scheme that calls are held against; null: they are admitted without a signature too. */
function findEnforced({ signature }: WebhookRow): { name: string; scheme: Scheme } | null {
  if (signature === null) return null;
  const member = JSON.parse(signature) as SignatureMember;
  return member.mode === "enforce" ? { name: member.scheme, scheme: schemesOf(member)[0] } : null;
}

function describeSignature(webhook: WebhookRow): Record<string, object> | null {
  const enforced = findEnforced(webhook);
  if (enforced === null) return null;
  const { header, algorithm, message } = enforced.scheme;
  const signed = message === "{body}" ? "the body" : message;
  const what = algorithm === "token" ? "The secret itself" : `A signature of ${signed}`;
  const description = `${what}, by the scheme "${enforced.name}"`;
  return { [`signature-${header}`]: { type: "apiKey", in: "header", name: header, description } };
}

function describeSigned(webhook: WebhookRow): Credentials["parameters"] {
  const enforced = findEnforced(webhook);
  if (enforced === null) return [];
  const { timestamp, id_header, message } = enforced.scheme;
  const toParameter = (name: string, description: string) => {
    return { name, in: "header", required: true, description, schema: { type: "string" } };
  };
  const unit = timestamp?.unit === "ms" ? "milliseconds" : "seconds";
  const time = `When the call was signed, in ${unit} since 1970`;
  return [
    ...(timestamp?.header === undefined ? [] : [toParameter(timestamp.header, time)]),
    ...(id_header !== null && message.includes("{id}")
      ? [toParameter(id_header, "What tells the call from others, as it is signed")]
      : []),
  ];
}
