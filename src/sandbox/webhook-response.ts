import * as js from "../shared/intrinsics.ts";
import { dropUndone, fromHeaders } from "./fetch-flow.ts";
import type { FlowLog } from "./flow-log.ts";
import { isResponse, shown } from "./text.ts";
import { toValueText } from "./value-text.ts";

/**
 * The operations that shape the response (specification 4.7): each gives the JSON text of
 * {status, headers, body}. The server checks it again.
 */

/** @throws {TypeError} naming the member that is wrong. */
export function toResponse(given: unknown, log: Pick<FlowLog, "write">): string {
  if (typeof given !== "object" || given === null) {
    throw new js.TypeError(`webhook_response takes {status, headers, body}, not ${shown(given)}`);
  }
  if (isResponse(given)) {
    throw new js.TypeError(
      "webhook_response takes {status, headers, body}, not a Response: a fetch handler answers with one",
    );
  }
  const status = toStatus(js.own(given, "status"));
  const headers = toHeaders(js.own(given, "headers"));
  const body = toBody(js.own(given, "body"));
  dropUndone(headers, { url: "", status }, body, log);
  return toText(status, headers, body);
}

/** @throws {TypeError} where the body is no string. */
export function toHtmlResponse(body: unknown): string {
  if (typeof body !== "string") {
    throw new js.TypeError(`webhook_html_response takes a string, not ${shown(body)}`);
  }
  return toText(200, typed("text/html; charset=utf-8"), body);
}

/** @throws {TypeError} as `toValueText` */
export function toJsonResponse(value: unknown, log: Pick<FlowLog, "write">): string {
  const body = toValueText(value, "flow's JSON response", log);
  return toText(200, typed("application/json; charset=utf-8"), body);
}

/**
 * Put together from its parts, so that no `toJSON` of a flow's is asked for another text.
 * @param headers without a prototype
 */
function toText(status: number, headers: object, body: string): string {
  return `{"status":${status},"headers":${js.stringify(headers)},"body":${js.stringify(body)}}`;
}

function typed(type: string): object {
  return { __proto__: null, "content-type": type };
}

function toStatus(status: unknown): number {
  if (typeof status === "number" && js.isInteger(status) && status >= 200 && status <= 599)
    return status;
  throw new js.TypeError(
    `webhook_response takes an integer from 200 to 599 as status, not ${shown(status)}`,
  );
}

const { iterator, toStringTag } = Symbol;
const { isView } = ArrayBuffer;

function toHeaders(given: unknown): Record<string, string | string[]> {
  const copy: Record<string, string | string[]> = js.create(null);
  if (given === undefined || given === null) return copy;
  if (typeof given !== "object" || js.isArray(given)) {
    throw new js.TypeError(
      `webhook_response takes an object of strings as headers, not ${shown(given)}`,
    );
  }
  // By its tag: to ask for the class would load it for all that have none.
  const isHeaders = js.get(given, toStringTag) === "Headers";
  if (!isHeaders && js.get(given, iterator) !== undefined) {
    throw new js.TypeError(
      "webhook_response takes an object of strings or Headers as headers, not a Map or another " +
        "iterable: Object.fromEntries makes an object of it",
    );
  }
  const headers = isHeaders ? fromHeaders(given as Headers) : given;
  js.each(js.keys(headers), (name) => {
    copy[name] = toValue(name, js.get(headers, name));
  });
  return copy;
}

const COOKIES = /^set-cookie$/i;

/** Of cookies there may be a list: each is a header of its own. */
function toValue(name: string, value: unknown): string | string[] {
  if (typeof value === "string") return value;
  if (js.isArray(value) && js.exec(COOKIES, name) !== null) {
    // Without a prototype no list is asked for a `toJSON` of the flow's.
    const copy = js.setPrototypeOf([], null) as string[];
    for (let at = 0; at < value.length; at += 1) {
      const cookie: unknown = js.get(value, `${at}`);
      if (typeof cookie !== "string") throw noText(name, `a list with ${shown(cookie)}`);
      js.push(copy, cookie);
    }
    return copy;
  }
  throw noText(name, shown(value));
}

function noText(name: string, found: string): TypeError {
  return new js.TypeError(`webhook_response takes strings as headers; "${name}" is ${found}`);
}

function toBody(body: unknown): string {
  if (body === undefined || body === null) return "";
  if (typeof body === "string") return body;
  if (isView(body) || (typeof body === "object" && js.get(body, toStringTag) === "ArrayBuffer")) {
    throw new js.TypeError(
      "webhook_response takes a string as body, not bytes: a fetch handler answers with them, " +
        "as new Response(bytes)",
    );
  }
  throw new js.TypeError(
    `webhook_response takes a string as body, not ${shown(body)}: webhook_json_response takes any value`,
  );
}
