import {
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  ownKeys,
  push,
} from "../lib/intrinsics.ts";

/**
 * What all code of a thread shares: the language's prototypes, constructors and namespaces, and
 * `globalThis`. A run that changes it would be felt by every later run of the thread: a caller's
 * JSON that a flow merges without care can reach Object.prototype.
 */

/** One shared object as it was, with its name for messages. */
interface Holder {
  readonly name: string;
  readonly object: object;
  readonly prototype: object | null;
  readonly keys: readonly PropertyKey[];
  /** For each key its value, its getter, or LAZY where that makes a value when it is first used. */
  readonly values: readonly unknown[];
}

/** Values that are compared by a look at each. */
interface Plain {
  readonly object: Readonly<Record<PropertyKey, unknown>>;
  readonly keys: readonly PropertyKey[];
  readonly values: readonly unknown[];
}

const LAZY = Symbol("lazy");

/** After a run of so many milliseconds the whole is compared, which takes about half of one. */
const LONG_MS = 20;

const OBJECT = {};
const LIST: unknown[] = [];
const FUNCTION = (): void => {};

const GLOBAL = globalThis;
/** Reached from any value by `__proto__` and `constructor`. */
const REACHABLE: readonly object[] = [Object.prototype, Array.prototype];

export class Realm {
  readonly #holders: Holder[] = [];
  readonly #reachable: Plain[] = [];
  /** The one that is compared next. */
  #next = 0;

  /**
   * As it is now: after the flow was loaded, and before its first run.
   *
   * @param shared what `findShared` found before the flow was loaded
   */
  constructor(shared: readonly Shared[]) {
    for (let at = 0; at < shared.length; at += 1) {
      const { name, object } = shared[at] as Shared;
      push(this.#holders, toHolder(name, object));
    }
    for (let at = 0; at < REACHABLE.length; at += 1)
      push(this.#reachable, toPlain(REACHABLE[at] as object));
  }

  /**
   * Something that runs have changed, `Object.prototype.x` for example; null: nothing was found.
   * After a short run only what a caller's JSON can reach is looked at, and one more thing in turn.
   *
   * @param ms how long the run took
   */
  findChange(ms: number): string | null {
    const is_whole = ms > LONG_MS || this.#isTouched();
    for (let left = is_whole ? this.#holders.length : 1; left > 0; left -= 1) {
      const change = compare(this.#holders[this.#next] as Holder);
      if (change !== null) return change;
      this.#next = (this.#next + 1) % this.#holders.length;
    }
    return null;
  }

  /** What a merge of JSON can do: members that are new and listed, or values that are replaced. */
  #isTouched(): boolean {
    for (const _ in OBJECT) return true;
    for (const _ in FUNCTION) return true;
    if (hasMembers(LIST)) return true;
    for (let at = 0; at < this.#reachable.length; at += 1) {
      const { object, keys, values } = this.#reachable[at] as Plain;
      for (let key = 0; key < keys.length; key += 1)
        if (object[keys[key] as PropertyKey] !== values[key]) return true;
    }
    return false;
  }
}

/** Its own ones, or those of its prototypes. */
function hasMembers(value: object): boolean {
  for (const _ in value) return true;
  return false;
}

export interface Shared {
  readonly name: string;
  readonly object: object;
}

/** Node makes its classes of the web here, which takes half of a thread's start. */
export function findShared(): readonly Shared[] {
  const named: Shared[] = [{ name: "globalThis", object: GLOBAL }, ...hiddenPrototypes()];
  for (const name of Object.getOwnPropertyNames(GLOBAL)) {
    const object: unknown = getOwnPropertyDescriptor(GLOBAL, name)?.value;
    if (object === GLOBAL || !isObject(object) || !isOfLanguage(object)) continue;
    named.push({ name, object });
    const prototype: unknown = getOwnPropertyDescriptor(object, "prototype")?.value;
    if (isObject(prototype)) named.push({ name: `${name}.prototype`, object: prototype });
  }
  return named;
}

/** Classes of the web are written in the language itself, and show their text. */
function isOfLanguage(value: object): boolean {
  const text = typeof value === "function" ? Function.prototype.toString.call(value) : "";
  return text === "" || text.endsWith("{ [native code] }");
}

function isObject(value: unknown): value is object {
  return typeof value === "function" || (typeof value === "object" && value !== null);
}

/** Those that no global names. */
function hiddenPrototypes(): Shared[] {
  const of = (name: string, made: object): Shared => ({
    name: `the prototype of ${name}`,
    object: getPrototypeOf(made) as object,
  });
  return [
    of("generators", function* () {}),
    of("async functions", async () => {}),
    of("async generators", async function* () {}),
    of("typed arrays", Int8Array),
    of("iterators of lists", [].values()),
    of("iterators of maps", new Map().values()),
    of("iterators of sets", new Set().values()),
    of("iterators of texts", ""[Symbol.iterator]()),
  ];
}

function toHolder(name: string, object: object): Holder {
  const keys = ownKeys(object);
  const values: unknown[] = [];
  for (let at = 0; at < keys.length; at += 1) {
    const found = getOwnPropertyDescriptor(object, keys[at] as PropertyKey);
    // Classes of the web are made when they are first asked for.
    push(values, object === GLOBAL && found?.get !== undefined ? LAZY : valueOf(found));
  }
  return { name, object, prototype: getPrototypeOf(object), keys, values };
}

function toPlain(object: object): Plain {
  const all = ownKeys(object);
  const keys: PropertyKey[] = [];
  const values: unknown[] = [];
  for (let at = 0; at < all.length; at += 1) {
    const found = getOwnPropertyDescriptor(object, all[at] as PropertyKey);
    if (found === undefined || !hasOwn(found, "value")) continue;
    push(keys, all[at] as PropertyKey);
    push(values, found.value);
  }
  return { object: object as Plain["object"], keys, values };
}

function valueOf(found: PropertyDescriptor | undefined): unknown {
  return found === undefined || hasOwn(found, "value") ? found?.value : found.get;
}

function compare(holder: Holder): string | null {
  const { name, object, prototype, keys, values } = holder;
  if (getPrototypeOf(object) !== prototype) return `the prototype of ${name}`;
  const found = ownKeys(object);
  if (found.length !== keys.length) return findDifference(name, found, keys);
  for (let at = 0; at < found.length; at += 1) {
    const key = found[at] as PropertyKey;
    if (key !== keys[at]) return findDifference(name, found, keys);
    if (values[at] === LAZY) continue;
    const value = valueOf(getOwnPropertyDescriptor(object, key));
    if (value !== values[at] && value === value) return nameOf(name, key);
  }
  return null;
}

/** Which key is new, or is there no more. */
function findDifference(
  name: string,
  found: readonly PropertyKey[],
  known: readonly PropertyKey[],
): string {
  const key = findMissing(found, known) ?? findMissing(known, found);
  return key === undefined ? name : nameOf(name, key);
}

/** The first of some keys that is not among others. */
function findMissing(
  keys: readonly PropertyKey[],
  others: readonly PropertyKey[],
): PropertyKey | undefined {
  for (let at = 0; at < keys.length; at += 1) {
    let other = 0;
    while (other < others.length && others[other] !== keys[at]) other += 1;
    if (other === others.length) return keys[at];
  }
  return undefined;
}

function nameOf(holder: string, key: PropertyKey): string {
  return typeof key === "string" ? `${holder}.${key}` : `a symbol of ${holder}`;
}
