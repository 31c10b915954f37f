import * as v from "valibot";
import type { Read } from "./read.ts";
import { COUNT, MAYBE_TEXT, TIME } from "./scalar.ts";

const REFUSED_CALL = v.strictObject({
  at: TIME,
  code: v.string(),
  reason: v.string(),
  status: COUNT,
  method: v.string(),
  path: v.pipe(v.string(), v.description("As in the request line, without the query")),
  address: v.string(),
  request_id: v.string(),
  headers: v.pipe(v.record(v.string(), v.string()), v.description("Secret ones as …")),
  body_bytes: v.nullable(COUNT),
  body_sha256: v.pipe(
    MAYBE_TEXT,
    v.description("Of the bytes that came: another one at the sender means that they changed"),
  ),
});

/** A call of a webhook that started nothing. */
export type RefusedCall = Read<typeof REFUSED_CALL>;

/** The newest first. */
export const REFUSED_CALLS = v.strictObject({ items: v.array(REFUSED_CALL) });

export type RefusedCalls = Read<typeof REFUSED_CALLS>;
