import { shown } from "./text.ts";

/**
 * The operations that shape the response (specification 4.7): each gives the JSON text of
 * {status, headers, body}. The server checks it again.
 */

// Flow code may patch it later.
const { stringify } = JSON;

/** @throws {TypeError} naming the member that is wrong. */
export function toResponse(given: unknown): string {
  if (typeof given !== "object" || given === null) {
    throw new TypeError(`webhook_response takes {status, headers, body}, not ${shown(given)}`);
  }
  const { status, headers, body } = given as {
    status?: unknown;
    headers?: unknown;
    body?: unknown;
  };
  return stringify({ status: toStatus(status), headers: toHeaders(headers), body: toBody(body) });
}

/** @throws {TypeError} where the body is no string. */
export function toHtmlResponse(body: unknown): string {
  if (typeof body !== "string") {
    throw new TypeError(`webhook_html_response takes a string, not ${shown(body)}`);
  }
  return stringify({ status: 200, headers: { "content-type": "text/html; charset=utf-8" }, body });
}

/** @throws {TypeError} where JSON cannot say the value. */
export function toJsonResponse(value: unknown): string {
  const body: unknown = stringify(value);
  if (typeof body !== "string") {
    throw new TypeError(`webhook_json_response takes what JSON can say, not ${shown(value)}`);
  }
  return stringify({
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body,
  });
}

function toStatus(status: unknown): number {
  if (typeof status === "number" && Number.isInteger(status) && status >= 200 && status <= 599)
    return status;
  throw new TypeError(
    `webhook_response takes an integer from 200 to 599 as status, not ${shown(status)}`,
  );
}

function toHeaders(headers: unknown): Record<string, string> {
  if (headers === undefined || headers === null) return {};
  if (typeof headers !== "object" || Array.isArray(headers)) {
    throw new TypeError(
      `webhook_response takes an object of strings as headers, not ${shown(headers)}`,
    );
  }
  const copy: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") {
      throw new TypeError(
        `webhook_response takes strings as headers; "${name}" is ${shown(value)}`,
      );
    }
    copy[name] = value;
  }
  return copy;
}

function toBody(body: unknown): string {
  if (body === undefined || body === null) return "";
  if (typeof body === "string") return body;
  throw new TypeError(
    `webhook_response takes a string as body, not ${shown(body)}: webhook_json_response takes any value`,
  );
}
