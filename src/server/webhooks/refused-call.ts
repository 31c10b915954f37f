import { createHash } from "node:crypto";
import { GENERATED } from "../access/api-key.ts";
import { findBearer, listTokens, TOKEN_HEADER } from "../access/credentials.ts";
import { schemesOf, type SignatureMember } from "../access/signature-scheme.ts";
import { now } from "../../shared/clock.ts";
import { SECRET_HEADER } from "../../shared/secret-header.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import type { Call } from "./call.ts";
import { openRedaction, REDACTED, type Redact } from "./redaction.ts";
import type { RefusedCall } from "../request/refused-calls.ts";
import { KEY } from "./target.ts";

/** What a refusal says of itself. */
export type RefusalWords = Pick<RefusedCall, "code" | "reason" | "status">;

/** A refused call as it is kept: what is secret or may be is left out, and nothing is long. */
export function toRefusedCall(call: Call, webhook: WebhookRow, words: RefusalWords): RefusedCall {
  const { incoming, method, address, body, body_bytes } = call;
  const redact = redactionOf(call);
  const path = (incoming.url ?? "").split("?")[0] ?? "";
  return {
    at: now(),
    ...words,
    reason: cut(redact(words.reason)),
    method,
    path: cut(redact(path)),
    address,
    request_id: redact(call.request_id),
    headers: toHeaders(call, readSchemeHeaders(webhook), redact),
    body_bytes: body === null ? null : body_bytes,
    body_sha256: body === null ? null : hashOf(call, body),
  };
}

/** null: it was lost with the thread that its bytes had moved to. */
function hashOf({ bodyHash, body_bytes, movedText }: Call, body: Buffer): string | null {
  if (bodyHash !== null) return bodyHash;
  const sent = body.length === body_bytes ? body : movedText;
  return sent === null ? null : createHash("sha256").update(sent).digest("hex");
}

/**
 * Hides keys and tokens wherever else in the request they are repeated, right or wrong, and what looks
 * like one: it may be right, and have been sent in a wrong place.
 */
export function redactionOf(call: Call): Redact {
  const redact = openRedaction(secretsOf(call));
  return (text) => redact(text).replace(GENERATED, REDACTED);
}

function secretsOf({ incoming, query, secrets }: Call): string[] {
  const sent = [query.get(KEY), findBearer(incoming.headers.authorization)];
  const keys = sent.filter((text): text is string => text !== null && text.length <= MOST_LENGTH);
  return [...listTokens(incoming.headers), ...keys, ...secrets];
}

const MOST_HEADERS = 64;
const MOST_LENGTH = 512;
/** Of all headers together but the signature's own: further ones are left out. */
const MOST_TEXT = 4096;

const HIDDEN = "…";

/** A scheme can have its signature there; a password of another caller comes there as well. */
const NEVER_PLAIN = ["authorization", "proxy-authorization", "cookie", TOKEN_HEADER];

function toHeaders(
  { incoming }: Call,
  { plain, secret }: SchemeHeaders,
  redact: Redact,
): Record<string, string> {
  const shown = Object.create(null) as Record<string, string>;
  let room = MOST_TEXT;
  for (const [name, value] of Object.entries(incoming.headers).slice(0, MOST_HEADERS)) {
    const text = Array.isArray(value) ? value.join(", ") : (value ?? "");
    const isPlain = plain.includes(name) && !NEVER_PLAIN.includes(name);
    const isHidden = secret.includes(name) || (SECRET_HEADER.test(name) && !isPlain);
    const label = cut(redact(name));
    const kept = isHidden ? HIDDEN : cut(redact(text));
    if (!isPlain) room -= label.length + kept.length;
    if (isPlain || room >= 0) shown[label] = kept;
  }
  return shown;
}

/** A string of its own: a part of another would keep the whole in memory. */
function cut(text: string): string {
  const kept = text.length > MOST_LENGTH ? text.slice(0, MOST_LENGTH) + HIDDEN : text;
  return Buffer.from(kept).toString();
}

/** What a webhook's own scheme says of the headers of its calls. */
interface SchemeHeaders {
  /** Of signatures, which are no secrets, whatever the names. */
  readonly plain: readonly string[];
  /** Those that are the secret itself. */
  readonly secret: readonly string[];
}

function readSchemeHeaders({ signature }: WebhookRow): SchemeHeaders {
  if (signature === null) return { plain: [], secret: [] };
  const schemes = schemesOf(JSON.parse(signature) as SignatureMember);
  const headersOf = (isToken: boolean): string[] =>
    schemes.filter(({ algorithm }) => (algorithm === "token") === isToken).map((s) => s.header);
  const others = schemes.flatMap(({ timestamp, id_header }) => [timestamp?.header, id_header]);
  const secret = headersOf(true);
  const plain = [...headersOf(false), ...others.filter((name) => typeof name === "string")];
  return { plain, secret };
}
