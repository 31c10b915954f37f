import type { Activity } from "../access/activity.ts";
import { decodeText, discardBody, readBytes } from "../lib/body.ts";
import { now } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { Admission, Call, Caller } from "./call.ts";
import { toCallInput } from "./input.ts";
import { takesBody } from "./match.ts";
import { parsePayload, type Payload } from "./payload.ts";

export interface AdmissionRules {
  readonly activity: Activity;
  /** DEVELOPMENT_INACTIVITY_SEC. */
  readonly inactivity_ms: number;
  readonly max_body_bytes: number;
  /** @throws Refusal queue_full, shutting_down */
  readonly requireRoom: (flow: string) => void;
}

/**
 * What remains to be checked before a record is made, in the contract's order.
 *
 * @throws Refusal no_active_user, body_too_large, unsupported_type, bad_body, queue_full
 */
export async function admit(rules: AdmissionRules, caller: Caller): Promise<Admission> {
  if (caller.webhook.is_productive !== 1) requireActiveUser(rules);
  const is_read = takesBody(caller.call.method);
  if (!is_read) discardBody(caller.call.incoming);
  const payload = is_read ? await readPayload(rules, caller) : null;
  rules.requireRoom(caller.webhook.flow);
  return { ...caller, input: toCallInput(caller, payload) };
}

/** Section 3.1: a development webhook answers only while somebody works in the UI. */
function requireActiveUser({ activity, inactivity_ms }: AdmissionRules): void {
  const latest = activity.latest();
  if (latest !== null && now() - latest <= inactivity_ms) return;
  throw new Refusal(
    "no_active_user",
    `This webhook is in development mode, and no user was active in the user interface within ` +
      `the last ${inactivity_ms / 1000} seconds. Log in and open the user interface, or set ` +
      `"Is productive"`,
  );
}

async function readPayload(rules: AdmissionRules, caller: Caller): Promise<Payload | null> {
  const { call, body } = caller;
  if (body !== null) {
    if (body.fault !== null) throw body.fault;
    return { text: body.text, value: body.value, is_json: !body.text.startsWith("\uFEFF") };
  }
  const { headers } = call.incoming;
  const type = headers["content-type"];
  refuseEncoding(call, headers["content-encoding"]);
  const bytes = await readBytes(call.incoming, rules.max_body_bytes);
  if (bytes === null) return null;
  return parsePayload(decodeText(bytes), type, rules.max_body_bytes);
}

function refuseEncoding(call: Call, encoding: string | undefined): void {
  const { headers } = call.incoming;
  const has_body =
    headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (!has_body || encoding === undefined) return;
  throw new Refusal(
    "unsupported_type",
    `Found Content-Encoding "${encoding}", expected a body that is not encoded`,
    { headers: { connection: "close" } },
  );
}
