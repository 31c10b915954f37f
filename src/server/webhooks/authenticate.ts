import { matchKey, type KeyKind } from "../access/api-key.ts";
import {
  findBearer,
  findToken,
  isCrossSite,
  isNavigation,
  listTokens,
} from "../access/credentials.ts";
import type { Logins, Principal } from "../access/login.ts";
import type { Throttle } from "../access/throttle.ts";
import { decodeText, discardBody, type Bodies } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
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

export interface AuthenticationDeps {
  readonly logins: Logins;
  readonly legs: Legs;
  readonly reportKeyUse: ReportKeyUse;
  /** Of wrong keys. */
  readonly throttle: Throttle;
  /** MAX_BODY_BYTES. */
  readonly maxBodyBytes: number;
  readonly bodies: Bodies;
  readonly parseLarge: ParseLarge;
}

/** A browser without a session: it is sent over the login screen (section 5.1). */
export class LoginRequiredError extends Error {}

/**
 * Checks the login token and then the API key, as far as the webhook requires them (section 5).
 *
 * @throws LoginRequiredError, or RequestError not_authenticated, cross_site, body_too_large, overloaded
 */
export async function authenticate(
  deps: AuthenticationDeps,
  matched: MatchedCall,
): Promise<Caller> {
  const { call, webhook } = matched;
  const principal = webhook.require_login === 1 ? await requireLogin(deps, call) : null;
  const isBySignature = webhook.key_hash !== null && isSignedReentry(deps, matched);
  const secrets = listTokens(call.incoming.headers);
  const caller = { ...matched, principal, body: null, isBySignature, secrets };
  return webhook.key_hash === null || isBySignature ? caller : requireKey(deps, caller);
}

async function requireLogin({ logins }: AuthenticationDeps, call: Call): Promise<Principal> {
  const { headers } = call.incoming;
  const sent = findToken(headers);
  const principal = sent === null ? null : await logins.authenticate(sent.token, call.address);
  if (principal === null) throw new LoginRequiredError();
  const own = { host: headers.host ?? "" };
  if (sent?.by === "cookie" && !isNavigation(headers) && isCrossSite(headers, own))
    throw new RequestError("cross_site", "A page of another site cannot use this browser's login");
  return principal;
}

/** A leg whose Location the service signed after the key had admitted the first one. */
function isSignedReentry({ legs }: AuthenticationDeps, { call, webhook }: MatchedCall): boolean {
  const value = call.query.get(WAIT);
  return value !== null && legs.isSigned(value, webhook);
}

/** The places are tried in the order of section 5.2; the first that is the key admits. */
async function requireKey(deps: AuthenticationDeps, caller: Caller): Promise<Caller> {
  const { call, webhook } = caller;
  const elsewhere = findElsewhere(call, webhook);
  const body = await readEarly(deps, caller, elsewhere.length > 0);
  const used = body?.parsed?.key ?? elsewhere[0]?.kind ?? null;
  if (used === null) {
    discardBody(call.incoming);
    await deps.throttle.refused(call.address);
    throw new RequestError("not_authenticated", "The API key is missing or wrong");
  }
  deps.reportKeyUse(webhook, used);
  const keys = [body?.parsed?.keyText ?? [], ...elsewhere.map(({ text }) => text)].flat();
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
 * @throws RequestError body_too_large, overloaded
 */
async function readEarly(
  deps: AuthenticationDeps,
  caller: Caller,
  isKnown: boolean,
): Promise<ReadBody | null> {
  const { call, webhook } = caller;
  const { headers } = call.incoming;
  if (!takesBody(call.method) || mediaTypeOf(headers["content-type"]) !== "application/json")
    return null;
  if (headers["content-encoding"] !== undefined) return null;
  const bytes = await deps.bodies.read(call.incoming, { bytes: deps.maxBodyBytes, what: "" });
  if (bytes === null) return null;
  const body: ReadBody = { bytes, text: "", parsed: null, error: null };
  try {
    const text = decodeText(bytes);
    const rules = toParseRules("json", deps.maxBodyBytes, webhook);
    if (isParsedAtOnce(bytes, "json")) return { ...body, text, parsed: parsePayload(text, rules) };
    if (isKnown) return { ...body, text };
    const parsed = await deps.parseLarge({ bytes, rules }, toJobOwner(call));
    return { ...body, text, parsed };
  } catch (error) {
    // Whether it carries the key is not known then.
    if (error instanceof RequestError && error.code === "overloaded") throw error;
    return { ...body, error: error as Error };
  }
}
