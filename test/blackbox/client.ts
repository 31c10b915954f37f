import { request as httpRequest, type Agent, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { HUNG_MS } from "../hung.ts";

/** Where the service listens. */
export interface Origin {
  readonly host: string;
  readonly port: number;
}

export interface Call {
  readonly method?: string;
  /** The request target as it goes over the wire: nothing is resolved or encoded. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  readonly agent?: Agent;
  /** The address of this machine that it is sent from. */
  readonly localAddress?: string;
  /** Sent without a Content-Length. */
  readonly chunked?: boolean;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  /** Lower-case names; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
  readonly target: string;
  /** Status line and headers as they came, to search for what must not be there. */
  readonly head: string;
}

/** The last answer of a chain, with every answer on the way. */
export interface Chain extends Answer {
  readonly legs: readonly Answer[];
}

const MAX_REDIRECTS = 20;

/** One request, one answer: redirects are not followed. */
export function send(origin: Origin, call: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      ...origin,
      method: call.method ?? "GET",
      path: call.target,
      headers: requestHeaders(call),
      agent: call.agent ?? false,
      ...(call.localAddress === undefined ? {} : { localAddress: call.localAddress }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    request.once("error", reject);
    request.once("response", (response) => {
      collect(response, call.target).then(resolve, reject);
    });
    request.end(call.body ?? undefined);
  });
}

function requestHeaders(call: Call): Record<string, string> {
  const headers = { ...call.headers };
  if (call.body === undefined || call.body === null) return headers;
  if (call.chunked === true) headers["transfer-encoding"] = "chunked";
  else headers["content-length"] ??= String(Buffer.byteLength(call.body));
  return headers;
}

async function collect(response: IncomingMessage, target: string): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const pairs = toPairs(response.rawHeaders);
  return {
    status: response.statusCode ?? 0,
    headers: joinHeaders(pairs),
    bytes,
    text: bytes.toString("utf8"),
    target,
    head: [
      `HTTP/1.1 ${response.statusCode} ${response.statusMessage}`,
      ...pairs.map((pair) => pair.join(": ")),
    ].join("\n"),
  };
}

function toPairs(raw: readonly string[]): (readonly [string, string])[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""] as const] : []));
}

function joinHeaders(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) {
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  return headers;
}

/**
 * Follows redirects as the Fetch standard does: 303 turns everything but HEAD into GET, 301 and
 * 302 turn POST into GET, and a changed method loses the body. Headers are kept, as within one
 * origin; a redirect that leads to another one is not followed.
 */
export async function follow(origin: Origin, call: Call): Promise<Chain> {
  const legs: Answer[] = [];
  let next = call;
  for (;;) {
    const answer = await send(origin, next);
    legs.push(answer);
    const location = answer.headers["location"];
    const leads = answer.status >= 300 && answer.status <= 399 && location !== undefined;
    if (!leads || isForeign(origin, next.target, location)) return { ...answer, legs };
    if (legs.length > MAX_REDIRECTS) throw new Error(`More than ${MAX_REDIRECTS} redirects`);
    next = redirected(origin, next, answer.status, location);
  }
}

function isForeign(origin: Origin, target: string, location: string): boolean {
  return resolveLocation(origin, target, location).host !== `${origin.host}:${origin.port}`;
}

function redirected(origin: Origin, call: Call, status: number, location: string): Call {
  const url = resolveLocation(origin, call.target, location);
  const target = url.pathname + url.search;
  const method = call.method ?? "GET";
  const becomesGet = (status === 303 && method !== "HEAD") || (status < 303 && method === "POST");
  if (!becomesGet) return { ...call, target };
  const headers = Object.fromEntries(
    Object.entries(call.headers ?? {}).filter(([name]) => !/^content-/i.test(name)),
  );
  return { ...call, target, method: "GET", headers, body: null, chunked: false };
}

/** What a client makes of a Location: a URL resolved against the one that it asked for. */
export function resolveLocation(origin: Origin, target: string, location: string): URL {
  return new URL(location, `http://${origin.host}:${origin.port}${target}`);
}

/**
 * Sends bytes exactly as given, for what no HTTP client would send, and returns what came back
 * until the other side closed. Add `Connection: close` to requests that are well-formed.
 */
export function raw(origin: Origin, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(origin.port, origin.host, () => socket.write(bytes));
    socket.setTimeout(HUNG_MS, () => socket.destroy(new Error("No answer")));
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.once("error", (error) => (chunks.length > 0 ? undefined : reject(error)));
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
  });
}

/** Reads the answer of `raw`: status, headers by lower-case name, body. */
export function parseRaw(text: string, target: string): Answer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const pairs = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const body = rest.join("\r\n\r\n");
  return {
    status: Number(statusLine.split(" ")[1] ?? 0),
    headers: joinHeaders(pairs),
    bytes: Buffer.from(body, "latin1"),
    text: body,
    target,
    head,
  };
}
