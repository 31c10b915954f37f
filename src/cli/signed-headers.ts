import { randomUUID } from "node:crypto";
import { readKey } from "../server/access/signature-key.ts";
import {
  CUSTOM_DEFAULTS,
  schemesOf,
  type SignatureMember,
} from "../server/access/signature-scheme.ts";
import { signCall } from "../server/access/signature-sign.ts";
import { now } from "../shared/clock.ts";
import { createClient, toPath } from "./client.ts";
import type { Connection } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { readPassword } from "./prompt.ts";

export interface SigningOptions {
  readonly sign?: true;
  readonly secretStdin?: true;
}

const SECRET = { what: "the secret", option: "--secret-stdin" };

/** A call before it is signed. */
export interface Unsigned {
  readonly method: string;
  readonly url: string;
  readonly body: string | Uint8Array | undefined;
}

/**
 * The headers with which the webhook's sender would sign a call. The secret is read from the
 * terminal: the service does not tell it.
 *
 * @throws CommandError
 */
export async function readSignedHeaders(
  connection: Connection,
  webhook: string,
  { method, url, body }: Unsigned,
  { secretStdin }: SigningOptions,
): Promise<Record<string, string>> {
  const client = createClient(connection);
  const found = await client.json<{ signature: SignatureMember | null; url: string }>(
    "GET",
    toPath("webhook", webhook),
    { has: "signature" },
  );
  if (found.signature === null)
    throw new CommandError(`Calls of "${webhook}" need not be signed: leave out --sign`);
  const { scheme: name, custom } = found.signature;
  // What a token does not have, the service does not answer.
  const spelled = custom === null ? null : { ...CUSTOM_DEFAULTS, ...custom };
  const [scheme] = schemesOf({ scheme: name, custom: spelled });
  const options = secretStdin ? ({ passwordStdin: true } as const) : {};
  const secret = await readPassword(`Secret of "${webhook}": `, options, SECRET);
  const key = readKey("secret", secret, scheme);
  if (typeof key === "string") throw new CommandError(`The secret: ${key}`);
  const { pathname, search } = new URL(url);
  const signed = signCall(scheme, key, {
    method,
    url: new URL(found.url).origin + pathname + search,
    body: Buffer.from(body ?? ""),
    id: randomUUID(),
    at: now(),
  });
  if (signed === null) throw new CommandError("Only the sender can sign with its private key");
  return signed;
}
