import { findTooDeep } from "../shared/json-text.ts";
import { MAX_DEPTH } from "../shared/wire/protocol.ts";
import {
  TypeError,
  create,
  get,
  hasOwn,
  isArray,
  isInteger,
  keys,
  stringify,
} from "../shared/intrinsics.ts";
import type { FlowLog } from "./flow-log.ts";
import { shown } from "./text.ts";
import { toValueText } from "./value-text.ts";

/**
 * The operations that shape the response (specification 4.7): each gives the JSON text of
 * {status, headers, body}. The server checks it again.
 */

/** @throws {TypeError} naming the member that is wrong. */
export function toResponse(given: unknown): string {
  if (typeof given !== "object" || given === null) {
    throw new TypeError(`webhook_response takes {status, headers, body}, not ${shown(given)}`);
  }
  const status = toStatus(own(given, "status"));
  return toText(status, toHeaders(own(given, "headers")), toBody(own(given, "body")));
}

/** @throws {TypeError} where the body is no string. */
export function toHtmlResponse(body: unknown): string {
  if (typeof body !== "string") {
    throw new TypeError(`webhook_html_response takes a string, not ${shown(body)}`);
  }
  return toText(200, typed("text/html; charset=utf-8"), body);
}

/** @throws {TypeError} where JSON cannot say the value. */
export function toJsonResponse(value: unknown, log: Pick<FlowLog, "write">): string {
  const body = toValueText(value, "flow's JSON response", log);
  requireShallow("response", body);
  return toText(200, typed("application/json; charset=utf-8"), body);
}

/** @throws {TypeError} where JSON text nests too deep for others to read. */
export function requireShallow(what: string, text: string): void {
  if (findTooDeep(text, MAX_DEPTH) >= 0)
    throw new TypeError(`The flow's ${what} nests deeper than ${MAX_DEPTH} levels`);
}

/**
 * Put together from its parts, so that no `toJSON` of a flow's is asked for another text.
 * @param headers without a prototype
 */
function toText(status: number, headers: object, body: string): string {
  return `{"status":${status},"headers":${stringify(headers)},"body":${stringify(body)}}`;
}

function typed(type: string): object {
  return { __proto__: null, "content-type": type };
}

/** Not what a polluted prototype adds: that would answer every later caller too. */
function own(given: object, name: string): unknown {
  return hasOwn(given, name) ? get(given, name) : undefined;
}

function toStatus(status: unknown): number {
  if (typeof status === "number" && isInteger(status) && status >= 200 && status <= 599)
    return status;
  throw new TypeError(
    `webhook_response takes an integer from 200 to 599 as status, not ${shown(status)}`,
  );
}

function toHeaders(headers: unknown): Record<string, string> {
  const copy: Record<string, string> = create(null);
  if (headers === undefined || headers === null) return copy;
  if (typeof headers !== "object" || isArray(headers)) {
    throw new TypeError(
      `webhook_response takes an object of strings as headers, not ${shown(headers)}`,
    );
  }
  const names = keys(headers);
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string;
    const value: unknown = get(headers, name);
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
