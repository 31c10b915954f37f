import files from "node:fs";
import * as js from "../shared/intrinsics.ts";
import { guardFileHandles } from "./file-handles.ts";

/**
 * File descriptors belong to the process, not to the thread: by its number a flow could read
 * the channel to the server or a file of another flow, and a flow that closes one twice would
 * close somebody else's. So it can use those that it has opened, and no others. This stands in
 * every thread, granted files or not: it is what is left should the rules for modules be passed by.
 */

type AnyFunction = (...args: unknown[]) => unknown;

const fs = files;
const soon = setImmediate;
const then = Promise.prototype.then as AnyFunction;
const OUT_OF_RANGE = "ERR_OUT_OF_RANGE";

/** Functions whose first argument is a descriptor; each has a form that ends in Sync. */
const TAKE_DESCRIPTOR =
  "close fchmod fchown fdatasync fstat fsync ftruncate futimes read readv write writev".split(" ");
/** Functions whose first argument is a path or a descriptor. */
const TAKE_EITHER = ["appendFile", "readFile", "truncate", "writeFile"];

/** Call before any code of the flow is loaded, and tell the runtime of it (syncBuiltinESMExports). */
export function guardDescriptors(fileHandle: object | null): void {
  const own = new js.Set<unknown>();
  const functions = fs as unknown as Record<string, AnyFunction>;
  for (const name of [...TAKE_DESCRIPTOR, ...TAKE_EITHER]) {
    for (const form of [name, `${name}Sync`])
      wrap(functions, form, (plain) => refuseForeign(plain, form, own));
  }
  wrap(functions, "openSync", (plain) => notingResult(plain, own));
  wrap(functions, "open", (plain) => openLater(plain, functions["openSync"] as AnyFunction));
  wrap(functions, "readFile", (plain) => readLater(plain, own));
  // The runtime's own functions open by what stands here, and trust the descriptor.
  for (const name of ["open", "openSync"])
    Object.defineProperty(functions, name, { configurable: false, writable: false });
  if (fileHandle !== null) guardFileHandles(fileHandle);
  // In JavaScript they look at each part of a path: one without asking for the permission, the
  // other so that it is refused the folders above those that were granted.
  for (const name of ["realpath", "realpathSync"] as const)
    wrap(functions, name, () => fs[name].native as AnyFunction);
  Reflect.set(fs, "Utf8Stream", undefined);
}

function refuseForeign(plain: AnyFunction, name: string, own: Set<unknown>): AnyFunction {
  const closes = name.startsWith("close");
  return (...args) => {
    const descriptor = args[0];
    if (typeof descriptor === "number") requireOwn(own, name, descriptor);
    if (closes) js.setDelete(own, descriptor);
    return js.apply(plain, fs, args);
  };
}

function requireOwn(own: Set<unknown>, name: string, descriptor: number): void {
  if (js.setHas(own, descriptor)) return;
  throw new js.Error(
    `Cannot use "${name}" with descriptor ${descriptor}: the flow has not opened it`,
  );
}

function notingResult(plain: AnyFunction, own: Set<unknown>): AnyFunction {
  return (...args) => {
    const descriptor: unknown = js.apply(plain, fs, args);
    js.setAdd(own, descriptor);
    return descriptor;
  };
}

/**
 * Opens at once, and tells later: what the runtime calls with a descriptor a flow could get hold
 * of, and call with another.
 */
function openLater(plain: AnyFunction, openSync: AnyFunction): AnyFunction {
  return (...args) => {
    const last = args.length - 1;
    const done = args[last];
    if (typeof done !== "function") return js.apply(plain, fs, args);
    const given: unknown[] = [];
    for (let at = 0; at < last; at += 1) js.push(given, args[at]);
    later(done as AnyFunction, () => js.apply(openSync, undefined, given));
  };
}

/** The runtime keeps the descriptor of a file that it reads where a flow could replace it. */
function readLater(plain: AnyFunction, own: Set<unknown>): AnyFunction {
  const { readFileSync } = fs;
  const { readFile } = fs.promises;
  return (...args) => {
    const { 0: path, 1: first, 2: second } = args;
    const done = typeof second === "function" ? second : first;
    if (typeof done !== "function" || (second && done !== second)) return js.apply(plain, fs, args);
    const given = [path, done === second ? first : undefined];
    if (typeof path !== "number") tell(done as AnyFunction, js.apply(readFile, fs.promises, given));
    else {
      requireOwn(own, "readFile", path);
      later(done as AnyFunction, () => js.apply(readFileSync, fs, given));
    }
  };
}

/** @throws {Error} where the arguments are none that it takes */
function later(done: AnyFunction, act: () => unknown): void {
  let result: unknown[];
  try {
    result = [null, act()];
  } catch (error) {
    if (isMisuse(error)) throw error;
    result = [error];
  }
  soon(() => js.apply(done, undefined, result));
}

function isMisuse(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return true;
  const code: unknown = js.get(error, "code");
  return typeof code !== "string" || js.startsWith(code, "ERR_INVALID") || code === OUT_OF_RANGE;
}

/** Outside of the promise's own turn: what the flow's function throws is an error of the flow. */
function tell(done: AnyFunction, reading: Promise<unknown>): void {
  js.apply(then, reading, [
    (value: unknown) => soon(() => js.apply(done, undefined, [null, value])),
    (error: unknown) => soon(() => js.apply(done, undefined, [error])),
  ]);
}

/** Keeps what is fastened to a function, such as how it is made a promise. */
function wrap(
  functions: Record<string, AnyFunction>,
  name: string,
  wrapper: (plain: AnyFunction) => AnyFunction,
): void {
  const plain = functions[name];
  if (plain === undefined) return;
  const wrapped = wrapper(plain);
  Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(plain));
  functions[name] = wrapped;
}
