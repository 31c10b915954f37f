import { matchKey, type KeyKind } from "../access/api-key.ts";
import {
  findBearer,
  findToken,
  isCrossSite,
  isNavigation,
  listTokens,
} from "../access/credentials.ts";
import type { Logins, Principal } from "../access/login.ts";
import type { SlowDown } from "../access/slow-down.ts";
import { decodeText, discardBody, type Bodies } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import { toJobOwner, type Call, type Caller, type MatchedCall, type ReadBody } from "./call.ts";
import type { ReportKeyUse } from "./key-use.ts";
import type { Legs } from "./legs.ts";
import { takesBody } from "./match.ts";
import {
  isParsedAtOnce,
  mediaTypeOf,
  parsePayload,
  toParseRules,
  type ParseLarge,
} from "./payload.ts";
import { KEY, WAIT } from "./target.ts";

export interface Gate {
  readonly logins: Logins;
  readonly legs: Legs;
  readonly reportKeyUse: ReportKeyUse;
  /** Of wrong keys. */
  readonly slowDown: SlowDown;
  /** MAX_BODY_BYTES. */
  readonly max_body_bytes: number;
  readonly bodies: Bodies;
  readonly parseLarge: ParseLarge;
}

/** A browser without a session: it is sent over the login screen (section 5.1). */
export class LoginNeeded extends Error {}

/**
 * Checks the login token and then the API key, as far as the webhook requires them (section 5).
 *
 * @throws LoginNeeded, or Refusal not_authenticated, cross_site, body_too_large, overloaded
 */
export async function authenticate(gate: Gate, matched: MatchedCall): Promise<Caller> {
  const { call, webhook } = matched;
  const principal = webhook.require_login === 1 ? await requireLogin(gate, call) : null;
  const is_by_signature = webhook.key_hash !== null && isSignedReentry(gate, matched);
  const secrets = listTokens(call.incoming.headers);
  const caller = { ...matched, principal, body: null, is_by_signature, secrets };
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
  const elsewhere = findElsewhere(call, webhook);
  const body = await readEarly(gate, caller, elsewhere.length > 0);
  const used = body?.parsed?.key ?? elsewhere[0]?.kind ?? null;
  if (used === null) {
    discardBody(call.incoming);
    await gate.slowDown.refused(call.address);
    throw new Refusal("not_authenticated", "The API key is missing or wrong");
  }
  gate.reportKeyUse(webhook, used);
  const keys = [body?.parsed?.key_text ?? [], ...elsewhere.map(({ text }) => text)].flat();
  return { ...caller, body, secrets: [...caller.secrets, ...keys] };
}

/** A key, as it was sent. */
interface SentKey {
  readonly text: string;
  readonly kind: KeyKind;
}

/** The query parameter, then the header, where they are a key. */
function findElsewhere({ query, incoming }: Call, webhook: MatchedCall["webhook"]): SentKey[] {
  const at = now();
  return [query.get(KEY), findBearer(incoming.headers.authorization)].flatMap((text) => {
    const kind = text === null ? null : matchKey(text, webhook, at);
    return text === null || kind === null ? [] : [{ text, kind }];
  });
}

/**
 * Only a body of exactly this type may carry the key; what cannot be parsed is told later. A large
 * one is parsed here only where nothing else admits.
 *
 * @throws Refusal body_too_large, overloaded
 */
async function readEarly(gate: Gate, caller: Caller, is_known: boolean): Promise<ReadBody | null> {
  const { call, webhook } = caller;
  const { headers } = call.incoming;
  if (!takesBody(call.method) || mediaTypeOf(headers["content-type"]) !== "application/json")
    return null;
  if (headers["content-encoding"] !== undefined) return null;
  const bytes = await gate.bodies.read(call.incoming, { bytes: gate.max_body_bytes, what: "" });
  if (bytes === null) return null;
  const body: ReadBody = { bytes, text: "", parsed: null, fault: null };
  try {
    const text = decodeText(bytes);
    const rules = toParseRules("json", gate.max_body_bytes, webhook);
    if (isParsedAtOnce(bytes, "json")) return { ...body, text, parsed: parsePayload(text, rules) };
    if (is_known) return { ...body, text };
    const parsed = await gate.parseLarge({ bytes, rules }, toJobOwner(call));
    return { ...body, text, parsed };
  } catch (fault) {
    // Whether it carries the key is not known then.
    if (fault instanceof Refusal && fault.code === "overloaded") throw fault;
    return { ...body, fault: fault as Error };
  }
}
