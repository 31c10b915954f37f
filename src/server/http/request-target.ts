import type { IncomingMessage, ServerResponse } from "node:http";
import { RequestError, toProblem } from "../../shared/errors.ts";
import { isContinue } from "../request/expectation.ts";
import { isHost, isLocalHost } from "../request/host.ts";
import { identifyRequest } from "../request/trace.ts";

/**
 * Refuses what an HTTP server in front of others must not guess about: two Host headers, none in
 * HTTP/1.1 or one that names no host, an absolute-form target, a backslash or NUL in a path
 * (contract, section 4, numbers 6 and 15), a transfer coding that is not undone, an expectation that
 * nobody meets.
 *
 * @param localNames of a service for this machine alone, beside its own; null: any host will do
 * @returns why it was refused, and answered so; null: it was not
 */
export function refuseTarget(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  localNames: readonly string[] | null,
): RequestError | null {
  const error = findTargetError(incoming, localNames);
  const refused =
    error === null ? findExpectation(incoming) : new RequestError("bad_target", error);
  if (refused === null) return null;
  identifyRequest(incoming, outgoing);
  const problem = JSON.stringify(toProblem(refused, "/"));
  outgoing.writeHead(refused.status, { ...PROBLEM_HEADERS, connection: "close" });
  outgoing.end(incoming.method === "HEAD" ? undefined : problem);
  return refused;
}

export const PROBLEM_HEADERS = {
  "content-type": "application/problem+json",
  "cache-control": "no-store",
};

/** Names and values together are bounded in bytes; many short ones would cost more than they weigh. */
const MOST_HEADERS = 256;

function findTargetError(
  { url = "", headers, rawHeaders, httpVersion }: IncomingMessage,
  localNames: readonly string[] | null,
): string | null {
  const count = rawHeaders.length / 2;
  if (count > MOST_HEADERS) return `Found ${count} headers, expected at most ${MOST_HEADERS}`;
  if (!url.startsWith("/")) return "Expected a target that starts with a slash";
  const path = url.split("?", 1)[0] ?? "";
  if (/[\\\0]/.test(path) || url.includes("#"))
    return "The target has a character that must be percent-encoded";
  const coding = headers["transfer-encoding"];
  if (coding !== undefined) {
    const error = findCodingError(coding, httpVersion);
    if (error !== null) return error;
  }
  return findHostError(rawHeaders, httpVersion, localNames);
}

/** Its client may wait for what it expects (RFC 9110, section 10.1.1). */
function findExpectation({
  headers: { expect },
  httpVersion,
}: IncomingMessage): RequestError | null {
  if (expect === undefined || httpVersion !== "1.1" || isContinue(expect)) return null;
  return new RequestError("unknown_expectation", `Found Expect "${expect}", expected 100-continue`);
}

/** What another server may take for the end of a request (RFC 9112, section 6.1). */
function findCodingError(coding: string, httpVersion: string): string | null {
  if (httpVersion !== "1.1") return `HTTP/${httpVersion} has no Transfer-Encoding`;
  if (coding.toLowerCase() === "chunked") return null;
  return `Found Transfer-Encoding "${coding}", expected chunked`;
}

function findHostError(
  raw: readonly string[],
  httpVersion: string,
  localNames: readonly string[] | null,
): string | null {
  let count = 0;
  let host = "";
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() !== "host") continue;
    count += 1;
    host = raw[at + 1] ?? "";
  }
  // Plain checks of balancers send none, and HTTP/1.0 asks for none.
  if (count === 0 && httpVersion === "1.0" && localNames === null) return null;
  if (count !== 1) return `Found ${count} Host headers, expected one`;
  if (!isHost(host)) return "The Host header names no host, expected one and perhaps its port";
  if (localNames === null || isLocalHost(host, localNames)) return null;
  return `Found the host "${host}", and this service is for its own machine: expected localhost. For a tunnel, start it with --host NAME`;
}
