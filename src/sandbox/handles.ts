import dgram from "node:dgram";
import type { EventEmitter } from "node:events";
import net from "node:net";
import * as js from "../shared/intrinsics.ts";
import { isRecord } from "../shared/wire/protocol.ts";

/**
 * Sockets are made from descriptors too, which belong to the process; and Unix sockets are files,
 * which the network does not grant.
 */

/** Call before any code of the flow is loaded; without the network granted as well. */
export function guardHandles(): void {
  const pipe = catchHandle((socket) => socket.connect("/"));
  const tcp = catchHandle((socket) => socket.connect({ host: "127.0.0.1", port: 1 }));
  refuseMembers(pipe, ["open", "bind", "connect", "fchmod", "listen"]);
  refuseMembers(tcp, ["open"]);
  refuseMembers(handleOfUdp(), ["open"]);
}

/** A socket's handle, at the moment when it gets one: it does not come to connecting. */
function catchHandle(connect: (socket: net.Socket) => unknown): unknown {
  const socket = new net.Socket();
  let caught: unknown = null;
  let kept: unknown = null;
  Object.defineProperty(socket, "_handle", {
    configurable: true,
    get: () => kept,
    set: (handle: unknown) => {
      kept = handle;
      if (handle === null) return;
      caught = handle;
      throw new js.Error("Caught");
    },
  });
  silence(socket);
  try {
    connect(socket);
  } catch {
    // The socket closes what it was given.
  }
  socket.destroy();
  if (caught === null)
    throw new js.Error("Cannot guard sockets: this runtime makes them otherwise");
  return caught;
}

function handleOfUdp(): unknown {
  const udp = silence(dgram.createSocket("udp4"));
  const state: unknown = Object.getOwnPropertySymbols(udp)
    .map((name) => js.get(udp, name) as unknown)
    .find(hasHandle);
  udp.close();
  return hasHandle(state) ? state.handle : null;
}

/** What it would tell comes when a flow may listen in on all that tells anything. */
function silence<Emitter extends EventEmitter>(emitter: Emitter): Emitter {
  return Object.assign(emitter, { emit: () => true });
}

function refuseMembers(handle: unknown, names: readonly string[]): void {
  if (!isRecord(handle)) return;
  for (const name of names) {
    const value = (): never => {
      throw new js.Error("Flows use sockets of the network that they open themselves");
    };
    Object.defineProperty(Object.getPrototypeOf(handle), name, { value });
  }
}

function hasHandle(value: unknown): value is { handle: unknown } {
  return isRecord(value) && "handle" in value;
}
