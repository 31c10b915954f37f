import type { Reply } from "./respond.ts";
import type { CallTarget } from "./target.ts";

const SET_COOKIE = "set-cookie";

/** Browsers skip no other blanks. */
const PATH = /^[\t ]*path[\t ]*(?:=|$)/i;
const ABSOLUTE = /^[\t ]*path[\t ]*=[\t ]*\//i;

/**
 * Gives cookies without a path of their own that of the webhook's calls. Browsers would take the folder
 * of the URL (RFC 6265, section 5.1.4): of a call without a sub-path that is the webhook itself, whose
 * management they would come to as well, and lock once they are large.
 *
 * @param prefix of the service, from BASE_URL
 */
export function placeCookies({ headers }: Reply, target: CallTarget, prefix: string): void {
  if (target.path !== null) return;
  for (const name of Object.keys(headers)) {
    if (name.length !== SET_COOKIE.length || name.toLowerCase() !== SET_COOKIE) continue;
    // A semicolon would end it: then no request has such a path.
    const called = target.name.replaceAll(";", "%3B");
    const path = `${prefix}/api/latest/webhook/${called}/call`;
    headers[name] = [headers[name] ?? []].flat().map((cookie) => place(cookie, path));
  }
}

/** Of several paths the last one counts. */
function place(cookie: string, path: string): string {
  const [pair = "", ...attributes] = cookie.split(";");
  const own = attributes.findLast((attribute) => PATH.test(attribute));
  if (own !== undefined && ABSOLUTE.test(own)) return cookie;
  const others = attributes.filter((attribute) => !PATH.test(attribute));
  return [pair, ...others, ` Path=${path}`].join(";");
}
