import { editDistance } from "../../shared/nearest.ts";
import type { Route } from "../api/route.ts";

/** What to say to somebody whose path leads nowhere. */

const API = "/api/latest";

const OTHERS = ["/ui", "/health/live", "/health/ready", "/metrics", "/default-styling.css"];

type Line = Pick<Route, "path" | "method">;

/**
 * @param target as it was sent, the prefix with it
 * @param prefix of the service, from BASE_URL; empty without one
 */
export function describeMissing(target: string, prefix: string, routes: readonly Line[]): string {
  const path = target.split(/[?#]/, 1)[0] ?? "";
  const missing = `There is nothing at "${path}"`;
  if (prefix !== "" && !`${path}/`.startsWith(`${prefix}/`)) {
    const below = path.startsWith("/") ? `${prefix}${path}` : prefix;
    return `${missing}: BASE_URL says that the service is below "${prefix}", as "${below}"`;
  }
  const own = path.slice(prefix.length);
  const foreign = own.indexOf(`${API}/`);
  if (foreign > 0)
    return (
      `${missing}: expected "${own.slice(foreign)}". For a service below "${own.slice(0, foreign)}" ` +
      `set BASE_URL to a URL that ends with it, or let the proxy leave it out`
    );
  const nearest = findNearest(own, routes);
  if (nearest !== null) return `${missing}. Did you mean ${nearest(prefix)}?`;
  const api = prefix + API;
  return `${missing}. The API is below "${api}" ("${api}/reference" lists it), pages are below "${prefix}/ui"`;
}

/** Paths are compared up to this length, in UTF-16 units: a longer one was meant for no route. */
const LONGEST_PATH = 500;

/** With the methods that it takes, where it is one of the API. */
function findNearest(path: string, routes: readonly Line[]): ((prefix: string) => string) | null {
  if (path.length > LONGEST_PATH) return null;
  const other = OTHERS.find((one) => isAlmost(path.split("/"), one.split("/")));
  if (other !== undefined) return (prefix) => `"${prefix}${other}"`;
  const given = withoutApi(path.replace(/\/+$/, "")).split("/");
  const joined = given.join("/") || "/";
  const patterns = [...new Set(routes.map((route) => route.path)), "/webhook/:name/call"];
  const found =
    patterns.find((pattern) => isAlmost(given, pattern.split("/"))) ??
    patterns.find((pattern) => !pattern.includes(":") && pattern.endsWith(joined));
  if (found === undefined) return null;
  const methods = routes.filter((route) => route.path === found).map(({ method }) => method);
  const list = methods.length === 0 ? "" : ` (${methods.join(", ")})`;
  return (prefix) => `"${prefix}${API}${fill(found, given)}"${list}`;
}

/** Segments are compared up to this length, in UTF-16 units: no name of a route is longer. */
const LONGEST = 20;

/** Whether each segment is the pattern's, but for a letter or two. */
function isAlmost(given: readonly string[], pattern: readonly string[]): boolean {
  if (given.length !== pattern.length) return false;
  return pattern.every((part, at) => {
    const word = given[at] ?? "";
    if (part.startsWith(":")) return word !== "";
    if (word.length > LONGEST) return false;
    return editDistance(word.toLowerCase(), part) <= Math.min(2, Math.floor(part.length / 3));
  });
}

/** The pattern with what was given in the places of its parameters. */
function fill(pattern: string, given: readonly string[]): string {
  const parts = pattern.split("/");
  return parts.map((part, at) => (part.startsWith(":") ? given[at] : part)).join("/");
}

/** Other services have theirs below /api or /api/v1, and letters count here. */
function withoutApi(path: string): string {
  return path.replace(/^(?:\/api)?(?:\/(?:latest|v\d+))?(?=\/|$)/i, "");
}
