import { TOKEN_HEADER, findBearer, withoutToken } from "../access/credentials.ts";
import type { Principal } from "../access/login.ts";
import type { Admission, Caller } from "./call.ts";
import { toPlain, type Payload } from "./payload.ts";
import { openRedaction, type Redact } from "./redaction.ts";
import { KEY, WAIT, withoutParameters } from "./target.ts";

/**
 * The input_value of a call as JSON text (section 4.3). A JSON body is put in as it was sent:
 * last, so that raw_body can be cut out of the text again.
 *
 * @param payload null without a body
 */
export function toCallInput(caller: Caller, payload: Payload | null): Admission["input"] {
  const { call, webhook, principal } = caller;
  const { path } = call.target;
  const hasKey = webhook.key_hash !== null;
  const secretHeader = caller.signed === null ? null : caller.signed.secretHeader;
  const redact = openRedaction(caller.secrets);
  const head = {
    method: call.method,
    path: path === null ? null : redact(path),
    headers: toHeaders(call.incoming.rawHeaders, { hasKey, secretHeader }, redact),
    query: toQuery(call.query, hasKey, redact),
    ...(principal === null ? {} : { auth: toAuth(principal) }),
  };
  return { ...joinBody(JSON.stringify(head), payload), target: redact(toSafeTarget(caller)) };
}

type Joined = Omit<Admission["input"], "target">;

function joinBody(head: string, payload: Payload | null): Joined {
  if (payload === null) return { input_value: head, raw_body_at: null, raw_body: null };
  const { text, json, isStripped } = payload;
  const start = `${head.slice(0, -1)},"json":`;
  const input_value = `${start}${json ?? text}}`;
  if (isStripped) return { input_value, raw_body_at: null, raw_body: null };
  if (json === null) return { input_value, raw_body_at: start.length, raw_body: null };
  return { input_value, raw_body_at: null, raw_body: text };
}

/** Lower-case names, repeated ones joined; login tokens, and with a key Bearer, are taken out. */
function toHeaders(raw: readonly string[], taken: Taken, redact: Redact): Record<string, string> {
  const headers = Object.create(null) as Record<string, string>;
  for (let at = 0; at < raw.length; at += 2) {
    const name = redact(raw[at] as string).toLowerCase();
    const kept = keepHeader(name, raw[at + 1] as string, taken);
    if (kept === null) continue;
    const value = redact(kept);
    headers[name] = name in headers ? `${headers[name]}${separatorOf(name)}${value}` : value;
  }
  return headers;
}

/** Several Cookie fields are one list of pairs, which semicolons separate (RFC 9113, section 8.2.3). */
function separatorOf(name: string): string {
  return name === "cookie" ? "; " : ", ";
}

/** What the flow is not given, beside login tokens. */
interface Taken {
  readonly hasKey: boolean;
  /** Holds a secret, right or wrong. */
  readonly secretHeader: string | null;
}

function keepHeader(name: string, value: string, { hasKey, secretHeader }: Taken): string | null {
  if (name === TOKEN_HEADER || name === secretHeader) return null;
  if (name === "cookie") return withoutToken(value);
  if (hasKey && name === "authorization" && findBearer(value) !== null) return null;
  return value;
}

function toQuery(query: URLSearchParams, hasKey: boolean, redact: Redact): Record<string, string> {
  const plain = toPlain(query);
  delete plain[WAIT];
  if (hasKey) delete plain[KEY];
  return toPlain(Object.entries(plain).map(([name, value]) => [redact(name), redact(value)]));
}

/** Contract, section 4, number 18. */
function toAuth({ user_id, user_name, email, roles }: Principal): object {
  return { user_id, user_name, email, roles };
}

/** The target as sent, for the URL of a `fetch` flow; no key, no reserved parameter. */
function toSafeTarget({ call, webhook }: Caller): string {
  const { target, incoming } = call;
  const path = (incoming.url ?? "").split("?")[0] ?? "";
  const query = withoutParameters(target.query, webhook.key_hash === null ? [WAIT] : [WAIT, KEY]);
  return query === "" ? path : `${path}?${query}`;
}
