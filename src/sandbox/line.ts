import { Buffer } from "node:buffer";
import { Socket } from "node:net";
import { MessageChannel, parentPort } from "node:worker_threads";
import * as js from "../shared/intrinsics.ts";
import { FrameReader, toFrame } from "../shared/wire/frames.ts";
import { listen } from "../shared/wire/ports.ts";
import type { LineAddress } from "../shared/wire/protocol.ts";
import { SealReader } from "../shared/wire/seal.ts";
import type { FromThread, ToThread } from "../shared/wire/thread-messages.ts";
import { decode, encode } from "./line-text.ts";

/** The line of a thread to the server: a socket of its own, or a port to its runner. */

const CHUNK = 64 * 1024;

const write = js.uncurry<Socket, [data: Buffer | string], boolean>(Socket.prototype.write);

const destroy = js.uncurry<Socket, [], Socket>(Socket.prototype.destroy);

type Receive = (message: ToThread) => void;

export interface Line {
  send(message: FromThread): void;
  /** Says that the thread takes runs. */
  begin(): void;
}

/**
 * Connects to the server. What is sent leaves at once, also where the thread's loop does not turn
 * again; what is received is read into the same memory again and again.
 */
export async function connectLine(address: LineAddress, receive: Receive): Promise<Line> {
  const { path, token, seal } = address;
  const opener = new SealReader(Buffer.from(seal, "hex"));
  const frames = new FrameReader("");
  const buffer = Buffer.alloc(CHUNK);
  const callback = (length: number): boolean => {
    let texts: readonly string[] = [];
    try {
      texts = frames.complete(opener.open(js.subarray(buffer, 0, length)));
    } catch {
      // Where nothing more can be read the thread is of no use: the server has it ended.
      destroy(socket);
    }
    for (let at = 0; at < texts.length; at += 1) receive(decode(texts[at] as string));
    return true;
  };
  const socket = new Socket({ onread: { buffer, callback } });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
    socket.connect(path);
  });
  // The server has its thread ended then.
  socket.on("error", () => {});
  return {
    send: (message) => write(socket, toFrame(token, encode(message))),
    begin: () => write(socket, token),
  };
}

/** A port to the runner, which hands on what it is told, and is given the port's other end. */
export function openPort(receive: Receive): Line {
  const { port1, port2 } = new MessageChannel();
  const post = port1.postMessage.bind(port1);
  const greet = parentPort?.postMessage.bind(parentPort);
  listen(port1, (text) => receive(decode(text as string)));
  return {
    send: (message) => post(encode(message)),
    begin: () => greet?.({ port: port2 }, [port2]),
  };
}
