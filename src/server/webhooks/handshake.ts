import { RequestError } from "../../shared/errors.ts";
import type { SignedCall } from "./call.ts";
import type { Payload } from "./payload.ts";

/** Longest challenge, in bytes. */
const MOST_BYTES = 1024;
/** Longer bodies, in UTF-16 units, are parsed again only where they say what they are. */
const LONGEST = 8 * 1024;
const TYPE = "url_verification";

/**
 * Slack asks a new URL to repeat a challenge, signed as its events are: no execution is started.
 *
 * @returns the challenge; null for any other call
 * @throws RequestError bad_body
 */
export function readChallenge(signed: SignedCall, payload: Payload | null): string | null {
  if (signed.scheme !== "slack" || signed.verified === null || payload === null) return null;
  const text = payload.json ?? payload.text;
  if (text.length > LONGEST && !text.includes(`"${TYPE}"`)) return null;
  const body: unknown = JSON.parse(text);
  const { type, challenge } = (body ?? {}) as { type?: unknown; challenge?: unknown };
  if (type !== TYPE) return null;
  if (typeof challenge === "string" && Buffer.byteLength(challenge) <= MOST_BYTES) return challenge;
  throw new RequestError(
    "bad_body",
    `Expected "challenge" as a string of at most ${MOST_BYTES} bytes`,
  );
}
