import * as js from "../shared/intrinsics.ts";
import { FETCH_CLASSES, hasFetchClasses } from "./fetch-classes.ts";
import { freezeAll } from "./frozen-objects.ts";
import { findFetchClasses, type Shared, type SharedObjects } from "./shared-objects.ts";

/**
 * What all code of a thread shares: the language's and the web's prototypes, constructors and
 * namespaces, and `globalThis`. A run that changes it would be felt by every later run of the
 * thread: a caller's JSON that a flow merges without care can reach Object.prototype. So most of
 * it is frozen once the flow was loaded; what programs do write to is compared after each run.
 */

/** One shared object that stays open, as it was, with its name for messages. */
interface Holder {
  readonly name: string;
  readonly object: Readonly<Record<PropertyKey, unknown>>;
  readonly prototype: object | null;
  readonly keys: readonly PropertyKey[];
  /** For each key its value, its getter, or LAZY where that makes a value when it is first used. */
  readonly values: readonly unknown[];
  /** Members that can change and have a value, which is compared by a look at each. */
  readonly plainKeys: readonly PropertyKey[];
  readonly plainValues: readonly unknown[];
  /** Whether it has many members: only those that a loop meets are counted. */
  readonly isListed: boolean;
  readonly count: number;
}

const LAZY = Symbol("lazy");
const { toStringTag } = Symbol;

/** What a run has changed that got at the classes of `fetch`, though nothing it loaded names one. */
const FETCH = "what there is of fetch";

/** After a run of so many milliseconds the descriptors of all that is open are compared. */
const LONG_MS = 20;

const GLOBAL = globalThis;

/** After so many short runs the descriptors of one open object are compared. */
const RUNS_EACH = 8;

/** To list more members than this takes as long as all else. */
const MANY = 20;

export class Realm {
  readonly #holders: Holder[] = [];
  /** Where not, nothing that was loaded leads to them: a run that gets at one spoils its thread. */
  #hasFetch = hasFetchClasses();
  /** What a run had changed when there was still something to compare it with. */
  #spoilt: string | null = null;
  /** The one that is compared next. */
  #next = 0;
  #runs = 0;

  /** As it is now: after the flow was loaded, and before its first run. */
  constructor(shared: SharedObjects) {
    if (this.#hasFetch) shared.addFetch();
    lockValues(js.ownKeys(GLOBAL));
    // What the flow has made to put a value in its own place does so when it is first used.
    lockAccessors(shared.globals);
    js.push(this.#holders, toHolder("globalThis", GLOBAL));
    const { all } = shared;
    js.each(all, ({ name, object, isOpen }) => {
      if (isOpen) js.push(this.#holders, toHolder(name, object));
    });
    freezeAll(all);
  }

  /** A run loads what may use the classes of `fetch`: they are held before it can. */
  holdFetch(): void {
    if (this.#hasFetch) return;
    this.#spoilt ??= hasFetchClasses() ? FETCH : compare(this.#holders[0] as Holder);
    if (this.#spoilt !== null) return;
    const classes = findFetchClasses();
    // Where one was replaced unseen, or taken away, that one was not made.
    if (!areMade(classes)) this.#spoilt = FETCH;
    this.#hasFetch = true;
    freezeAll(classes);
    lockValues(FETCH_CLASSES);
    // With what their making has left there.
    this.#holders[0] = toHolder("globalThis", GLOBAL);
  }

  /**
   * Something that runs have changed, `Object.prototype.x` for example; null: nothing was found.
   * After a short run the values of all members are looked at; the descriptors of one object in
   * turn, every few runs.
   *
   * @param ms how long the run took
   */
  findChange(ms: number): string | null {
    if (this.#spoilt !== null) return this.#spoilt;
    if (!this.#hasFetch && hasFetchClasses()) return FETCH;
    const isWhole = ms > LONG_MS || this.#isTouched();
    const isDue = (this.#runs += 1) % RUNS_EACH === 0;
    const some = isDue ? 1 : 0;
    for (let left = isWhole ? this.#holders.length : some; left > 0; left -= 1) {
      const change = compare(this.#holders[this.#next] as Holder);
      if (change !== null) return change;
      this.#next = (this.#next + 1) % this.#holders.length;
    }
    return null;
  }

  #isTouched(): boolean {
    for (let at = 0; at < this.#holders.length; at += 1)
      if (isTouched(this.#holders[at] as Holder)) return true;
    return false;
  }
}

/** What is there cannot be replaced; more can be added. */
function lockValues(keys: readonly PropertyKey[]): void {
  // Deno puts some of its own in their place when they are first used: they are compared.
  if (js.IS_DENO) return;
  js.each(keys, (key) => {
    const found = findOpen(key);
    if (found === null || !js.hasOwn(found, "value")) return;
    lock(key, found, { value: found.value as unknown, writable: false });
  });
}

/** As lockValues; what is made when it is used stays. */
function lockAccessors(keys: readonly PropertyKey[]): void {
  js.each(keys, (key) => {
    const found = findOpen(key);
    if (found === null || js.hasOwn(found, "value") || !isReplaceable(key, found.set)) return;
    lock(key, found, { get: found.get, set: undefined });
  });
}

function lock(key: PropertyKey, { enumerable }: PropertyDescriptor, held: object): void {
  const locked = { __proto__: null, ...held, enumerable, configurable: false };
  js.defineProperty(GLOBAL, key, locked as PropertyDescriptor);
}

/** A member of `globalThis` that can be replaced. */
function findOpen(key: PropertyKey): PropertyDescriptor | null {
  if (isUnmade(GLOBAL, key)) return null;
  const found = js.getOwnPropertyDescriptor(GLOBAL, key);
  return found === undefined || found.configurable !== true ? null : found;
}

/** Some of Node's setters make a value, and put it in their place; Deno's take any. */
function isReplaceable(key: PropertyKey, set: unknown): boolean {
  if (js.IS_DENO || set === undefined) return true;
  return key === "Buffer" || key === "performance" || key === "process";
}

/** Whether these are all of the classes of `fetch`, and each is what the runtime makes. */
function areMade(classes: readonly Shared[]): boolean {
  if (!hasFetchClasses()) return false;
  let made = 0;
  js.each(classes, ({ name, object }) => {
    const tag = js.getOwnPropertyDescriptor(object, toStringTag)?.value as unknown;
    if (js.endsWith(name, ".prototype") && tag === js.slice(name, 0, -".prototype".length))
      made += 1;
  });
  return made === FETCH_CLASSES.length;
}

/** A class of `fetch` that to look at would make. */
function isUnmade(object: object, key: PropertyKey): boolean {
  return object === GLOBAL && !hasFetchClasses() && js.contains(FETCH_CLASSES, key);
}

function toHolder(name: string, object: object): Holder {
  const keys = js.ownKeys(object);
  const values: unknown[] = [];
  const plainKeys: PropertyKey[] = [];
  const plainValues: unknown[] = [];
  js.each(keys, (key) => {
    const found = isUnmade(object, key) ? undefined : js.getOwnPropertyDescriptor(object, key);
    // Classes of the web are made when they are first asked for.
    const isLazy = object === GLOBAL && (found === undefined || found.get !== undefined);
    js.push(values, isLazy ? LAZY : valueOf(found));
    if (found === undefined || !isPlain(found)) return;
    js.push(plainKeys, key);
    js.push(plainValues, found.value);
  });
  const isListed = keys.length > MANY;
  return {
    name,
    object: object as Holder["object"],
    prototype: js.getPrototypeOf(object),
    keys,
    values,
    plainKeys,
    plainValues,
    isListed,
    count: countMembers(object, isListed),
  };
}

function isPlain(found: PropertyDescriptor): boolean {
  if (!js.hasOwn(found, "value") || found.value !== found.value) return false;
  return found.writable !== false || found.configurable !== false;
}

/** Whether a value is another one, or there are more or fewer members. */
function isTouched({ object, plainKeys, plainValues, isListed, count }: Holder): boolean {
  for (let at = 0; at < plainKeys.length; at += 1)
    if (object[plainKeys[at] as PropertyKey] !== plainValues[at]) return true;
  return countMembers(object, isListed) !== count;
}

function countMembers(object: object, isListed: boolean): number {
  if (!isListed) return js.ownKeys(object).length;
  let count = 0;
  for (const _ in object) count += 1;
  return count;
}

function valueOf(found: PropertyDescriptor | undefined): unknown {
  return found === undefined || js.hasOwn(found, "value") ? found?.value : found.get;
}

function compare(holder: Holder): string | null {
  const { name, object, prototype, keys, values } = holder;
  if (js.getPrototypeOf(object) !== prototype) return `the prototype of ${name}`;
  const found = js.ownKeys(object);
  if (found.length !== keys.length) return findDifference(name, found, keys);
  for (let at = 0; at < found.length; at += 1) {
    const key = found[at] as PropertyKey;
    if (key !== keys[at]) return findDifference(name, found, keys);
    if (values[at] === LAZY) continue;
    const value = valueOf(js.getOwnPropertyDescriptor(object, key));
    if (!isSame(value, values[at])) return nameOf(name, key);
  }
  return null;
}

/** As `Object.is`, but for the sign of zero. */
function isSame(value: unknown, other: unknown): boolean {
  return value === other || (value !== value && other !== other);
}

/** Which key is new, or is there no more. */
function findDifference(
  name: string,
  found: readonly PropertyKey[],
  known: readonly PropertyKey[],
): string {
  const key =
    js.find(found, (key) => !js.contains(known, key)) ??
    js.find(known, (key) => !js.contains(found, key));
  return key === undefined ? name : nameOf(name, key);
}

function nameOf(holder: string, key: PropertyKey): string {
  return typeof key === "string" ? `${holder}.${key}` : `a symbol of ${holder}`;
}
