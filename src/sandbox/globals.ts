import { lineFor } from "./builtins.ts";

const NETWORK_CLASSES = ["WebSocket", "EventSource"];

/** Patched, they would hand the ports between thread and runner to a flow. */
const PORT_CLASSES = [MessagePort, MessageEvent, AbortSignal];

/**
 * Takes away what reaches other threads, and without the permission what reaches the network:
 * the permission layer refuses it too, but its errors do not say what to add.
 */
export function closeGlobals(net: boolean): void {
  for (const name of ["BroadcastChannel", "Worker"]) Reflect.deleteProperty(globalThis, name);
  closeDeno();
  for (const { prototype } of PORT_CLASSES) freezeChain(prototype);
  if (net) return;
  replace("fetch", async () => refuse("fetch"));
  for (const name of NETWORK_CLASSES) {
    replace(
      name,
      class {
        constructor() {
          refuse(name);
        }
      },
    );
  }
}

/** The runtime's own modules use the global, so it stays, without what ends or starts processes. */
function closeDeno(): void {
  const deno: unknown = Reflect.get(globalThis, "Deno");
  if (typeof deno !== "object" || deno === null) return;
  for (const name of ["exit", "kill", "Command", "dlopen", "chdir"]) {
    Reflect.defineProperty(deno, name, { value: undefined, configurable: false, writable: false });
  }
}

function freezeChain(start: object): void {
  for (let from = start; from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    Object.freeze(from);
  }
}

function refuse(name: string): never {
  throw new Error(`Cannot use "${name}" without a permission: add ${lineFor("net")} to the flow`);
}

function replace(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
