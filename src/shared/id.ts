import { Buffer } from "node:buffer";
import { randomFillSync, randomUUID } from "node:crypto";
import { now } from "./clock.ts";

/** A random identifier (UUID version 4) for configured resources. */
export function newId(): string {
  return randomUUID();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text has the canonical form of a UUID. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/**
 * The key of an execution: the time and the counter of its UUID (version 7, RFC 9562, sections 5.7
 * and 6.2, method 1) as one number, `milliseconds since 2020 x 4096 + counter`. Keys are in the
 * order of the identifiers, and exact as numbers (53 bits) until the year 2089.
 */
const EPOCH_MS = Date.UTC(2020, 0, 1);
const COUNTS = 4096;

/** The smallest key of a millisecond since 1970; times that no key can have become the nearest. */
export function firstKeyOf(at: number): number {
  const key = (Math.floor(at) - EPOCH_MS) * COUNTS;
  return Math.min(Math.max(key, -EPOCH_MS * COUNTS), Number.MAX_SAFE_INTEGER);
}

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The latest that was asked for, or made: each is asked for several times in a row. */
let known = { id: "", key: null as number | null };

/** The key of an execution's identifier; null where it has none. */
export function keyOf(id: string): number | null {
  if (id !== known.id) known = { id, key: readKey(id) };
  return known.key;
}

function readKey(id: string): number | null {
  if (!VERSION_7.test(id)) return null;
  const at = hexOf(id, 0, 8) * 0x10000 + hexOf(id, 9, 13);
  const key = (at - EPOCH_MS) * COUNTS + hexOf(id, 15, 18);
  return Number.isSafeInteger(key) ? key : null;
}

/** The number that lower-case hexadecimal digits are, which is quicker than to cut them out. */
function hexOf(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    number = number * 16 + (code < 0x3a ? code - 0x30 : code - 0x57);
  }
  return number;
}

/** A clock that is set back by more is followed, so that lists by time find what is new. */
const SET_BACK_MS = 10_000;
/** A month before the last key: a clock that is set beyond it counts on from here. */
const LAST_MS = EPOCH_MS + 2 ** 41 - 2 ** 31;

/** Tells the largest counter of the keys from one to another that are taken; -1 without any. */
export type LargestCount = (from: number, to: number) => number;

/** The latest key, and the largest one ever; below it the clock was set back. */
let latest = Number.NEGATIVE_INFINITY;
let largest = Number.NEGATIVE_INFINITY;
/** Keys of one millisecond. The other counters are for clocks that are set back to it. */
const ROOM = 512;
/** The first counter of each millisecond: after all that were used when the clock was there before. */
let first = 0;
/** The largest counter of this process. */
let most = -1;
const stores = new Set<LargestCount>();

/**
 * Makes identifiers whose keys come after those of a store, or lie between them.
 *
 * @param key the largest in the store
 * @param largestCount asked each time that the clock is set back
 * @returns forgets the store
 */
export function continueAfter(key: number, largestCount: LargestCount): () => void {
  latest = largest = Math.max(largest, key);
  stores.add(largestCount);
  return () => void stores.delete(largestCount);
}

/**
 * An identifier that grows with time, so that inserts append. Its key is the only one of its kind,
 * also where the clock is set back, or makes no step for very many of them.
 */
export function newExecutionId(): string {
  latest = nextKey();
  largest = Math.max(largest, latest);
  const at = Math.floor(latest / COUNTS);
  const count = latest - at * COUNTS;
  most = Math.max(most, count);
  const random = takeRandom();
  const id = `${toPrefix(at)}${(0x7000 | count).toString(16)}-${random.slice(0, 4)}-${random.slice(4)}`;
  known = { id, key: latest };
  return id;
}

/** Keys of a millisecond that a node may use, from its slot times so many on. */
const SLOT_ROOM = 64;
/** Of this service, where others make keys for the same store; null: it alone does. */
let slot: Slot | null = null;

interface Slot {
  readonly first: number;
  /** The latest millisecond that has keys, and how many. */
  at: number;
  count: number;
}

/**
 * From now on keys have this slot in their counter, so that no two nodes make the same key.
 *
 * @param number from 0 to 63, of no other node that lives
 * @param key the largest in the store: an earlier node of this slot may have made it
 * @returns gives the slot up
 */
export function useSlot(number: number, key: number | null): () => void {
  const at = key === null ? Number.NEGATIVE_INFINITY : Math.floor(key / COUNTS);
  const own = { first: number * SLOT_ROOM, at, count: SLOT_ROOM };
  slot = own;
  return () => {
    if (slot === own) slot = null;
  };
}

/** Keys of a node grow, whatever its clock does: it goes on from the latest. */
function nextOfSlot(own: Slot): number {
  const at = Math.floor(firstKeyOf(Math.min(now(), LAST_MS)) / COUNTS);
  if (at > own.at) {
    own.at = at;
    own.count = 0;
  } else if (own.count === SLOT_ROOM) {
    own.at += 1;
    own.count = 0;
  }
  const key = own.at * COUNTS + own.first + own.count;
  own.count += 1;
  return key;
}

function nextKey(): number {
  if (slot !== null) return nextOfSlot(slot);
  const at = firstKeyOf(Math.min(now(), LAST_MS));
  if (at > largest) {
    first = 0;
    return at;
  }
  if (at < latest - SET_BACK_MS * COUNTS && hasRoom()) {
    first = 1 + Math.max(most, ...countsSince(at));
    if (hasRoom()) return at + first;
  }
  // No counter of these times is left: keys go on from the largest until the clock is there.
  if (!hasRoom()) return largest + 1;
  if (at > latest) return at + first;
  // A clock that goes back a little, or a full count, borrows from the time to come.
  const next = latest + 1;
  const begun = Math.floor(next / COUNTS) * COUNTS;
  if (next < begun + first) return begun + first;
  return next < begun + first + ROOM ? next : begun + COUNTS + first;
}

function hasRoom(): boolean {
  return first + ROOM <= COUNTS;
}

function countsSince(at: number): number[] {
  return [...stores].map((largestCount) => largestCount(at, largest));
}

let prefixAt = Number.NaN;
let prefix = "";

/** Time and separators of a millisecond's identifiers. */
function toPrefix(at: number): string {
  if (at === prefixAt) return prefix;
  const time = (at + EPOCH_MS).toString(16).padStart(12, "0");
  prefixAt = at;
  return (prefix = `${time.slice(0, 8)}-${time.slice(8)}-`);
}

/** Random bytes fetched at once: asking the system for a few at a time costs more than the call. */
const pool = Buffer.allocUnsafe(8192);
let used = pool.length;

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
