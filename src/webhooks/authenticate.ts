import { matchKey, type KeyKind } from "../access/api-key.ts";
import { findBearer, findToken, isCrossSite, isNavigation } from "../access/credentials.ts";
import type { Logins, Principal } from "../access/login.ts";
import type { SlowDown } from "../access/slow-down.ts";
import { decodeText, discardBody, readBytes } from "../lib/body.ts";
import { now } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { Call, Caller, MatchedCall, ReadBody } from "./call.ts";
import { parseJson } from "./json.ts";
import type { ReportKeyUse } from "./key-use.ts";
import type { Legs } from "./legs.ts";
import { takesBody } from "./match.ts";
import { mediaTypeOf } from "./payload.ts";
import { KEY, WAIT } from "./target.ts";

export interface Gate {
  readonly logins: Logins;
  readonly legs: Legs;
  readonly reportKeyUse: ReportKeyUse;
  /** Of wrong keys. */
  readonly slowDown: SlowDown;
  /** MAX_BODY_BYTES. */
  readonly max_body_bytes: number;
}

/** A browser without a session: it is sent over the login screen (section 5.1). */
export class LoginNeeded extends Error {}

/**
 * Checks the login token and then the API key, as far as the webhook requires them (section 5).
 *
 * @throws LoginNeeded, or Refusal not_authenticated, cross_site, body_too_large
 */
export async function authenticate(gate: Gate, matched: MatchedCall): Promise<Caller> {
  const { call, webhook } = matched;
  const principal = webhook.require_login === 1 ? await requireLogin(gate, call) : null;
  const is_by_signature = webhook.key_hash !== null && isSignedReentry(gate, matched);
  const caller = { ...matched, principal, body: null, is_key_in_body: false, is_by_signature };
  return webhook.key_hash === null || is_by_signature ? caller : requireKey(gate, caller);
}

async function requireLogin({ logins }: Gate, call: Call): Promise<Principal> {
  const { headers } = call.incoming;
  const sent = findToken(headers);
  const principal = sent === null ? null : await logins.authenticate(sent.token, call.address);
  if (principal === null) throw new LoginNeeded();
  const own = { host: headers.host ?? "" };
  if (sent?.by === "cookie" && !isNavigation(headers) && isCrossSite(headers, own))
    throw new Refusal("cross_site", "A page of another site cannot use this browser's login");
  return principal;
}

/** A leg whose Location the service signed after the key had admitted the first one. */
function isSignedReentry({ legs }: Gate, { call, webhook }: MatchedCall): boolean {
  const value = call.query.get(WAIT);
  return value !== null && legs.isSigned(value, webhook);
}

/** The places are tried in the order of section 5.2; the first that is the key admits. */
async function requireKey(gate: Gate, caller: Caller): Promise<Caller> {
  const { call, webhook } = caller;
  const body = await readEarly(call, gate.max_body_bytes);
  const at = now();
  const in_body = matchIn(body, webhook, at);
  const bearer = findBearer(call.incoming.headers.authorization);
  const others = [call.query.get(KEY), bearer];
  const used = others.reduce<KeyKind | null>(
    (found, place) => found ?? (place === null ? null : matchKey(place, webhook, at)),
    in_body,
  );
  if (used === null) {
    discardBody(call.incoming);
    await gate.slowDown.refused(call.address);
    throw new Refusal("not_authenticated", "The API key is missing or wrong");
  }
  gate.reportKeyUse(webhook, used);
  return { ...caller, body, is_key_in_body: in_body !== null };
}

function matchIn(
  body: ReadBody | null,
  webhook: MatchedCall["webhook"],
  at: number,
): KeyKind | null {
  const value = body?.value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const key = Object.hasOwn(value, KEY) ? (value as Record<string, unknown>)[KEY] : undefined;
  return typeof key === "string" ? matchKey(key, webhook, at) : null;
}

/** Only a body of exactly this type may carry the key; what cannot be parsed is told later. */
async function readEarly(call: Call, limit: number): Promise<ReadBody | null> {
  const { headers } = call.incoming;
  if (!takesBody(call.method) || mediaTypeOf(headers["content-type"]) !== "application/json")
    return null;
  if (headers["content-encoding"] !== undefined) return null;
  const bytes = await readBytes(call.incoming, limit);
  if (bytes === null) return null;
  try {
    const text = decodeText(bytes);
    return { text, value: parseJson(text), fault: null };
  } catch (fault) {
    return { text: "", value: undefined, fault: fault as Error };
  }
}
