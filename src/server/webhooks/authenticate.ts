import { matchKey, type KeyKind } from "../access/api-key.ts";
import {
  findBearer,
  findToken,
  isNavigation,
  listTokens,
  type SiteCheck,
} from "../access/credentials.ts";
import type { Logins, Principal } from "../access/login.ts";
import type { Verdict } from "../access/signature.ts";
import type { Throttle } from "../access/throttle.ts";
import { discardBody, type Bodies } from "../request/body.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Meters } from "../metrics/meters.ts";
import { toTrace } from "../request/trace.ts";
import type { Store } from "../store/store.ts";
import { findWebhook, type WebhookRow } from "../store/webhooks.ts";
import type { Call, Caller, MatchedCall, ReadBody } from "./call.ts";
import { admitsLogin } from "./cors.ts";
import type { ReportKeyUse } from "./key-use.ts";
import { parseElsewhere, type ParseLarge } from "./large-payload.ts";
import type { Legs } from "./legs.ts";
import { requireMethod } from "./call-limits.ts";
import { takesBody } from "./match.ts";
import { isParsedAtOnce, mediaTypeOf, parsePayload, toParseRules } from "./payload.ts";
import { readBody } from "./read-body.ts";
import { openRedaction } from "./redaction.ts";
import type { SignaturePolicy, Signatures } from "./signatures.ts";
import { KEY, WAIT } from "./target.ts";

export interface AuthenticationDeps {
  readonly store: Store;
  readonly logins: Logins;
  readonly isCrossSite: SiteCheck;
  readonly legs: Legs;
  readonly reportKeyUse: ReportKeyUse;
  readonly signatures: Signatures;
  /** Of wrong keys, signatures and legs. */
  readonly throttle: Throttle;
  readonly log: Log;
  readonly meters: Pick<Meters, "countSignature">;
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
  const principal = webhook.require_login === 1 ? await requireLogin(deps, matched) : null;
  if (webhook.methods !== null && !call.query.has(WAIT)) requireMethod(matched);
  const isBySignature = webhook.key_hash !== null && isSignedReentry(deps, matched);
  const secrets = listTokens(call.incoming.headers);
  const shown = { principal, keys: [], isBySignature, secrets };
  const caller = { ...matched, ...shown, body: null, signed: null };
  if (webhook.signature !== null) return requireSignature(deps, caller);
  return webhook.key_hash === null || isBySignature ? caller : requireKey(deps, caller);
}

/** Whatever is configured must hold: the key, where there is one, and then the signature. */
async function requireSignature(deps: AuthenticationDeps, caller: Caller): Promise<Caller> {
  const { call, webhook } = caller;
  const { policyOf } = deps.signatures;
  if (call.query.has(WAIT))
    return reenter(deps, caller, (await policyOf(webhook)).mode === "enforce");
  const body = takesBody(call.method) ? await readBody(deps, caller) : null;
  // Of now, not of before the body: a secret may have been replaced while that came.
  const policy = await policyOf(await asSignedNow(deps.store, webhook));
  // Before it is parsed: large bodies are moved to another thread.
  const verdict = await policy.verify(call, body?.bytes ?? NOTHING);
  const read = { ...caller, body };
  const keyed = webhook.key_hash === null ? read : await requireKey(deps, read);
  return judge(deps, keyed, policy, verdict);
}

/** The webhook as it is by now, unless its calls are not signed any more. */
async function asSignedNow(store: Store, webhook: WebhookRow): Promise<WebhookRow> {
  const again = await findWebhook(store, webhook.name);
  return again?.id === webhook.id && again.signature !== null ? again : webhook;
}

/** A leg has no body to sign: where signatures are enforced, only what the service signed admits. */
async function reenter(
  deps: AuthenticationDeps,
  caller: Caller,
  isEnforced: boolean,
): Promise<Caller> {
  if (caller.isBySignature) return caller;
  const isKeyed = caller.webhook.key_hash !== null;
  if (!isEnforced) return isKeyed ? requireKey(deps, caller) : caller;
  if (!isKeyed && isSignedReentry(deps, caller)) return { ...caller, isBySignature: true };
  return refuseCaller(deps, caller.call, "leg_signature_wrong");
}

const NOTHING = Buffer.alloc(0);

async function judge(
  deps: AuthenticationDeps,
  caller: Caller,
  policy: SignaturePolicy,
  verdict: Verdict,
): Promise<Caller> {
  const { call, webhook, secrets } = caller;
  const { scheme, revision, mode, secretHeader, windowMs } = policy;
  const rules = { scheme, revision, secretHeader, windowMs };
  const error = "error" in verdict ? verdict.error : null;
  deps.meters.countSignature(webhook.name, error ?? "right");
  if ("error" in verdict) {
    if (mode === "enforce") return refuseCaller(deps, call, verdict.error);
    const trace = toTrace(call.incoming, openRedaction(secrets)(call.request_id));
    deps.log.info(
      { webhook: webhook.name, reason: error, address: call.address, ...trace },
      "Signature is wrong, observed",
    );
    return { ...caller, signed: { ...rules, verified: null } };
  }
  const tokens =
    secretHeader === null ? [] : verdict.fitting.map((sent) => sent.toString("latin1"));
  return { ...caller, secrets: [...secrets, ...tokens], signed: { ...rules, verified: verdict } };
}

/** @throws RequestError not_authenticated, which is slowed */
async function refuseCaller(deps: AuthenticationDeps, call: Call, reason: string): Promise<never> {
  discardBody(call.incoming);
  await deps.throttle.refused(call.address);
  throw new RequestError("not_authenticated", reason);
}

async function requireLogin(
  { logins, isCrossSite }: AuthenticationDeps,
  { call, webhook }: MatchedCall,
): Promise<Principal> {
  const { headers } = call.incoming;
  const sent = findToken(headers);
  const principal = sent === null ? null : await logins.authenticate(sent.token, call.address);
  if (principal === null) throw new LoginRequiredError();
  const isForeign = sent?.by === "cookie" && !isNavigation(headers) && isCrossSite(headers);
  if (isForeign && !admitsLogin(call, webhook))
    throw new RequestError("cross_site", "A page of another site cannot use this browser's login");
  return principal;
}

/** A leg whose Location the service signed after the key had admitted the first one. */
function isSignedReentry({ legs }: AuthenticationDeps, { call, webhook }: MatchedCall): boolean {
  const value = call.query.get(WAIT);
  return value !== null && legs.isSigned(value, webhook);
}

/** The places are tried in the order of section 5.2; the first that is the key admits. */
export async function requireKey(deps: AuthenticationDeps, caller: Caller): Promise<Caller> {
  const { call, webhook } = caller;
  const elsewhere = findElsewhere(call, webhook);
  const body = await readEarly(deps, caller, elsewhere.length > 0);
  const used = body?.parsed?.key ?? elsewhere[0]?.kind ?? null;
  if (used === null) return refuseCaller(deps, call, "The API key is missing or wrong");
  deps.reportKeyUse(webhook, used);
  const keys = [body?.parsed?.keyText ?? [], ...elsewhere.map(({ text }) => text)].flat();
  return { ...caller, body, keys, secrets: [...caller.secrets, ...keys] };
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
    return caller.body;
  if (headers["content-encoding"] !== undefined) return caller.body;
  const body = caller.body ?? (await readBody(deps, caller));
  if (body === null || body.error !== null) return body;
  const { bytes, text } = body;
  try {
    const rules = toParseRules("json", deps.maxBodyBytes, webhook);
    if (isParsedAtOnce(bytes, "json")) return { ...body, parsed: parsePayload(text, rules) };
    if (isKnown) return body;
    const job = { bytes, rules, isKeyed: true };
    const parsed = await parseElsewhere(deps.parseLarge, call, text, job);
    return { ...body, parsed };
  } catch (error) {
    // Whether it carries the key is not known then.
    if (error instanceof RequestError && error.code === "overloaded") throw error;
    return { ...body, error: error as Error };
  }
}
