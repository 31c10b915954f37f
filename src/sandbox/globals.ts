import { Channel, tracingChannel } from "node:diagnostics_channel";
import * as js from "../shared/intrinsics.ts";
import { TOO_EARLY, lineFor } from "./builtins.ts";
import { pin } from "./pin.ts";

const NETWORK_CLASSES = ["WebSocket", "EventSource"];

/**
 * Patched, they would hand the ports between thread and runner to a flow. Node's ports make no
 * event for a listener of their own, and loading its class would cost each thread 20 ms.
 */
const PORT_CLASSES = [MessagePort, AbortSignal, ...(js.IS_DENO ? [MessageEvent] : [])];

/** The runtime's loader asks them what a module is, and where; and tells of what it loads. */
const LOADER_CLASSES: readonly { readonly prototype: object }[] = [
  URL,
  URLSearchParams,
  Channel,
  tracingChannel("flowhook").constructor,
];

/** What one run keeps there the next one finds; Deno's caches are shared by all threads. */
const STORAGES = ["localStorage", "sessionStorage", "Storage", "caches", "CacheStorage", "Cache"];

/**
 * Takes away what reaches other threads or later runs, and without the permission what reaches the
 * network: the permission layer refuses it too, but its errors do not say what to add.
 *
 * @param isInspecting whether the flow is only imported, without what it declares
 */
export function closeGlobals(net: boolean, isInspecting: boolean): void {
  for (const name of ["BroadcastChannel", "Worker", ...STORAGES])
    Reflect.deleteProperty(globalThis, name);
  closeLocks();
  closeDeno();
  for (const { prototype } of [...PORT_CLASSES, ...LOADER_CLASSES]) freezeChain(prototype);
  // The runtime's own modules call its methods, and end the process where its native code is given
  // what they should not have returned.
  pin(Buffer);
  pin(Buffer.prototype);
  if (net) return;
  const why = isInspecting ? TOO_EARLY : `add ${lineFor("net")} to the flow`;
  replace("fetch", async () => refuse("fetch", why));
  for (const name of NETWORK_CLASSES)
    replace(
      name,
      class {
        constructor() {
          refuse(name, why);
        }
      },
    );
}

/** All flows of a runner would share them: one could keep a name that another waits for. */
function closeLocks(): void {
  for (const holder of [navigator, Object.getPrototypeOf(navigator) as object])
    Reflect.deleteProperty(holder, "locks");
  for (const name of ["LockManager", "Lock"]) Reflect.deleteProperty(globalThis, name);
}

/** They end or start processes, or change what is the process's: all flows would have it changed. */
const OF_THE_PROCESS = [
  "exit",
  "kill",
  "Command",
  "dlopen",
  "chdir",
  "umask",
  "addSignalListener",
  "removeSignalListener",
  "permissions",
  "Permissions",
];

/** As `process.env` is: one that a flow could write would tell the others' `fetch` of a proxy. */
const NO_ENVIRONMENT = js.freeze({
  get: () => {},
  has: () => false,
  toObject: () => ({}),
  set: refuseEnvironment,
  delete: refuseEnvironment,
});

function refuseEnvironment(): never {
  throw new js.Error("Cannot change the environment: it is empty, and all flows would share it");
}

/** The runtime's own modules use the global, so it stays, without what is the process's. */
function closeDeno(): void {
  const deno: unknown = Reflect.get(globalThis, "Deno");
  if (typeof deno !== "object" || deno === null) return;
  const fixed = { configurable: false, writable: false };
  for (const name of OF_THE_PROCESS)
    Reflect.defineProperty(deno, name, { value: undefined, ...fixed });
  Reflect.defineProperty(deno, "env", { value: NO_ENVIRONMENT, ...fixed });
}

function freezeChain(start: object): void {
  for (let from = start; from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    js.freeze(from);
  }
}

function refuse(name: string, why: string): never {
  throw new js.Error(`Cannot use "${name}" without a permission: ${why}`);
}

/** Deleted first: to define over it the runtime would load its class, for 30 ms of each thread. */
function replace(name: string, value: unknown): void {
  Reflect.deleteProperty(globalThis, name);
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
