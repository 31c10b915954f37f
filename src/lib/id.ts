import { Buffer } from "node:buffer";
import { randomFillSync, randomUUID } from "node:crypto";
import { now } from "./clock.ts";

/** A random identifier (UUID version 4) for configured resources. */
export function newId(): string {
  return randomUUID();
}

/** Random bytes fetched at once: asking the system for a few at a time costs more than the call. */
const pool = Buffer.allocUnsafe(8192);
let used = pool.length;
let latest = 0;
let count = 0;
/** Time and separators of the latest identifier's millisecond. */
let prefix = "";

/** A clock that is set back by more is followed, so that lists by time find what is new. */
const SET_BACK_MS = 10_000;

/**
 * An identifier that grows with time (UUID version 7, RFC 9562, section 5.7), so that inserts
 * append. Within a millisecond the 12 bits after the time count up (section 6.2, method 1).
 */
export function newExecutionId(): string {
  const at = now();
  // A clock that goes back a little, or a full count, borrows from the time to come.
  if (at > latest || at < latest - SET_BACK_MS) begin(at);
  else if ((count += 1) > 0xfff) begin(latest + 1);
  const random = takeRandom();
  return `${prefix}${(0x7000 | count).toString(16)}-${random.slice(0, 4)}-${random.slice(4)}`;
}

function begin(at: number): void {
  [latest, count] = [at, 0];
  const time = at.toString(16).padStart(12, "0");
  prefix = `${time.slice(0, 8)}-${time.slice(8)}-`;
}

/** The 62 random bits behind the two of the variant, in hexadecimal. */
function takeRandom(): string {
  if (used + 8 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  pool[used] = ((pool[used] as number) & 0x3f) | 0x80;
  used += 8;
  return pool.toString("hex", used - 8, used);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text has the canonical form of a UUID. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
