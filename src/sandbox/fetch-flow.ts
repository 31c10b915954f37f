import { Buffer, isUtf8 as isUtf8Now } from "node:buffer";
import { types } from "node:util";
import type { Job } from "../shared/wire/protocol.ts";
import * as js from "../shared/intrinsics.ts";
import type { FlowLog } from "./flow-log.ts";
import { isOfRequest } from "./request-members.ts";
import { shown } from "./text.ts";

/**
 * The web-standard form of a flow: from a job to a Request, from a Response to text. The classes
 * of the web are loaded when a flow first asks for them, and may be the flow's own by then: what
 * they say is no more than what the flow itself could say, and is checked like it.
 */

const { alloc, concat } = Buffer;
const isUtf8 = isUtf8Now;
const { isUint8Array } = types;
const toString = js.uncurry(Buffer.prototype.toString);
/** Of the first four bytes. */
const toHex = (bytes: Buffer): string => toString(bytes, "hex", 0, 4) as string;
const lengthOf = js.uncurry(
  js.getOwnPropertyDescriptor(js.getPrototypeOf(Uint8Array.prototype) as object, "byteLength")
    ?.get as (this: Uint8Array) => number,
);

const forgetError = js.uncurry(Promise.prototype.catch) as (
  promise: Promise<void>,
  onError: () => void,
) => void;

/** The body as it was sent: a part of input_value, or beside it. */
export function rawBodyOf({ input_value, raw_body_at, raw_body }: Job): string | undefined {
  if (raw_body_at !== null) return js.slice(input_value, raw_body_at, -1);
  return raw_body ?? undefined;
}

/**
 * The request as it came, with its URL under BASE_URL; key and tokens are already out of it. One that
 * no call has sent has the URL of a call with its path and query.
 */
export function toRequest(
  job: Job,
  input: unknown,
  signal: AbortSignal,
  log: Pick<FlowLog, "write">,
): Request {
  if (job.target === null && input !== null && !isOfRequest(input)) log.write("warn", [NO_REQUEST]);
  const json = js.own(input, "json");
  const body = rawBodyOf(job) ?? (json === undefined ? null : js.stringify(json));
  const asked = js.own(input, "method");
  const method = typeof asked === "string" ? asked : body === null ? "GET" : "POST";
  const takesBody = method !== "GET" && method !== "HEAD";
  // The target is appended as text: resolved as a URL, "//host/" would leave BASE_URL's host.
  const { origin, pathname } = new URL(job.base_url);
  const url = origin + (job.target ?? toTarget(job, pathname === "/" ? "" : pathname, input));
  const headers = toHeaders(js.own(input, "headers"));
  return new Request(url, { method, headers, signal, body: takesBody ? body : null });
}

const NO_REQUEST =
  "A fetch handler sees of input_value what a request has, and nothing else: give method, path, " +
  "headers, query or json";

/** As a call would have been sent to the flow's webhook. */
function toTarget(job: Job, prefix: string, input: unknown): string {
  const { webhook, flow } = js.parse(job.execution) as { webhook: string | null; flow: string };
  const path = js.own(input, "path");
  const query = js.own(input, "query");
  const pairs: string[] = [];
  if (js.isObject(query))
    js.each(js.keys(query), (name) =>
      js.push(pairs, `${encoded(name)}=${encoded(js.String(js.get(query, name)))}`),
    );
  const search = pairs.length === 0 ? "" : `?${js.join(pairs, "&")}`;
  const call = `${prefix}/api/latest/webhook/${encoded(webhook ?? flow)}/call`;
  return `${call}${typeof path === "string" ? `/${path}` : ""}${search}`;
}

function encoded(text: string): string {
  return js.encodeURIComponent(js.toWellFormed(text));
}

function toHeaders(given: unknown): Headers {
  const headers = new Headers();
  if (typeof given !== "object" || given === null) return headers;
  js.each(js.keys(given), (name) => {
    try {
      headers.append(name, js.String(js.get(given, name)));
    } catch {
      // What HTTP let in and the Headers class does not take is left out.
    }
  });
  return headers;
}

/**
 * JSON text of {status, headers, body, body_encoding?}; the body is base64 where it is no UTF-8.
 * HEAD has none: a stream, which may have no end, is not read for it. A `content-encoding` that
 * its body does not have, as after `fetch`, is left out, and the log says so.
 * @throws {Error} where it is no Response, or its body has more bytes than the limit
 */
export async function fromResponse(
  response: unknown,
  method: string,
  maxBytes: number,
  log: Pick<FlowLog, "write">,
): Promise<string> {
  if (!(response instanceof Response)) {
    throw new js.TypeError(`The flow's fetch returned ${shown(response)}, expected a Response`);
  }
  const { status } = response;
  if (status < 200 || status > 599) {
    throw new js.TypeError(`The flow's Response has status ${status}, expected 200 to 599`);
  }
  const bytes = await readBody(response, method === "HEAD" ? null : maxBytes);
  const isText = isUtf8(bytes);
  const headers = fromHeaders(response.headers);
  dropUndone(headers, response, bytes, log);
  return js.stringify({
    __proto__: null,
    status,
    headers,
    body: toString(bytes, isText ? "utf8" : "base64"),
    body_encoding: isText ? undefined : "base64",
  });
}

/** Leaves out a `content-encoding` that the body does not have, whatever its case, and says so. */
export function dropUndone(
  headers: Record<string, string | string[]>,
  response: Pick<Response, "url" | "status">,
  body: Buffer | string,
  log: Pick<FlowLog, "write">,
): void {
  js.each(js.keys(headers), (name) => {
    const coding = js.exec(ENCODING, name) === null ? undefined : headers[name];
    if (typeof coding !== "string") return;
    if (!isUndone(coding, response, typeof body === "string" ? js.toBytes(body) : body)) return;
    delete headers[name];
    log.write("warn", [UNDONE]);
  });
}

const ENCODING = /^content-encoding$/i;
const UNDONE =
  'Header "content-encoding" was left out of the response: its body is not encoded as it says ' +
  "(fetch decodes what it receives)";

/** What the runtime's fetch decodes, and how in base 16 a body begins that is still encoded so. */
const CODINGS = [
  { name: /(?:^|[,\s])(?:x-)?gzip\s*$/i, magic: "1f8b" },
  { name: /(?:^|[,\s])zstd\s*$/i, magic: "28b52ffd" },
  { name: /(?:^|[,\s])(?:br|deflate)\s*$/i, magic: null },
];

/** No result of a coding has so many bytes and is UTF-8. */
const SURELY_TEXT = 32;

/** Whether a body is not encoded any more as its header says: a copy of a response has no URL to tell. */
function isUndone(
  coding: string,
  { url, status }: Pick<Response, "url" | "status">,
  bytes: Buffer,
): boolean {
  for (let at = 0; at < CODINGS.length; at += 1) {
    const { name, magic } = CODINGS[at] as (typeof CODINGS)[number];
    if (js.exec(name, coding) === null) continue;
    const size = lengthOf(bytes);
    if (url !== "" || (size >= SURELY_TEXT && isUtf8(bytes))) return true;
    // A part of a file does not begin as the file does.
    return magic !== null && size > 0 && status !== 206 && !js.startsWith(toHex(bytes), magic);
  }
  return false;
}

/** @param maxBytes null: nobody wants it */
async function readBody(response: Response, maxBytes: number | null): Promise<Buffer> {
  if (response.body === null) return alloc(0);
  const reader = response.body.getReader();
  if (maxBytes === null) {
    letGo(reader);
    return alloc(0);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concat(chunks);
    if (!isUint8Array(value)) {
      letGo(reader);
      throw new js.TypeError(NO_BYTES);
    }
    size += lengthOf(value);
    if (size > maxBytes) {
      letGo(reader);
      throw new js.Error(`The flow's Response is longer than ${maxBytes} bytes`);
    }
    js.push(chunks, value);
  }
}

const NO_BYTES =
  "The flow's Response has a stream whose chunks are no Uint8Array: " +
  "pipe texts through a TextEncoderStream";

/** Tells the flow's stream that it is read no further: whatever it makes of that is not waited for. */
function letGo(reader: ReadableStreamDefaultReader): void {
  forgetError(reader.cancel(), () => undefined);
}

/** By their lower-case names; cookies are a list. */
export function fromHeaders(given: Headers): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = js.create(null);
  const keep = (value: string, name: string): void => {
    if (name !== "set-cookie") headers[name] = value;
  };
  js.apply<Headers, Parameters<Headers["forEach"]>, void>(js.get(given, "forEach"), given, [keep]);
  const cookies = given.getSetCookie();
  // Without a prototype no list is asked for a `toJSON` of the flow's.
  if (cookies.length > 0) headers["set-cookie"] = js.setPrototypeOf(cookies, null) as string[];
  return headers;
}
