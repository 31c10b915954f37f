import dgram from "node:dgram";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import type { Grants } from "../runner/protocol.ts";

/**
 * File descriptors belong to the process, not to the thread: by its number a flow could read
 * the channel to the server or a file of another flow, and a flow that closes one twice would
 * close somebody else's. So it can use those that it has opened, and no others.
 */

type AnyFunction = (...args: unknown[]) => unknown;

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

/** Call before any code of the flow is loaded. */
export function guardDescriptors(grants: Grants): void {
  if (grants.net) guardHandles();
  if (grants.read.length + grants.write.length === 0) return;
  const own = new Set<unknown>();
  const functions = fs as unknown as Record<string, AnyFunction>;
  for (const name of [...TAKE_DESCRIPTOR, ...TAKE_EITHER]) {
    for (const form of [name, `${name}Sync`])
      wrap(functions, form, (plain) => refuseForeign(plain, form, own));
  }
  wrap(
    functions,
    "openSync",
    (plain) =>
      (...args) =>
        noted(own, plain(...args)),
  );
  wrap(
    functions,
    "open",
    (plain) =>
      (...args) =>
        plain(...notingCallback(own, args)),
  );
  hideConstructor();
  Reflect.set(fs, "Utf8Stream", undefined);
  syncBuiltinESMExports();
}

function refuseForeign(plain: AnyFunction, name: string, own: Set<unknown>): AnyFunction {
  return (...args) => {
    const [descriptor] = args;
    if (typeof descriptor === "number" && !own.has(descriptor)) {
      throw new Error(
        `Cannot use "${name}" with descriptor ${descriptor}: the flow has not opened it`,
      );
    }
    if (name.startsWith("close")) own.delete(descriptor);
    return plain(...args);
  };
}

function noted(own: Set<unknown>, descriptor: unknown): unknown {
  own.add(descriptor);
  return descriptor;
}

function notingCallback(own: Set<unknown>, args: unknown[]): unknown[] {
  const done = args.at(-1);
  if (typeof done !== "function") return args;
  const noting = (error: unknown, descriptor: unknown): unknown => {
    if (typeof descriptor === "number") own.add(descriptor);
    return done(error, descriptor);
  };
  return [...args.slice(0, -1), noting];
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
  const functions = fs.promises as unknown as Record<string, AnyFunction>;
  wrap(functions, "open", (plain) => async (...args) => {
    const handle = (await plain(...args)) as object;
    Object.defineProperty(Object.getPrototypeOf(handle), "constructor", { value: undefined });
    return handle;
  });
}

/** Sockets are made from descriptors too; and Unix sockets are files, which `net` does not grant. */
function guardHandles(): void {
  const pipe = new net.Socket();
  pipe.on("error", () => {});
  pipe.connect("/");
  const tcp: unknown = Reflect.get(net, "_createServerHandle")?.("127.0.0.1", 0, 4);
  const udp = dgram.createSocket("udp4");
  const state: unknown = Object.getOwnPropertySymbols(udp)
    .map((name) => Reflect.get(udp, name))
    .find(hasHandle);
  refuseMembers(Reflect.get(pipe, "_handle"), ["open", "bind", "connect"]);
  refuseMembers(tcp, ["open"]);
  refuseMembers(hasHandle(state) ? state.handle : null, ["open"]);
  pipe.destroy();
  udp.close();
  if (isObject(tcp)) Reflect.get(tcp, "close")?.call(tcp);
}

function refuseMembers(handle: unknown, names: readonly string[]): void {
  if (!isObject(handle)) return;
  for (const name of names) {
    const value = (): never => {
      throw new Error("Flows use sockets of the network that they open themselves");
    };
    Object.defineProperty(Object.getPrototypeOf(handle), name, { value });
  }
}

function hasHandle(value: unknown): value is { handle: unknown } {
  return isObject(value) && "handle" in value;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
