/** What the shell tells its module. */

const {
  prefix = "",
  allowed = "",
  params = "{}",
  user = "",
  userId = "",
  byHand,
  earlier,
} = document.body.dataset;

const ALLOWED: ReadonlySet<string> = new Set(allowed.split(" "));

export const PARAMS: Readonly<Record<string, string>> = JSON.parse(params) as Record<
  string,
  string
>;

/** Whether the visitor may do this in some project; the API decides about each act. */
export function may(permission: string): boolean {
  return ALLOWED.has(permission);
}

/** The path of a page, its segments encoded. */
export function pagePath(...segments: readonly string[]): string {
  return `${prefix}/ui/${segments.map(encodeURIComponent).join("/")}`;
}

/** The path of something of the API, its segments encoded. */
export function apiPath(...segments: readonly string[]): string {
  return `${prefix}/api/latest/${segments.map(encodeURIComponent).join("/")}`;
}

/** Whether the visitor starts flows without a webhook, which belongs to the default project. */
export const STARTS_BY_HAND = byHand === "true";

/** Whether calls are answered as in earlier releases: RESPONSE_MATRIX. */
export const IS_EARLIER = earlier === "true";

export const PREFIX = prefix;

/** The name of who has logged in, as it was when the page was sent: names change. */
export const USER = user;

/** Who has logged in. */
export const USER_ID = userId;
