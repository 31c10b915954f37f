import { createHash, createHmac, timingSafeEqual, verify as verifyBytes } from "node:crypto";
import { findHeader } from "../request/sent-header.ts";
import type { SignatureKey } from "./signature-key.ts";
import { readMessage, type MessagePart, type Scheme } from "./signature-scheme.ts";
import { decodeStrictly } from "./strict-bytes.ts";

/** What of a request is signed: bytes as they came off the socket. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly method: string;
  /** Origin of BASE_URL and the target as sent; null without BASE_URL. */
  readonly url: string | null;
  readonly body: Buffer;
}

export type SignatureError =
  | "signature_missing"
  | "signature_wrong"
  | "timestamp_missing"
  | "timestamp_outside"
  | "secret_unusable";

/** What was found of a signature that is right. */
export interface RightSignature {
  /** Name of the secret that fits. */
  readonly secret: string;
  /** As it was sent, where it is signed. */
  readonly id: string | null;
  readonly timestamp: string | null;
  /** The bytes of every candidate that fits. */
  readonly fitting: readonly Buffer[];
}

export type Verdict = RightSignature | { readonly error: SignatureError };

/** Rules of one webhook, read once. */
export interface SignatureRules {
  readonly schemes: readonly [Scheme, ...Scheme[]];
  readonly keys: readonly SignatureKey[];
  readonly toleranceMs: number;
}

/** Later parts of a header are not looked at. */
const MOST_PARTS = 10;

/** @param at the time now */
export function verifySignature(
  rules: SignatureRules,
  request: SignedRequest,
  at: number,
): Verdict {
  const { schemes, keys } = rules;
  const scheme = findScheme(schemes, request);
  const header = read(request, scheme.header);
  if (header === null) return { error: "signature_missing" };
  const parts = split(header, scheme);
  const timestamp = readTimestamp(scheme, request, parts);
  const error = findTimeError(scheme, timestamp, rules.toleranceMs, at);
  if (error !== null) return { error };
  const id = readId(scheme, request);
  if (id === "") return { error: "signature_missing" };
  if (keys.length === 0) return { error: "secret_unusable" };
  const message = toMessage(scheme, { request, timestamp, id });
  const found = findFitting(scheme, keys, toCandidates(parts, scheme), message);
  if (found.secret === null) return { error: "signature_wrong" };
  return { secret: found.secret, id, timestamp, fitting: found.fitting };
}

/** The one that a call is held against: the first whose header it has, with something in it. */
export function findScheme(
  schemes: SignatureRules["schemes"],
  sent: Pick<SignedRequest, "headers">,
): Scheme {
  return schemes.find(({ header }) => read(sent, header) !== null) ?? schemes[0];
}

/** null: it is not there, or has nothing in it. */
function read({ headers }: Pick<SignedRequest, "headers">, name: string): string | null {
  const value = findHeader(headers, name);
  const text = typeof value === "string" ? value : (value?.join(", ") ?? "");
  return trim(text) || null;
}

/** Without blanks and tabs around it. No expression: one takes the square of the blanks amid it. */
function trim(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text, start)) start += 1;
  while (end > start && isBlank(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  return text[at] === " " || text[at] === "\t";
}

function split(header: string, { separator }: Scheme): string[] {
  if (separator === null) return [header];
  const by = separator === " " ? /[ \t]+/ : separator;
  return header.split(by, MOST_PARTS).map(trim);
}

/** Values of the candidates of a name, or all. */
function valuesOf(parts: readonly string[], parameter: string | null | undefined): string[] {
  if (parameter === null || parameter === undefined) return [...parts];
  const start = `${parameter}=`;
  return parts.filter((part) => part.startsWith(start)).map((part) => part.slice(start.length));
}

function toCandidates(parts: readonly string[], { parameter }: Scheme): string[] {
  return valuesOf(parts, parameter).map(trim);
}

function readTimestamp(
  { timestamp }: Scheme,
  request: SignedRequest,
  parts: readonly string[],
): string | null {
  if (timestamp === null) return null;
  if (timestamp.header !== undefined) return read(request, timestamp.header);
  return valuesOf(parts, timestamp.parameter).map(trim)[0] || null;
}

/** In whole units of the scheme's: a sender's second is not over before ours is. */
function findTimeError(
  { timestamp }: Scheme,
  text: string | null,
  toleranceMs: number,
  at: number,
): SignatureError | null {
  if (timestamp === null) return null;
  if (text === null) return "timestamp_missing";
  if (!/^\d{1,16}$/.test(text)) return "timestamp_outside";
  const unitMs = timestamp.unit === "s" ? 1000 : 1;
  const awayMs = Math.abs(Math.floor(at / unitMs) - Number(text)) * unitMs;
  return awayMs > toleranceMs ? "timestamp_outside" : null;
}

/** null where none is signed; empty where it is, and is missing. */
function readId({ id_header, message }: Scheme, request: SignedRequest): string | null {
  if (id_header === null || !message.includes("{id}")) return null;
  return read(request, id_header) ?? "";
}

interface Sent {
  readonly request: SignedRequest;
  readonly timestamp: string | null;
  readonly id: string | null;
}

function toMessage({ message, algorithm }: Scheme, sent: Sent): Buffer[] {
  if (algorithm === "token") return [];
  return readMessage(message).map((part) => toBytes(part, sent));
}

/** Headers and targets are bytes that Node.js reads as Latin-1. */
function toBytes(part: MessagePart, { request, timestamp, id }: Sent): Buffer {
  if ("text" in part) return Buffer.from(part.text);
  if (part.place === "body") return request.body;
  const { method, url } = request;
  return Buffer.from({ timestamp, id, method, url }[part.place] ?? "", "latin1");
}

/** Every candidate is compared with every key, whatever was found before. */
function findFitting(
  scheme: Scheme,
  keys: readonly SignatureKey[],
  candidates: readonly string[],
  message: readonly Buffer[],
): { secret: string | null; fitting: Buffer[] } {
  let secret: string | null = null;
  const fitting: Buffer[] = [];
  for (const key of keys) {
    const isRight = toComparison(key, message);
    for (const candidate of candidates) {
      const bytes = toSignature(candidate, key, scheme);
      if (bytes === null || !isRight(bytes)) continue;
      secret ??= key.name;
      fitting.push(bytes);
    }
  }
  return { secret, fitting };
}

/** null: it is none of this key's, or not written as it has to be. */
function toSignature(candidate: string, { prefix }: SignatureKey, scheme: Scheme): Buffer | null {
  if (!candidate.startsWith(prefix)) return null;
  const text = trim(candidate.slice(prefix.length));
  if (text === "") return null;
  if (scheme.algorithm === "token") return Buffer.from(text, "latin1");
  return decodeStrictly(text, scheme.encoding);
}

function toComparison(key: SignatureKey, message: readonly Buffer[]): (sent: Buffer) => boolean {
  const { algorithm, bytes, publicKey } = key;
  if (publicKey !== null) {
    const whole = Buffer.concat(message);
    return (sent) => verifyBytes(null, whole, publicKey, sent);
  }
  if (algorithm === "token") {
    const expected = digest(bytes);
    return (sent) => timingSafeEqual(digest(sent), expected);
  }
  const hmac = createHmac(algorithm.slice("hmac-".length), bytes);
  for (const part of message) hmac.update(part);
  const expected = hmac.digest();
  return (sent) => sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** Of one length, whatever was sent. */
function digest(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}
