import { decodeText, type Bodies } from "../request/body.ts";
import { noteBody, type MatchedCall, type ReadBody } from "./call.ts";
import { bodyLimitOf } from "./call-limits.ts";
import { limitOf, mediaTypeOf, payloadTypeOf } from "./payload.ts";

export interface ReadingRules {
  readonly maxBodyBytes: number;
  readonly bodies: Bodies;
}

/**
 * Reads the body of a call up to the limit of its webhook. That it is no text is told later, in its
 * turn.
 *
 * @param isTyped whether one of another type than is taken is refused before it is sent
 * @returns null without a body
 * @throws RequestError as `Bodies.read`; unsupported_type
 */
export async function readBody(
  { bodies, maxBodyBytes }: ReadingRules,
  { call, webhook }: MatchedCall,
  isTyped = false,
): Promise<ReadBody | null> {
  const mediaType = mediaTypeOf(call.incoming.headers["content-type"]);
  const limit = limitOf(mediaType, bodyLimitOf(webhook, maxBodyBytes));
  const announced = Number(call.incoming.headers["content-length"] ?? 0);
  if (isTyped && announced > 0 && announced <= limit.bytes) payloadTypeOf(mediaType);
  const bytes = await bodies.read(call.incoming, limit);
  if (bytes === null) return null;
  noteBody(call, webhook, bytes);
  const body = { bytes, text: "", parsed: null, error: null };
  try {
    return { ...body, text: decodeText(bytes) };
  } catch (error) {
    return { ...body, error: error as Error };
  }
}
