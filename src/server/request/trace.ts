import type { IncomingMessage, OutgoingMessage } from "node:http";
import { newId } from "../../shared/id.ts";

/** What ties the lines of the log to a request, here and at whoever sent it. */
export interface Trace {
  /** The caller's X-Request-Id, or one that was made for it. */
  readonly request_id: string;
  /** Trace of the caller (W3C Trace Context, section 3.2); null without a valid traceparent. */
  readonly trace_id: string | null;
}

export const REQUEST_ID = "x-request-id";

/** Letters that need no quoting anywhere; a longer or stranger one is replaced. */
const SANE = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/** version 00, or a later one that starts alike (W3C Trace Context, section 3.2.2 and 4.3). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** The id of a request, which its answer echoes: the caller's, or one that is made for it. */
export function requestIdOf(incoming: IncomingMessage): string {
  const sent = incoming.headers[REQUEST_ID];
  return typeof sent === "string" && SANE.test(sent) ? sent : inOnePiece(newId());
}

/** A copy: the runtime's is a tree of twenty pieces, and a request that waits holds its id. */
function inOnePiece(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** Gives the request its id where the answer's headers are made elsewhere. */
export function identifyRequest(incoming: IncomingMessage, outgoing: OutgoingMessage): void {
  outgoing.setHeader(REQUEST_ID, requestIdOf(incoming));
}

/** The trace of a request that was identified by its answer's header. */
export function readTrace(incoming: IncomingMessage, outgoing: OutgoingMessage): Trace {
  return toTrace(incoming, String(outgoing.getHeader(REQUEST_ID) ?? ""));
}

export function toTrace(incoming: IncomingMessage, request_id: string): Trace {
  return { request_id, trace_id: toTraceId(incoming.headers["traceparent"]) };
}

/** The trace of a traceparent header; null where it is not valid. */
export function toTraceId(traceparent: unknown): string | null {
  if (typeof traceparent !== "string") return null;
  const [, trace_id = "", parent_id = "", more] = TRACEPARENT.exec(traceparent) ?? [];
  const isLater = !traceparent.startsWith("00-");
  if (/^0*$/.test(trace_id) || /^0*$/.test(parent_id)) return null;
  return more === undefined || isLater ? trace_id : null;
}
