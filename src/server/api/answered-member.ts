import * as v from "valibot";
import { WEBHOOK_AUTHENTICATION, WEBHOOK_CHANGE } from "../../shared/contract/webhook.ts";
import type { GivenSignature } from "../../shared/contract/signature.ts";
import { check } from "./field-errors.ts";
import { showSignature, toSignature } from "./signature-member.ts";

const SCHEMAS: Readonly<Record<string, v.GenericSchema>> = {
  ...WEBHOOK_AUTHENTICATION.entries,
  ...WEBHOOK_CHANGE.entries,
};

/**
 * A member of a webhook as it is answered once it was set to a value: with what was left out in it.
 * A value that the service would refuse stays as it is.
 */
export function toAnswered(member: string, given: unknown): unknown {
  const schema = Object.hasOwn(SCHEMAS, member) ? SCHEMAS[member] : undefined;
  if (schema === undefined) return given;
  const { success, output } = v.safeParse(schema, given);
  if (!success) return given;
  return member === "signature" ? spellOut(output as GivenSignature | null) : output;
}

/**
 * What the service would refuse of members that are to be set, but for what only it knows.
 *
 * @throws RequestError invalid, with each member that is none or has a wrong value
 */
export function checkMembers(given: Readonly<Record<string, unknown>>): void {
  const { password: _password, keep_previous_sec: _keep, ...members } = SCHEMAS;
  check(v.strictObject(members), given);
}

function spellOut(given: GivenSignature | null): unknown {
  if (given === null) return null;
  try {
    // Whether BASE_URL is configured, only the service knows.
    return showSignature(JSON.stringify(toSignature(given, "")));
  } catch {
    return given;
  }
}
