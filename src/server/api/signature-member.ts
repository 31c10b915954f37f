import type { GivenCustom, GivenSignature } from "../../shared/contract/signature.ts";
import {
  CUSTOM_DEFAULTS,
  PLACES,
  placesOf,
  schemesOf,
  type CustomScheme,
  type Scheme,
  type SignatureMember,
} from "../access/signature-scheme.ts";
import { invalid } from "./named.ts";

/** The member `signature` of a webhook, as it is stored and shown. */

const DEFAULT_TOLERANCE_SEC = 300;

/**
 * The member as it is stored.
 *
 * @param path of the member, for refusals
 * @throws RequestError invalid for what contradicts
 */
export function toSignature(
  given: GivenSignature,
  base_url: string | null,
  path = "signature",
): SignatureMember {
  const { scheme, mode } = given;
  const secrets = given.secrets.map((name) => name.normalize("NFC"));
  if (new Set(secrets).size < secrets.length) throw invalid(`${path}.secrets`, "has a name twice");
  const custom = toCustom(given, base_url, path);
  const [{ timestamp }] = schemesOf({ scheme, custom });
  if (timestamp === null && given.tolerance_sec !== null && given.tolerance_sec !== undefined)
    throw invalid(`${path}.tolerance_sec`, "the scheme has no timestamp");
  const tolerance_sec = timestamp === null ? null : (given.tolerance_sec ?? DEFAULT_TOLERANCE_SEC);
  return { scheme, secrets, mode, tolerance_sec, custom };
}

function toCustom(
  { scheme, custom }: GivenSignature,
  base_url: string | null,
  path: string,
): CustomScheme | null {
  const isGiven = custom !== null && custom !== undefined;
  if (scheme !== "custom" && isGiven)
    throw invalid(`${path}.custom`, 'expected only with the scheme "custom"');
  if (scheme !== "custom") return null;
  if (!isGiven) throw invalid(`${path}.custom`, 'expected with the scheme "custom"');
  const at = `${path}.custom`;
  refuseOfToken(custom, at);
  const known = Object.entries(custom).filter(([, value]) => value !== undefined);
  const { algorithm, header } = custom;
  const given = { algorithm, header, ...CUSTOM_DEFAULTS, ...Object.fromEntries(known) };
  const spelled = given as unknown as CustomScheme;
  if (spelled.algorithm !== "token") requireMessage(spelled, base_url, at);
  requirePrefix(spelled, at);
  requireTime(spelled, at);
  return spelled;
}

const NOT_OF_TOKEN = ["message", "encoding", "secret_encoding", "timestamp"] as const;

function refuseOfToken(custom: GivenCustom, at: string): void {
  if (custom.algorithm !== "token") return;
  for (const member of NOT_OF_TOKEN)
    if (custom[member] !== undefined && custom[member] !== null)
      throw invalid(`${at}.${member}`, "a token is compared itself: it has none");
}

function requireMessage(spelled: Scheme, base_url: string | null, at: string): void {
  const refuse = (message: string) => invalid(`${at}.message`, message);
  const places = placesOf(spelled.message);
  const unknown = places.find((place) => !(PLACES as readonly string[]).includes(place));
  if (unknown !== undefined)
    throw refuse(`found {${unknown}}, expected ${PLACES.map((place) => `{${place}}`).join(", ")}`);
  if (places.filter((place) => place === "body").length !== 1) throw refuse("expected {body} once");
  if (places.includes("timestamp") !== (spelled.timestamp !== null))
    throw refuse("expected {timestamp} where, and only where, timestamp says where it is");
  if (places.includes("id") && spelled.id_header === null)
    throw refuse("has {id}, but id_header does not say where it is");
  if (places.includes("url") && base_url === null)
    throw refuse("has {url}, for which BASE_URL has to be configured");
}

/** Candidates are what is between separators, without blanks around: not every prefix is of one. */
function requirePrefix({ prefix, separator }: Scheme, at: string): void {
  if (prefix.startsWith(" "))
    throw invalid(`${at}.prefix`, "begins with a blank, which no signature does once it is read");
  if (separator !== null && prefix.includes(separator))
    throw invalid(
      `${at}.prefix`,
      `has the separator "${separator}" in it, where its header is cut`,
    );
}

function requireTime({ timestamp, separator }: Scheme, at: string): void {
  if (timestamp === null) return;
  const { header, parameter } = timestamp;
  if ((header === undefined) === (parameter === undefined))
    throw invalid(`${at}.timestamp`, "expected either header or parameter");
  if (parameter !== undefined && separator === null)
    throw invalid(
      `${at}.timestamp.parameter`,
      "needs a separator: it stands beside the signature, in one header",
    );
}

/** As the API shows it: a token has no message and no encodings. */
export function showSignature(text: string | null): SignatureMember | null {
  if (text === null) return null;
  const member = JSON.parse(text) as SignatureMember;
  if (member.custom?.algorithm !== "token") return member;
  const { algorithm, header, prefix, separator, parameter, id_header } = member.custom;
  const custom = { algorithm, header, prefix, separator, parameter, id_header };
  return { ...member, custom: custom as CustomScheme };
}
