import { createHmac } from "node:crypto";
import type { SignatureKey } from "./signature-key.ts";
import { readMessage, type Scheme } from "./signature-scheme.ts";

/** What a sender would send. */
export interface Signing {
  readonly method: string;
  /** Origin of BASE_URL and the target. */
  readonly url: string;
  readonly body: Buffer;
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The headers with which a sender signs a call, by their names; null where only it can sign. */
export function signCall(
  scheme: Scheme,
  key: SignatureKey,
  signing: Signing,
): Record<string, string> | null {
  if (key.publicKey !== null) return null;
  const { header, prefix, parameter, separator, timestamp, id_header } = scheme;
  const at = String(timestamp?.unit === "ms" ? signing.at : Math.floor(signing.at / 1000));
  const signature = `${prefix}${toSignature(scheme, key, { ...signing, timestamp: at })}`;
  const candidate = parameter === null ? signature : `${parameter}=${signature}`;
  const time =
    timestamp?.parameter === undefined ? "" : `${timestamp.parameter}=${at}${separator ?? ""}`;
  return {
    [header]: `${time}${candidate}`,
    ...(timestamp?.header === undefined ? {} : { [timestamp.header]: at }),
    ...(id_header === null ? {} : { [id_header]: signing.id }),
  };
}

function toSignature(
  { algorithm, message, encoding }: Scheme,
  { bytes }: SignatureKey,
  sent: Signing & { readonly timestamp: string },
): string {
  if (algorithm === "token") return bytes.toString();
  const hmac = createHmac(algorithm.slice("hmac-".length), bytes);
  for (const part of readMessage(message))
    hmac.update("text" in part ? part.text : sent[part.place]);
  return hmac.digest(encoding);
}
