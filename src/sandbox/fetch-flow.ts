import { Buffer } from "node:buffer";
import { rawBodyOf, type Job } from "../runner/protocol.ts";
import { shown } from "./text.ts";

/** The web-standard form of a flow: from a job to a Request, from a Response to text. */

const { stringify } = JSON;

interface Called {
  readonly method?: unknown;
  readonly headers?: unknown;
  readonly json?: unknown;
}

/** The request as it came, with its URL under BASE_URL; key and tokens are already out of it. */
export function toRequest(job: Job, input: unknown, signal: AbortSignal): Request {
  const called: Called = typeof input === "object" && input !== null ? input : {};
  const body = rawBodyOf(job) ?? (called.json === undefined ? null : stringify(called.json));
  const method = typeof called.method === "string" ? called.method : body === null ? "GET" : "POST";
  const takesBody = method !== "GET" && method !== "HEAD";
  // The target is appended as text: resolved as a URL, "//host/" would leave BASE_URL's host.
  const url = new URL(job.base_url).origin + (job.target ?? "/");
  const headers = toHeaders(called.headers);
  return new Request(url, { method, headers, signal, body: takesBody ? body : null });
}

function toHeaders(given: unknown): Headers {
  const headers = new Headers();
  if (typeof given !== "object" || given === null) return headers;
  for (const [name, value] of Object.entries(given)) {
    try {
      headers.set(name, String(value));
    } catch {
      // What HTTP let in and the Headers class does not take is left out.
    }
  }
  return headers;
}

/**
 * JSON text of {status, headers, body, body_encoding?}; the body is base64 where it is no UTF-8.
 * @throws {Error} where it is no Response, or its body has more bytes than the limit
 */
export async function fromResponse(response: unknown, maxBytes: number): Promise<string> {
  if (!(response instanceof Response)) {
    throw new TypeError(`The flow's fetch returned ${shown(response)}, expected a Response`);
  }
  if (response.status < 200 || response.status > 599) {
    throw new TypeError(`The flow's Response has status ${response.status}, expected 200 to 599`);
  }
  const bytes = await readBody(response, maxBytes);
  return stringify({ status: response.status, headers: headersOf(response), ...bodyOf(bytes) });
}

async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  if (response.body === null) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new Error(`The flow's Response is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf(response: Response): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of response.headers) {
    if (name !== "set-cookie") headers[name] = value;
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  return headers;
}

function bodyOf(bytes: Buffer): { body: string; body_encoding?: "base64" } {
  try {
    return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { body: bytes.toString("base64"), body_encoding: "base64" };
  }
}
