import { Socket } from "node:net";
import { Channel, CHANNEL_FD } from "../runner/channel.ts";
import type { FromRunner, RunnerSetup, ToRunner } from "../runner/protocol.ts";
import { inspectInThread } from "./inspection.ts";
import { Pools } from "./pools.ts";
import { testFlags } from "./thread-flags.ts";

/**
 * A runner's program: a child process of the server that holds the pools. All that it knows
 * comes in its first message; it ends when the server does.
 */

const BEAT_MS = 500;

let setup: RunnerSetup | null = null;
let pools: Pools | null = null;

const socket = new Socket({ fd: CHANNEL_FD, readable: true, writable: true });
const channel = new Channel<FromRunner>(socket, {
  expected: "",
  receive: (message) => receive(message as ToRunner),
  onDamage: end,
});
socket.on("close", end);
socket.on("error", () => {});

/** Not process.exit, which waits for a thread that a native call holds. */
function end(): void {
  process.kill(process.pid, "SIGKILL");
}

function receive(message: ToRunner): void {
  if (message.type === "setup") return open(message.setup, message.token);
  if (setup === null || pools === null) return;
  if (message.type === "inspect") return inspect(message.number, message);
  if (message.type === "run") pools.run(message.key, message.job, message.is_ahead);
  else if (message.type === "answer") pools.answer(message.number, message.answer);
  else if (message.type === "abort") pools.abort(message.key, message.id, message.reason);
  else if (message.type === "retire") pools.retire(message.key);
  else pools.know(message.spec);
}

/** @param token threads do not know it: what they write to the channel is not taken for the runner's */
function open(given: RunnerSetup, token: string): void {
  setup = given;
  channel.token = token;
  pools = new Pools(given, send);
  setInterval(beat, BEAT_MS);
  testFlags(given.readable).then(
    () => send({ type: "ready" }),
    (error: unknown) => send({ type: "refused", message: String(error) }),
  );
}

function inspect(number: number, { spec }: ToRunner & { type: "inspect" }): void {
  if (setup === null) return;
  void inspectInThread(spec, setup).then((inspection) =>
    send({ type: "inspected", number, inspection }),
  );
}

function beat(): void {
  pools?.trim();
  send({ type: "beat", rss_bytes: process.memoryUsage.rss(), threads: pools?.threads ?? 0 });
}

function send(message: FromRunner): void {
  channel.send(message);
}
