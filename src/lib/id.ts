import { randomFillSync, randomUUID } from "node:crypto";
import { now } from "./clock.ts";

/** A random identifier (UUID version 4) for configured resources. */
export function newId(): string {
  return randomUUID();
}

/** Random bytes fetched at once: asking the system for a few at a time costs more than the call. */
const pool = new Uint8Array(8192);
let used = pool.length;
let latest = 0;
let count = 0;

/**
 * An identifier that grows with time (UUID version 7, RFC 9562, section 5.7), so that inserts
 * append. Within a millisecond the 12 bits after the time count up (section 6.2, method 1).
 */
export function newExecutionId(): string {
  const at = now();
  // A clock that is set back, or a full count, borrows from the time to come.
  if (at > latest) [latest, count] = [at, 0];
  else if ((count += 1) > 0xfff) [latest, count] = [latest + 1, 0];
  const time = latest.toString(16).padStart(12, "0");
  const counted = (0x7000 | count).toString(16);
  const [a, b, ...rest] = takeRandom();
  const variant = hex(((a as number) & 0x3f) | 0x80) + hex(b as number);
  return `${time.slice(0, 8)}-${time.slice(8)}-${counted}-${variant}-${rest.map(hex).join("")}`;
}

function takeRandom(): number[] {
  if (used + 8 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 8;
  return [...pool.subarray(used - 8, used)];
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text has the canonical form of a UUID. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
