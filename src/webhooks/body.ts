import type { IncomingMessage } from "node:http";
import { Refusal } from "../lib/errors.ts";

/**
 * Reads the bytes of a request up to a limit; the rest is left unread.
 *
 * @param limit bytes, MAX_BODY_BYTES
 * @returns null without a body
 * @throws Refusal body_too_large, or bad_body where the client stopped sending
 */
export async function readBytes(incoming: IncomingMessage, limit: number): Promise<Buffer | null> {
  const announced = Number(incoming.headers["content-length"] ?? Number.NaN);
  if (announced > limit) throw tooLarge(limit);
  if (announced === 0) return null;
  if (Number.isNaN(announced) && incoming.headers["transfer-encoding"] === undefined) return null;
  const chunks = await collect(incoming, limit);
  const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  return bytes.length === 0 ? null : bytes;
}

function collect(incoming: IncomingMessage, limit: number): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let is_settled = false;
    const onData = (chunk: Buffer): void => {
      if (is_settled) return;
      size += chunk.length;
      chunks.push(chunk);
      if (size <= limit) return;
      is_settled = true;
      incoming.pause();
      reject(tooLarge(limit));
    };
    const onEnd = (): void => {
      is_settled = true;
      resolve(chunks);
    };
    const onStop = (): void => {
      if (!is_settled)
        reject(new Refusal("bad_body", "The client stopped before the end of the body"));
    };
    // They stay: to take them off would cost each call more than the request keeps them.
    incoming.on("data", onData).on("end", onEnd).on("error", onStop).on("close", onStop);
  });
}

function tooLarge(limit: number): Refusal {
  // The rest is not read, so the connection cannot be used again.
  return new Refusal("body_too_large", `The body is larger than ${limit} bytes`, {
    headers: { connection: "close" },
  });
}

/** A byte order mark stays: raw_body is the body as it was sent. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws Refusal bad_body where the bytes are not UTF-8 */
export function decodeText(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Refusal("bad_body", "The body is not valid UTF-8");
  }
}
