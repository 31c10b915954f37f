import type { CustomResponse } from "../../shared/contract/execution.ts";
import { openCookieRules } from "./flow-cookie.ts";

/** The bytes of the body. */
export function bodyOf({ body, body_encoding }: CustomResponse): Buffer<ArrayBuffer> {
  return Buffer.from(body, body_encoding ?? "utf8");
}

/** The response that a flow shaped (section 4.7), checked: nothing in it can harm the server. */
export type CheckedResponse =
  | { readonly response: CustomResponse; readonly warnings: readonly string[] }
  /** Which rule was broken. */
  | { readonly error: string };

const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_FIELD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** What clients and proxies take of one answer, names and values together; in bytes. */
const MAX_HEADERS = 100;
const MAX_HEADER_BYTES = 16 * 1024;

/** What every answer of an execution has from the service. */
export const OF_SERVICE = ["flowhook-execution-id", "x-request-id"];
const OF_THE_CONNECTION =
  /^(connection|transfer-encoding|content-length|keep-alive|te|trailer|upgrade|proxy-.*)$/;
/** They act on the origin of the user interface, whatever page they came with. */
const OF_THE_ORIGIN = new RegExp(
  "^(clear-site-data|strict-transport-security|public-key-pins.*|expect-ct|alt-svc|" +
    "service-worker-allowed|origin-agent-cluster|nel|report-to|reporting-endpoints|" +
    "accept-ch|critical-ch|use-as-dictionary|set-login|activate-storage-access|" +
    "secure-session-.*|sec-.*|attribution-reporting-.*|shared-storage-write|" +
    "observe-browsing-topics|idp-signin-status|speculation-rules)$",
);

/**
 * Checks the text of a custom response under RFC 9110 and leaves out the headers that are not a
 * flow's to set (contract, section 4, number 11). The text comes from a thread: it may be anything.
 *
 * @param sandboxed RESPONSE_SANDBOX: headers and cookies that act on the whole origin are left out as
 *   well
 */
export function checkResponse(text: string, sandboxed: boolean): CheckedResponse {
  const found = parseObject(text);
  if (found === null) return { error: "it is no JSON object" };
  const { status, headers, body, body_encoding } = found;
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599)
    return { error: `status is ${shown(status)}, expected an integer from 200 to 599` };
  if (typeof body !== "string") return { error: `body is ${kindOf(body)}, expected a string` };
  if (body_encoding !== undefined && body_encoding !== "base64")
    return { error: `body_encoding is ${shown(body_encoding)}, expected "base64"` };
  const checked = checkHeaders(headers ?? {}, sandboxed);
  if ("error" in checked) return checked;
  const response = { status, headers: checked.headers, body };
  return {
    response: body_encoding === undefined ? response : { ...response, body_encoding },
    warnings: checked.warnings,
  };
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value)
      ? (value as Record<string, unknown> | null)
      : null;
  } catch {
    return null;
  }
}

type CheckedHeaders =
  | { headers: Record<string, string | string[]>; warnings: string[] }
  | { error: string };

/** Of what a flow or a webhook adds to an answer: which of them are kept, or the rule that is broken. */
export function checkHeaders(found: unknown, sandboxed: boolean): CheckedHeaders {
  if (typeof found !== "object" || found === null || Array.isArray(found))
    return { error: `headers is ${kindOf(found)}, expected an object of strings` };
  const headers: [string, string | string[]][] = [];
  const warnings: string[] = [];
  const findWrongCookie = openCookieRules(sandboxed);
  const room = { lines: MAX_HEADERS, bytes: MAX_HEADER_BYTES };
  for (const [name, value] of Object.entries(found)) {
    if (!FIELD_NAME.test(name)) return { error: `${shown(name)} is no header name under RFC 9110` };
    const values = Array.isArray(value) ? value : [value];
    for (const one of values) {
      if (typeof one !== "string")
        return { error: `header ${shown(name)} is ${kindOf(one)}, expected a string` };
      if (NOT_FIELD_VALUE.test(one))
        return { error: `header ${shown(name)} has a character that RFC 9110 does not allow` };
      room.lines -= 1;
      room.bytes -= name.length + one.length;
    }
    if (room.lines < 0) return { error: `it has more than ${MAX_HEADERS} headers` };
    if (room.bytes < 0) return { error: `its headers have more than ${MAX_HEADER_BYTES} bytes` };
    const key = name.toLowerCase();
    const reserved = findReserved(key, sandboxed);
    const reasons: string[] = [];
    const kept = (values as string[]).filter((one) => {
      const reason = key === "set-cookie" ? findWrongCookie(one) : reserved;
      if (reason !== null) reasons.push(reason);
      return reason === null;
    });
    const more = reasons.length > 1 ? `, and ${reasons.length - 1} more` : "";
    if (reasons.length > 0)
      warnings.push(`Header "${name}" was left out of the response: ${reasons[0]}${more}`);
    if (kept.length > 0) headers.push([name, kept.length === 1 ? (kept[0] as string) : kept]);
  }
  // Not by assignment: "__proto__" is a header's name like any other.
  return { headers: Object.fromEntries(headers), warnings };
}

/** Why it is not a flow's to set, whatever it says; null: it is. @param name in lower case */
function findReserved(name: string, sandboxed: boolean): string | null {
  if (OF_SERVICE.includes(name)) return "the service sets it";
  if (OF_THE_CONNECTION.test(name)) return "it is of the connection";
  if (sandboxed && OF_THE_ORIGIN.test(name)) return "it acts on the whole origin";
  return null;
}

/** A value in a message, cut: it may be of any size. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "missing";
  return Array.isArray(value) ? "a list" : `of type ${typeof value}`;
}
