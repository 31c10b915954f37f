import { TOKEN_COOKIE } from "../access/credentials.ts";

/** Cookies of one answer together, in bytes: browsers send them back with each request. */
const MAX_COOKIE_BYTES = 4 * 1024;

/**
 * Tells which cookies of one answer are not a flow's to set, by the values of their Set-Cookie headers:
 * why one is left out; null: it is kept.
 *
 * @param sandboxed RESPONSE_SANDBOX: cookies go no further than to calls, and are bounded
 */
export function openCookieRules(sandboxed: boolean): (cookie: string) => string | null {
  let left = MAX_COOKIE_BYTES;
  return (cookie) => {
    const [pair = "", ...attributes] = cookie.split(";");
    const called = `cookie ${JSON.stringify(nameOf(pair))}`;
    if (isServices(pair)) return `${called} can be taken for the service's own`;
    if (!sandboxed) return null;
    const wide = attributes.find((attribute) => !staysWithCalls(attribute));
    if (wide !== undefined)
      return `${called}: its "${cut(wide.trim())}" does not keep it below /api/latest/webhook/NAME/call`;
    if (cookie.length > left)
      return `${called}: the cookies of one answer have more than ${MAX_COOKIE_BYTES} bytes`;
    left -= cookie.length;
    return null;
  };
}

/** The value may be a secret, and is not told. */
function nameOf(pair: string): string {
  return cut(pair.includes("=") ? (pair.split("=", 1)[0] ?? "").trim() : "");
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/**
 * A cookie without a name is sent as its value alone (RFC 6265bis, section 5.8.3), so that
 * `=service-token=x` comes back as the service's own cookie. Of a pair that is empty browsers do
 * different things with what follows.
 */
function isServices(pair: string): boolean {
  const [name = "", value = ""] = pair.split("=").map((part) => part.trim());
  const sent = name === "" ? value : name;
  return sent === "" || sent === TOKEN_COOKIE;
}

/** Below the call of a webhook, behind any prefix of a proxy. */
const CALL_PATH = /^(?:\/.*)?\/api\/latest\/webhook\/[^/]+\/call(?:\/|$)/;

/** Whether an attribute leaves the cookie out of the other requests to the origin and its domain. */
function staysWithCalls(attribute: string): boolean {
  const [name = "", ...rest] = attribute.split("=");
  const value = rest.join("=").trim();
  if (/^\s*domain\s*$/i.test(name)) return false;
  // What does not start with a slash is the path of the call's folder (RFC 6265, section 5.2.4).
  if (!/^\s*path\s*$/i.test(name) || !value.startsWith("/")) return true;
  return CALL_PATH.test(value);
}
