import files from "node:fs";
import { Error, Set, apply, push, setAdd, setDelete, setHas } from "../lib/intrinsics.ts";

/**
 * File descriptors belong to the process, not to the thread: by its number a flow could read
 * the channel to the server or a file of another flow, and a flow that closes one twice would
 * close somebody else's. So it can use those that it has opened, and no others. This stands in
 * every thread, granted files or not: it is what is left should the rules for modules be passed by.
 */

type AnyFunction = (...args: unknown[]) => unknown;

const fs = files;

/** Functions whose first argument is a descriptor; each has a form that ends in Sync. */
const TAKE_DESCRIPTOR = [
  "close",
  "fchmod",
  "fchown",
  "fdatasync",
  "fstat",
  "fsync",
  "ftruncate",
  "futimes",
  "read",
  "readv",
  "write",
  "writev",
];
/** Functions whose first argument is a path or a descriptor. */
const TAKE_EITHER = ["appendFile", "readFile", "truncate", "writeFile"];

/** Call before any code of the flow is loaded, and tell the runtime of it (syncBuiltinESMExports). */
export function guardDescriptors(): void {
  const own = new Set<unknown>();
  const { native } = fs.realpathSync;
  const functions = fs as unknown as Record<string, AnyFunction>;
  for (const name of [...TAKE_DESCRIPTOR, ...TAKE_EITHER]) {
    for (const form of [name, `${name}Sync`])
      wrap(functions, form, (plain) => refuseForeign(plain, form, own));
  }
  wrap(functions, "openSync", (plain) => notingResult(plain, own));
  wrap(functions, "open", (plain) => notingCallback(plain, own));
  hideConstructor();
  // In JavaScript it looks at each part of a path without asking for the permission.
  wrap(functions, "realpathSync", () => native as AnyFunction);
  Reflect.set(fs, "Utf8Stream", undefined);
}

function refuseForeign(plain: AnyFunction, name: string, own: Set<unknown>): AnyFunction {
  const closes = name.startsWith("close");
  return (...args) => {
    const descriptor = args[0];
    if (typeof descriptor === "number" && !setHas(own, descriptor)) {
      throw new Error(
        `Cannot use "${name}" with descriptor ${descriptor}: the flow has not opened it`,
      );
    }
    if (closes) setDelete(own, descriptor);
    return apply(plain, fs, args);
  };
}

function notingResult(plain: AnyFunction, own: Set<unknown>): AnyFunction {
  return (...args) => {
    const descriptor: unknown = apply(plain, fs, args);
    setAdd(own, descriptor);
    return descriptor;
  };
}

function notingCallback(plain: AnyFunction, own: Set<unknown>): AnyFunction {
  return (...args) => {
    const last = args.length - 1;
    const done = args[last];
    if (typeof done !== "function") return apply(plain, fs, args);
    const given: unknown[] = [];
    for (let at = 0; at < last; at += 1) push(given, args[at]);
    push(given, (error: unknown, descriptor: unknown): unknown => {
      if (typeof descriptor === "number") setAdd(own, descriptor);
      return apply(done as AnyFunction, undefined, [error, descriptor]);
    });
    return apply(plain, fs, given);
  };
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

/** A FileHandle's class makes a handle out of any descriptor. */
function hideConstructor(): void {
  const { defineProperty, getPrototypeOf } = Object;
  const functions = fs.promises as unknown as Record<string, AnyFunction>;
  wrap(functions, "open", (plain) => async (...args) => {
    const handle = (await apply(plain, functions, args)) as object;
    defineProperty(getPrototypeOf(handle), "constructor", { value: undefined });
    return handle;
  });
}
