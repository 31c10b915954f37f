import type { LimitedWebhook } from "../executions/webhook-queue.ts";
import type { IncomingMessage } from "node:http";
import type { Activity } from "../access/activity.ts";
import { discardBody, hasBody, type Bodies } from "../request/body.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Admission, Caller, Handshake, ReadBody } from "./call.ts";
import { takeToken } from "./call-limits.ts";
import { readChallenge } from "./handshake.ts";
import { toCallInput } from "./input.ts";
import { parseElsewhere, type ParseLarge } from "./large-payload.ts";
import { takesBody } from "./match.ts";
import type { RateLimits } from "./rate-limit.ts";
import { readBody } from "./read-body.ts";
import {
  isParsedAtOnce,
  mediaTypeOf,
  parsePayload,
  payloadTypeOf,
  toParseRules,
  type Parsed,
  type Payload,
  type PayloadType,
} from "./payload.ts";

export interface AdmissionRules {
  readonly activity: Activity;
  /** DEVELOPMENT_INACTIVITY_SEC. */
  readonly inactivityMs: number;
  readonly maxBodyBytes: number;
  readonly bodies: Bodies;
  readonly parseLarge: ParseLarge;
  /** @throws RequestError queue_full, webhook_busy, shutting_down */
  readonly requireRoom: (flow: string, webhook: LimitedWebhook) => void;
  readonly rates: RateLimits;
}

/**
 * What remains to be checked before a record is made, in the contract's order.
 *
 * @throws RequestError no_active_user, rate_limited, body_too_large, unsupported_type, bad_body, overloaded, queue_full
 */
export async function admit(rules: AdmissionRules, caller: Caller): Promise<Admission | Handshake> {
  if (caller.webhook.is_productive !== 1) await requireActiveUser(rules);
  const { limits } = caller.webhook;
  if (limits !== null) await takeToken(rules.rates, caller, limits);
  const admission = await readInput(rules, caller);
  if (caller.signed !== null) {
    const challenge = readChallenge(caller.signed, admission.payload);
    if (challenge !== null) return { challenge };
  }
  return admission;
}

/** @throws RequestError body_too_large, unsupported_type, bad_body, overloaded */
export async function readInput(rules: AdmissionRules, caller: Caller): Promise<Admission> {
  const isRead = takesBody(caller.call.method);
  if (!isRead) discardBody(caller.call.incoming);
  const payload = isRead ? await readPayload(rules, caller) : null;
  return { ...caller, payload, input: toCallInput(caller, payload) };
}

/** Section 3.1: a development webhook answers only while somebody works in the UI. */
async function requireActiveUser({ activity, inactivityMs }: AdmissionRules): Promise<void> {
  const idleMs = await activity.idleFor(inactivityMs);
  if (idleMs !== null && idleMs <= inactivityMs) return;
  throw new RequestError(
    "no_active_user",
    `This webhook is in development mode, and no user was active in the user interface within ` +
      `the last ${inactivityMs / 1000} seconds. Log in and open the user interface, or set ` +
      `"Is productive"`,
  );
}

async function readPayload(rules: AdmissionRules, caller: Caller): Promise<Payload | null> {
  const { call } = caller;
  refuseEncoding(call.incoming);
  const mediaType = mediaTypeOf(call.incoming.headers["content-type"]);
  const body = caller.body ?? (await readBody(rules, caller, true));
  if (body === null) return null;
  const type = payloadTypeOf(mediaType);
  if (body.error !== null) throw body.error;
  return { text: body.text, ...(body.parsed ?? (await parse(rules, caller, body, type))) };
}

async function parse(
  { maxBodyBytes, parseLarge }: AdmissionRules,
  { call, webhook }: Caller,
  { bytes, text }: ReadBody,
  type: PayloadType,
): Promise<Parsed> {
  const rules = toParseRules(type, maxBodyBytes, webhook);
  if (isParsedAtOnce(bytes, type)) return parsePayload(text, rules);
  return parseElsewhere(parseLarge, call, text, { bytes, rules, isKeyed: false });
}

function refuseEncoding(incoming: IncomingMessage): void {
  const encoding = incoming.headers["content-encoding"];
  if (encoding === undefined || !hasBody(incoming)) return;
  throw new RequestError(
    "unsupported_type",
    `Found Content-Encoding "${encoding}", expected a body that is not encoded`,
    { headers: { connection: "close" } },
  );
}
