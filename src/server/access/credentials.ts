/** Where a request carries a login token or an API key (section 5). */

export const TOKEN_HEADER = "x-service-token";
export const TOKEN_COOKIE = "service-token";

export interface SentToken {
  readonly token: string;
  readonly by: "header" | "cookie";
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The login token of a request: the header wins over the cookie. */
export function findToken(headers: Headers): SentToken | null {
  const header = headers[TOKEN_HEADER];
  if (typeof header === "string" && header !== "") return { token: header, by: "header" };
  const cookie = findCookie(headers["cookie"], TOKEN_COOKIE);
  return cookie === null ? null : { token: cookie, by: "cookie" };
}

function findCookie(header: string | string[] | undefined, name: string): string | null {
  if (typeof header !== "string") return null;
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim() || null;
  }
  return null;
}

/** Longer ones are none: what is looked for in a whole request has a bound. */
const MOST_TOKEN_LENGTH = 256;

/** Every login token that a request carries, so that it can be found elsewhere in it as well. */
export function listTokens(headers: Headers): string[] {
  const { [TOKEN_HEADER]: header, cookie } = headers;
  const cookies = typeof cookie === "string" ? cookie.split(";").filter(isTokenPair) : [];
  const values = cookies.map((pair) => unquoted(pair.slice(pair.indexOf("=") + 1)));
  return [header, ...values].filter(
    (token): token is string => typeof token === "string" && token.length <= MOST_TOKEN_LENGTH,
  );
}

/** The service's own cookie, also under a name that is written otherwise by mistake. */
function isTokenPair(pair: string): boolean {
  return unquoted(pair.split("=")[0] ?? "").toLowerCase() === TOKEN_COOKIE;
}

function unquoted(text: string): string {
  return text.trim().replace(/^"(.*)"$/, "$1");
}

/** A Cookie header without the service's own cookie; null when nothing is left. */
export function withoutToken(cookie: string): string | null {
  const kept = cookie.split(";").filter((pair) => !isTokenPair(pair));
  const left = kept.join(";").trim();
  return left === "" ? null : left;
}

const BEARER = /^bearer +/i;

/** The token of `Authorization: Bearer` (RFC 6750, scheme in any case); null for other schemes. */
export function findBearer(header: string | undefined): string | null {
  return header !== undefined && BEARER.test(header) ? header.replace(BEARER, "").trim() : null;
}

/** Whether a request that relies on a cookie was made by a page of another site. */
export type SiteCheck = (headers: Headers) => boolean;

/**
 * Browsers say whose page it was (Fetch Metadata); older ones send at least Origin with what is no
 * plain navigation.
 *
 * @param base_url BASE_URL, whose host is an own one: a proxy may have put another Host in the place of
 * the one that the browser asked for; null: none
 */
export function openSiteCheck(base_url: string | null): SiteCheck {
  const base = base_url === null ? null : new URL(base_url).host;
  return (headers) => {
    const site = headers["sec-fetch-site"];
    if (typeof site === "string") return site !== "same-origin" && site !== "none";
    const origin = headers["origin"];
    if (typeof origin !== "string") return false;
    const host = URL.canParse(origin) ? new URL(origin).host : "";
    return host === "" || (host !== headers["host"] && host !== base);
  };
}

/** Whether the browser follows a link or sends a form, and so shows what it gets. */
export function isNavigation(headers: Headers): boolean {
  return headers["sec-fetch-mode"] === "navigate";
}

/** The login token for browsers; HttpOnly, so that no page can read it. */
export function toTokenCookie(
  token: string,
  options: { path: string; maxAgeSec: number; isSecure: boolean },
): string {
  const { path, maxAgeSec, isSecure } = options;
  const attributes = `Path=${path}; Max-Age=${maxAgeSec}; HttpOnly; SameSite=Lax`;
  return `${TOKEN_COOKIE}=${token}; ${attributes}${isSecure ? "; Secure" : ""}`;
}
