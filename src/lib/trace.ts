import type { IncomingMessage, OutgoingMessage } from "node:http";
import { newId } from "./id.ts";

/** What ties the lines of the log to a request, here and at whoever sent it. */
export interface Trace {
  /** The caller's X-Request-Id, or one that was made for it. */
  readonly request_id: string;
  /** Trace of the caller (W3C Trace Context, section 3.2); null without a valid traceparent. */
  readonly trace_id: string | null;
}

const REQUEST_ID = "x-request-id";

/** Letters that need no quoting anywhere; a longer or stranger one is replaced. */
const SANE = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/** version 00, or a later one that starts alike (section 3.2.2 and 4.3). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** Gives the request its id, which every answer to it echoes. */
export function identifyRequest(incoming: IncomingMessage, outgoing: OutgoingMessage): void {
  const sent = incoming.headers[REQUEST_ID];
  const is_sane = typeof sent === "string" && SANE.test(sent);
  outgoing.setHeader(REQUEST_ID, is_sane ? sent : newId());
}

/** Read when a line is to be logged, and so not on the way of most calls. */
export function readTrace(incoming: IncomingMessage, outgoing: OutgoingMessage): Trace {
  return {
    request_id: String(outgoing.getHeader(REQUEST_ID) ?? ""),
    trace_id: toTraceId(incoming.headers["traceparent"]),
  };
}

/** The trace of a traceparent header; null where it is not valid. */
export function toTraceId(traceparent: unknown): string | null {
  if (typeof traceparent !== "string") return null;
  const [, trace_id = "", parent_id = "", more] = TRACEPARENT.exec(traceparent) ?? [];
  const is_later = !traceparent.startsWith("00-");
  if (/^0*$/.test(trace_id) || /^0*$/.test(parent_id)) return null;
  return more === undefined || is_later ? trace_id : null;
}
