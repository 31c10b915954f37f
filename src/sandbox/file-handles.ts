import { EventEmitter } from "node:events";
import files from "node:fs";
import * as js from "../shared/intrinsics.ts";

/**
 * Handles of `fs.promises`. The runtime reads the descriptor from members that anybody can define
 * anew, on the handle or on an object that inherits from it: here each handle keeps the native one
 * that it was made with, and its methods take nothing else.
 */

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

const natives = new js.WeakMap<object, object>();
const closed = new js.WeakSet();

/** A handle, which is closed: their class is not exported. Null where there is none to guard. */
export async function openSample(): Promise<object | null> {
  // Deno's own permissions hold its handles.
  if (js.IS_DENO) return null;
  const sample = await files.promises.open(import.meta.filename);
  await sample.close();
  return sample;
}

/** Call before any code of the flow is loaded. */
export function guardFileHandles(sample: object): void {
  const prototype = js.getPrototypeOf(sample) as object;
  const symbols = symbolsOf(sample);
  const native: unknown = Reflect.get(sample, symbols["kHandle"] as symbol);
  const fdOf = guardNative(js.getPrototypeOf(native) as object);
  lockInstances(Reflect.get(prototype, "constructor") as object, symbols, fdOf);
  for (const name of js.ownKeys(prototype)) checkReceiver(prototype, name);
  hide(prototype, "constructor");
  // Who awaits a handle must not be led to another by way of Object.prototype.
  hide(prototype, "then");
}

function symbolsOf(handle: object): Readonly<Record<string, symbol>> {
  const named: Record<string, symbol> = {};
  for (const symbol of Object.getOwnPropertySymbols(handle))
    named[String(symbol).slice("Symbol(".length, -1)] = symbol;
  return named;
}

/** Its class would make one of any descriptor; one that is closed has no descriptor any more. */
function guardNative(prototype: object): (native: object) => number {
  const { get } = js.getOwnPropertyDescriptor(prototype, "fd") ?? {};
  for (const name of ["close", "closeSync", "releaseFD"]) {
    const plain = Reflect.get(prototype, name) as AnyFunction;
    const value = function (this: object, ...args: unknown[]): unknown {
      js.weakSetAdd(closed, this);
      return js.apply(plain, this, args);
    };
    js.defineProperty(prototype, name, { value, configurable: false, writable: false });
  }
  hide(prototype, "constructor");
  hide(prototype, "then");
  return js.uncurry(get as AnyFunction) as (native: object) => number;
}

/** Runs in place of the class's base: before anybody has seen the new handle. */
function lockInstances(
  type: object,
  symbols: Readonly<Record<string, symbol>>,
  fdOf: (native: object) => number,
): void {
  const init = Reflect.get(EventEmitter, "init") as AnyFunction;
  const fd = accessor(
    (handle) => descriptorOf(handle, fdOf),
    () => {},
  );
  const native = accessor(
    (handle) => js.weakMapGet(natives, handle),
    (handle, given) => {
      if (js.weakMapGet(natives, handle) !== undefined)
        throw new js.TypeError("A file handle stays what it is");
      // Throws where it is not a native handle.
      fdOf(given as object);
      js.weakMapSet(natives, handle, given as object);
    },
  );
  function Base(this: object): void {
    js.defineProperty(this, symbols["kHandle"] as symbol, native);
    js.defineProperty(this, symbols["kFd"] as symbol, fd);
    js.defineProperty(this, "fd", fd);
    js.apply(init, this, []);
  }
  js.setPrototypeOf(type, Base);
  js.defineProperty(type, Symbol.hasInstance, { value: isHandle, configurable: false });
}

function descriptorOf(handle: object, fdOf: (native: object) => number): number {
  const native = js.weakMapGet(natives, handle);
  if (native === undefined || js.weakSetHas(closed, native)) return -1;
  return js.max(-1, fdOf(native));
}

function isHandle(value: unknown): boolean {
  return js.weakMapGet(natives, value as object) !== undefined;
}

/** Without a prototype: a flow could say more of it there. */
function accessor(
  get: (handle: object) => unknown,
  set: (handle: object, value: unknown) => void,
): PropertyDescriptor {
  return Object.assign(js.create(null) as object, {
    get(this: object) {
      return get(this);
    },
    set(this: object, value: unknown) {
      set(this, value);
    },
    configurable: false,
    enumerable: false,
  });
}

/** Each method and getter takes handles alone, and none hands one to another thread. */
function checkReceiver(prototype: object, name: string | symbol): void {
  const { value, get } = js.getOwnPropertyDescriptor(prototype, name) ?? {};
  const plain = (value ?? get) as unknown;
  if (typeof plain !== "function") return;
  const isTransfer = String(name).startsWith("Symbol(messaging_");
  const checked = function (this: object, ...args: unknown[]): unknown {
    if (isTransfer || !isHandle(this)) throw new js.TypeError("Not a file handle of this flow");
    return js.apply(plain as AnyFunction, this, args);
  };
  const names = Object.getOwnPropertyDescriptors(plain) as PropertyDescriptorMap;
  for (const key of ["name", "length"])
    if (names[key] !== undefined) Object.defineProperty(checked, key, names[key]);
  const replaced = value === undefined ? { get: checked } : { value: checked };
  js.defineProperty(prototype, name, { ...replaced, configurable: false });
}

function hide(prototype: object, name: string): void {
  const hidden = { value: undefined, configurable: false, writable: false };
  js.defineProperty(prototype, name, hidden);
}
