import { STATUS_CODES, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { RequestError, toProblem } from "../../shared/errors.ts";
import { newId } from "../../shared/id.ts";
import { peerOf } from "../access/client-address.ts";
import { refuseRest, stopped } from "../request/body.ts";
import { REQUEST_ID, requestIdOf } from "../request/trace.ts";
import { refuseMethod } from "../webhooks/match.ts";
import { isLingering } from "./linger.ts";
import { PROBLEM_HEADERS } from "./request-target.ts";
import { isHeldBack, watchHalf } from "./under-way.ts";

/** What the runtime's parser tells of a request that it cannot read. */
interface ParseError extends Error {
  readonly code: string;
  readonly reason?: string;
  readonly rawPacket?: Uint8Array;
  /** Of those bytes, where it stopped. */
  readonly bytesParsed?: number;
}

/** Of the server's limits those that its parser keeps; milliseconds and bytes. */
interface ParserLimits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly maxHeaderSize: number;
}

/**
 * Answers what is no request, or too large or too slow to become one, and closes its connection. What
 * stands within a body or behind it takes no answer's place: that to the request itself is the last.
 *
 * @param note is told those whose head was not read, with the address of the other end
 */
export function answerUnparsed(
  server: Server,
  limits: ParserLimits,
  note: (peer: string, refused: RequestError) => void,
): void {
  // The parser tells of each piece that comes behind what it cannot read.
  const told = new WeakSet<Socket>();
  server.on("clientError", (error: ParseError, socket: Socket) => {
    if (!isOfParser(error)) return void socket.destroy();
    if (isLingering(socket)) return void socket.end();
    if (told.has(socket)) return;
    if (error.code === TOO_SLOW && isHeldBack(socket, limits.headersTimeout))
      return askAgain(server, error, socket, limits.headersTimeout);
    told.add(socket);
    const unknown = findUnknownMethod(error);
    const refused = unknown === null ? refusalOf(error, limits) : refuseMethod(unknown.method);
    const answer = findAnswer(socket);
    if (answer === null) {
      note(peerOf(socket), refused);
      return writeLast(socket, refused, newId(), unknown?.target);
    }
    if (answer.req.complete) note(peerOf(socket), refused);
    else refuseBody(answer, socket, toBodyRefusal(error, refused));
    answer.shouldKeepAlive = false;
    answer.once("finish", () => socket.destroySoon());
  });
}

/**
 * Answers CONNECT, whose connection the runtime closes without a word. That to a request before it is
 * the last one.
 */
export function answerConnect(
  server: Server,
  note: (peer: string, refused: RequestError) => void,
): void {
  server.on("connect", (incoming, stream) => {
    const socket = stream as Socket;
    socket.on("error", () => {}).resume();
    const refused = refuseMethod("CONNECT");
    note(peerOf(socket), refused);
    const answer = findAnswer(socket);
    if (answer === null) return writeLast(socket, refused, requestIdOf(incoming), incoming.url);
    answer.shouldKeepAlive = false;
    answer.once("finish", () => socket.destroySoon());
  });
}

const TOO_SLOW = "ERR_HTTP_REQUEST_TIMEOUT";

/** Who is not read is not slow; but the parser tells of each once, and time goes on when it is read. */
function askAgain(server: Server, error: ParseError, socket: Socket, ms: number): void {
  const isStillHalf = watchHalf(socket);
  const ask = () => isStillHalf() && server.emit("clientError", error, socket);
  setTimeout(ask, ms).unref();
}

/** Whoever reads it answers; where nobody does, its caller is not to wait for what cannot come. */
function refuseBody({ req, headersSent }: ServerResponse, socket: Socket, refused: RequestError) {
  if (refuseRest(req, refused)) return;
  if (headersSent) socket.destroySoon();
  else writeLast(socket, refused, requestIdOf(req));
}

function writeLast(socket: Socket, refused: RequestError, requestId: string, target = "/"): void {
  if (socket.writable) socket.write(toAnswer(refused, requestId, target));
  socket.destroySoon();
}

/** What is written within a handshake of TLS that does not go on would wait for its end for ever. */
function isOfParser({ code }: ParseError): boolean {
  return /^HPE_|^ERR_HTTP_/.test(code);
}

/** The answer that is under way on a connection, to a request whose head was read. */
export function findAnswer(socket: Socket): ServerResponse | null {
  return (Reflect.get(socket, "_httpMessage") as ServerResponse | null | undefined) ?? null;
}

function refusalOf(error: ParseError, limits: ParserLimits): RequestError {
  const most = `${limits.maxHeaderSize / 1024} KB`;
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new RequestError(
        "headers_too_large",
        `The first line and the headers have more than ${most} together: send fewer or shorter ones`,
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new RequestError(
        "body_too_large",
        `The chunks of the body have extensions of more than ${most}, expected none`,
      );
    case TOO_SLOW:
      return new RequestError(
        "request_too_slow",
        `The headers have not come within ${limits.headersTimeout / 1000} s, or the whole within ${limits.requestTimeout / 1000} s`,
      );
    default:
      return new RequestError("bad_request", describe(error));
  }
}

function toBodyRefusal(error: ParseError, refused: RequestError): RequestError {
  if (refused.code !== "bad_request") return refused;
  if (error.code === "HPE_INVALID_EOF_STATE") return stopped();
  return new RequestError("bad_body", `The body cannot be read: ${error.reason ?? error.message}`);
}

/** The first line of a request, with any word as its method. */
const FIRST_LINE = /^([!#$%&'*+.^_`|~\w-]{1,64}) (\S+) HTTP\/1\.[01]\r?\n/;

/** What the parser says where it stopped within a method; Deno's says no more. */
const OF_METHOD = ["HPE_INVALID_METHOD", "HPE_ERROR"];

/** The parser knows the methods of standards alone: another is a word that a request may have. */
function findUnknownMethod(error: ParseError): { method: string; target: string } | null {
  const { code, rawPacket, bytesParsed = 0 } = error;
  if (!OF_METHOD.includes(code) || rawPacket === undefined) return null;
  const text = Buffer.from(rawPacket).toString("latin1");
  const start = text.lastIndexOf("\n", bytesParsed) + 1;
  const [, method = "", target] = FIRST_LINE.exec(text.slice(start)) ?? [];
  const isWithin = bytesParsed - start <= method.length;
  return target === undefined || !isWithin ? null : { method, target };
}

/** The first byte of a handshake of TLS, and how HTTP/2 begins. */
const [HANDSHAKE, PREFACE] = [0x16, "PRI * HTTP/2"];

function describe({ rawPacket = Buffer.alloc(0), reason, message }: ParseError): string {
  if (rawPacket[0] === HANDSHAKE)
    return "Found a handshake of TLS, and this port speaks plain HTTP: call it with http://";
  if (Buffer.from(rawPacket.subarray(0, PREFACE.length)).toString("latin1") === PREFACE)
    return "Found HTTP/2: call it with HTTP/1.1";
  return `What came is no request of HTTP/1.1: ${reason ?? message}`;
}

function toAnswer(refused: RequestError, requestId: string, target: string): string {
  const { status } = refused;
  const [path = "/"] = target.startsWith("/") ? target.split("?", 1) : [];
  const problem = JSON.stringify(toProblem(refused, path));
  const headers = {
    ...PROBLEM_HEADERS,
    ...refused.headers,
    [REQUEST_ID]: requestId,
    date: new Date().toUTCString(),
    connection: "close",
    "content-length": String(Buffer.byteLength(problem)),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${problem}`;
}
