/** Stands for the host where a request names none, as HTTP/1.0 may. */
export const NO_HOST = "localhost";

/** A name, an IPv4 address or one of IPv6 in brackets, and perhaps a port. */
const HOST = /^([\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** Names of this machine alone, whoever else's name leads here. */
const LOCAL = /^(?:(?:[\w-]+\.)*localhost|(?:\d{1,3}\.){3}\d{1,3}|\[[\da-f:.]+\])$/i;

/**
 * Whether a Host header names this machine as no other site can: a page of a site whose name leads
 * to 127.0.0.1 (DNS rebinding) comes with that name.
 *
 * @param text one for which `isHost` holds
 * @param others names that are taken beside, in lower case
 */
export function isLocalHost(text: string, others: readonly string[]): boolean {
  const name = text.replace(/:\d+$/, "").toLowerCase();
  return LOCAL.test(name) || others.includes(name);
}

/** What the HTTP server takes without a look at the name that a URL makes of it. */
const TAKEN = /^[a-z\d._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/;

/** Nearly every request names the host that the one before it has named. */
let latest = "";

/** Whether a Host header names one host (RFC 9110, section 7.2), so that a URL can be made of it. */
export function isHost(text: string): boolean {
  if (text === latest && text !== "") return true;
  const name = HOST.exec(text)?.[1];
  const url = `http://${text}/`;
  if (name === undefined || !URL.canParse(url)) return false;
  const isRight = TAKEN.test(text) || new URL(url).hostname === name.toLowerCase();
  if (isRight) latest = text;
  return isRight;
}
