/**
 * Functions of the language as they were before any code of a flow ran. A flow shares its thread
 * with the code that holds it: it can replace `Set.prototype.has` or `JSON.stringify` under it. So
 * whatever runs in a thread after a flow was loaded calls these, and a lint rule holds it to that.
 */

type Method<Self, Args extends unknown[], Result> = (this: Self, ...args: Args) => Result;

const { apply, construct, get, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { bind, call } = Function.prototype;

/** A method as a function that takes its object first, whatever becomes of the prototype. */
export function uncurry<Self, Args extends unknown[], Result>(
  method: Method<Self, Args, Result>,
): (self: Self, ...args: Args) => Result {
  return apply(bind, call, [method]) as (self: Self, ...args: Args) => Result;
}

/**
 * Lets the instances of a class inherit nothing from Object.prototype: who awaits one must not be
 * led to a `then` that a flow has put there.
 */
export function inheritNothing(type: { readonly prototype: object }): void {
  Object.setPrototypeOf(type.prototype, null);
}

/** Whether the runtime is Deno, whose permissions are the process's and whose loader is its own. */
export const IS_DENO = "Deno" in globalThis;

export { apply, construct, get, getOwnPropertyDescriptor, ownKeys };

export const { create, defineProperty, freeze, getPrototypeOf, hasOwn, keys, setPrototypeOf } =
  Object;
export const { isArray } = Array;
export const { BigInt, Number, String } = globalThis;
export const { isFinite, isInteger, isSafeInteger } = Number;
export const { floor, max, min, round } = Math;
export const { parse, stringify } = JSON;
export const { compareExchange, exchange, load, store } = Atomics;
export const { Error, TypeError, Map, Set, WeakMap, WeakSet, Promise } = globalThis;
export const { decodeURIComponent, encodeURIComponent } = globalThis;
export const byteLength: (text: string, encoding?: "utf8" | "base64") => number = Buffer.byteLength;
export const toBytes: (text: string) => Buffer = Buffer.from;
export const concatBytes: (chunks: readonly Buffer[]) => Buffer = Buffer.concat;
export const subarray = uncurry<Buffer, [from: number, to?: number], Buffer>(
  Buffer.prototype.subarray,
);
export const toUtf8 = uncurry<Buffer, [encoding: "utf8", from: number, to: number], string>(
  Buffer.prototype.toString,
);
export const readUint32 = uncurry<Buffer, [at: number], number>(Buffer.prototype.readUInt32BE);
export const writeUint32 = uncurry<Buffer, [value: number, at: number], number>(
  Buffer.prototype.writeUInt32BE,
);

const { now } = Date;
const elapsed = performance.now.bind(performance);
/** Milliseconds since the epoch. */
export const wallClock: () => number = now;
/** Milliseconds since the thread began. */
export const monotonicClock: () => number = elapsed;

export const push = uncurry(Array.prototype.push) as <Item>(list: Item[], item: Item) => number;
export const join = uncurry(Array.prototype.join) as (
  list: readonly unknown[],
  separator: string,
) => string;
/** What has members of its own: functions as well. */
export function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** A member of its own, undefined without one: not what a polluted prototype adds. */
export function own(value: unknown, name: string): unknown {
  const has = typeof value === "object" && value !== null && hasOwn(value, name);
  return has ? get(value, name) : undefined;
}

/** Of lists without holes, as ours are: of those the prototype is asked for nothing. */
export const contains = uncurry(Array.prototype.includes) as (
  list: readonly unknown[],
  item: unknown,
) => boolean;
export const find = uncurry(Array.prototype.find) as <Item>(
  list: readonly Item[],
  isMeant: (item: Item) => boolean,
) => Item | undefined;
export const each = uncurry(Array.prototype.forEach) as <Item>(
  list: readonly Item[],
  act: (item: Item) => void,
) => void;
export const every = uncurry(Array.prototype.every) as <Item>(
  list: readonly Item[],
  isMeant: (item: Item) => boolean,
) => boolean;
export const some = uncurry(Array.prototype.some) as <Item>(
  list: readonly Item[],
  isMeant: (item: Item) => boolean,
) => boolean;

/** The first that is made of an item; null: of none. */
export function firstOf<Item, Made>(
  list: readonly Item[],
  make: (item: Item) => Made | null,
): Made | null {
  for (let at = 0; at < list.length; at += 1) {
    const made = make(list[at] as Item);
    if (made !== null) return made;
  }
  return null;
}

export const charCodeAt = uncurry(String.prototype.charCodeAt);
export const endsWith = uncurry(String.prototype.endsWith);
export const includes = uncurry(String.prototype.includes);
export const indexOf = uncurry(String.prototype.indexOf);
/** By a text, which has no method of its own to ask. */
export const replaceAll = uncurry<string, [part: string, by: string], string>(
  String.prototype.replaceAll,
);
export const slice = uncurry(String.prototype.slice);
export const split = uncurry<string, [at: string], string[]>(String.prototype.split);
export const startsWith = uncurry(String.prototype.startsWith);
export const toWellFormed = uncurry(String.prototype.toWellFormed);
/** The only method of a pattern that looks for none of the others. */
export const exec = uncurry(RegExp.prototype.exec);

export const mapGet = uncurry(Map.prototype.get) as <K, V>(map: Map<K, V>, key: K) => V | undefined;
export const mapSet = uncurry(Map.prototype.set) as <K, V>(map: Map<K, V>, key: K, v: V) => void;
export const mapDelete = uncurry(Map.prototype.delete) as <K, V>(map: Map<K, V>, k: K) => boolean;
export const setAdd = uncurry(Set.prototype.add) as <Item>(set: Set<Item>, item: Item) => void;
export const setHas = uncurry(Set.prototype.has) as <Item>(set: Set<Item>, item: Item) => boolean;
export const setDelete = uncurry(Set.prototype.delete) as <Item>(
  set: Set<Item>,
  item: Item,
) => boolean;

export const weakMapGet = uncurry(WeakMap.prototype.get) as <K extends WeakKey, V>(
  map: WeakMap<K, V>,
  key: K,
) => V | undefined;
export const weakMapSet = uncurry(WeakMap.prototype.set) as <K extends WeakKey, V>(
  map: WeakMap<K, V>,
  key: K,
  value: V,
) => void;
export const weakSetAdd: (set: WeakSet<object>, item: object) => unknown = uncurry(
  WeakSet.prototype.add,
);
export const weakSetHas: (set: WeakSet<object>, item: object) => boolean = uncurry(
  WeakSet.prototype.has,
);

export const setForEach = uncurry(Set.prototype.forEach) as <Item>(
  set: ReadonlySet<Item>,
  act: (item: Item) => void,
) => void;

export const mapSize = uncurry(
  getOwnPropertyDescriptor(Map.prototype, "size")?.get as Method<Map<unknown, unknown>, [], number>,
);
export const setSize = uncurry(
  getOwnPropertyDescriptor(Set.prototype, "size")?.get as Method<Set<unknown>, [], number>,
);
