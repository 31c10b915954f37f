import { Socket } from "node:net";
import { CHANNEL_FD, encodeFrames, FrameReader } from "../runner/frames.ts";
import type { FromRunner, RunnerSetup, ToRunner } from "../runner/protocol.ts";
import { inspectInThread } from "./inspection.ts";
import { Pools } from "./pools.ts";
import { testFlags } from "./thread-flags.ts";

/**
 * A runner's program: a child process of the server that holds the pools. All that it knows
 * comes in its first message; it ends when the server does.
 */

const BEAT_MS = 500;

const channel = new Socket({ fd: CHANNEL_FD, readable: true, writable: true });
const frames = new FrameReader("");
let outbox: FromRunner[] = [];
let setup: RunnerSetup | null = null;
let pools: Pools | null = null;
/** Threads do not know it: what they write to the channel is not taken for the runner's. */
let token = "";

channel.on("data", (chunk: Buffer) => {
  for (const message of frames.push(chunk)) receive(message as ToRunner);
});
// Not process.exit, which waits for a thread that a native call holds.
channel.on("close", () => process.kill(process.pid, "SIGKILL"));
channel.on("error", () => {});

function receive(message: ToRunner): void {
  if (message.type === "setup") return open(message.setup, message.token);
  if (setup === null || pools === null) return;
  if (message.type === "inspect") return inspect(message.number, message);
  if (message.type === "run") pools.run(message.key, message.job);
  else if (message.type === "answer") pools.answer(message.number, message.answer);
  else if (message.type === "abort") pools.abort(message.key, message.id, message.reason);
  else if (message.type === "retire") pools.retire(message.key);
  else pools.know(message.spec);
}

function open(given: RunnerSetup, own: string): void {
  setup = given;
  token = own;
  pools = new Pools(given, send);
  setInterval(beat, BEAT_MS);
  testFlags(given.readable).then(
    () => send({ type: "ready" }),
    (error: unknown) => send({ type: "refused", message: String(error) }),
  );
}

function inspect(number: number, { spec }: ToRunner & { type: "inspect" }): void {
  if (setup === null) return;
  void inspectInThread(spec, setup).then((inspection) => send({ type: "inspected", number, inspection }));
}

function beat(): void {
  pools?.trim();
  send({ type: "beat", rss_bytes: process.memoryUsage.rss(), threads: pools?.threads ?? 0 });
}

/** Gathers what is to be sent in one turn of the event loop. */
function send(message: FromRunner): void {
  if (outbox.push(message) === 1) setImmediate(flush);
}

function flush(): void {
  const batch = outbox;
  outbox = [];
  for (const frame of encodeFrames(token, batch)) channel.write(frame);
}
