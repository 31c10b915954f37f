import { TOKEN_COOKIE } from "../access/credentials.ts";

/** The response that a flow shaped (section 4.7), checked: nothing in it can harm the server. */
export interface CustomResponse {
  /** 200 to 599. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /** How `body` stands for bytes; absent: UTF-8 text. */
  readonly body_encoding?: "base64";
}

/** The bytes of the body. */
export function bodyOf({ body, body_encoding }: CustomResponse): Buffer<ArrayBuffer> {
  return Buffer.from(body, body_encoding ?? "utf8");
}

export type CheckedResponse =
  | { readonly response: CustomResponse; readonly warnings: readonly string[] }
  /** Which rule was broken. */
  | { readonly fault: string };

const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_FIELD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

const OF_THE_CONNECTION =
  /^(connection|transfer-encoding|content-length|keep-alive|te|trailer|upgrade|proxy-.*)$/;
const OF_THE_ORIGIN =
  /^(clear-site-data|strict-transport-security|alt-svc|service-worker-allowed)$/;

/**
 * Checks the JSON text of a custom response under RFC 9110 and leaves out the headers that are
 * not a flow's to set (contract, section 4, number 11).
 *
 * @param sandboxed RESPONSE_SANDBOX: headers that act on the whole origin are left out as well
 */
export function checkResponse(text: string, sandboxed: boolean): CheckedResponse {
  const found = JSON.parse(text) as Record<string, unknown>;
  const { status, headers, body, body_encoding } = found;
  if (!Number.isInteger(status) || (status as number) < 200 || (status as number) > 599)
    return { fault: `status is ${JSON.stringify(status)}, expected an integer from 200 to 599` };
  if (typeof body !== "string") return { fault: `body is ${kindOf(body)}, expected a string` };
  if (body_encoding !== undefined && body_encoding !== "base64")
    return { fault: `body_encoding is ${JSON.stringify(body_encoding)}, expected "base64"` };
  const checked = checkHeaders(headers ?? {}, sandboxed);
  if ("fault" in checked) return checked;
  const response = { status: status as number, headers: checked.headers, body };
  return {
    response: body_encoding === undefined ? response : { ...response, body_encoding },
    warnings: checked.warnings,
  };
}

type CheckedHeaders =
  | { headers: Record<string, string | string[]>; warnings: string[] }
  | { fault: string };

function checkHeaders(found: unknown, sandboxed: boolean): CheckedHeaders {
  if (typeof found !== "object" || found === null || Array.isArray(found))
    return { fault: `headers is ${kindOf(found)}, expected an object of strings` };
  const headers: [string, string | string[]][] = [];
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(found)) {
    if (!FIELD_NAME.test(name)) return { fault: `"${name}" is no header name under RFC 9110` };
    const values = Array.isArray(value) ? value : [value];
    for (const one of values) {
      if (typeof one !== "string")
        return { fault: `header "${name}" is ${kindOf(one)}, expected a string` };
      if (NOT_FIELD_VALUE.test(one))
        return { fault: `header "${name}" has a character that RFC 9110 does not allow` };
    }
    const kept = keepAllowed(name.toLowerCase(), values as string[], sandboxed);
    if (kept.length < values.length) warnings.push(`Header "${name}" was left out of the response`);
    if (kept.length > 0) headers.push([name, kept.length === 1 ? (kept[0] as string) : kept]);
  }
  // Not by assignment: "__proto__" is a header's name like any other.
  return { headers: Object.fromEntries(headers), warnings };
}

function keepAllowed(name: string, values: string[], sandboxed: boolean): string[] {
  if (OF_THE_CONNECTION.test(name) || (sandboxed && OF_THE_ORIGIN.test(name))) return [];
  if (name !== "set-cookie") return values;
  return values.filter((cookie) => cookie.split(/[=;]/)[0]?.trim() !== TOKEN_COOKIE);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "missing";
  return Array.isArray(value) ? "a list" : `of type ${typeof value}`;
}
