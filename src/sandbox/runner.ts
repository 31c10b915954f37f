import { Socket } from "node:net";
import { Channel, CHANNEL_FD } from "../runner/channel.ts";
import type { FromRunner, Inspection, RunnerSetup, ToRunner } from "../runner/protocol.ts";
import { SealReader } from "../runner/seal.ts";
import { inspectInThread } from "./inspection.ts";
import { NativeLoad } from "./native-load.ts";
import { NativeProbe } from "./native-probe.ts";
import { Pools } from "./pools.ts";
import { testFlags } from "./thread-flags.ts";

/**
 * A runner's program: a child process of the server that holds the pools. All that it knows
 * comes in its first message; it ends when the server does.
 */

const BEAT_MS = 500;

/** How often the load of native calls is looked at. */
const LOAD_MS = 2_000;
/** Cores that native calls keep busy; with more, who runs nothing for so long is suspected. */
const MOST_CORES = 0.5;
const QUIET_MS = 5_000;

const probe = new NativeProbe();
const load = new NativeLoad();
let setup: RunnerSetup | null = null;
let pools: Pools | null = null;

/** Read into the same memory again and again: the runtime would fill new memory with zeros first. */
const buffer = Buffer.alloc(64 * 1024);
const socket = new Socket({
  fd: CHANNEL_FD,
  readable: true,
  writable: true,
  onread: {
    buffer,
    callback: (length) => {
      channel.read(buffer.subarray(0, length));
      return true;
    },
  },
});
const channel = new Channel<FromRunner>(socket, {
  expected: "",
  opener: new SealReader(),
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
  setInterval(endSuspects, LOAD_MS);
  testFlags(given.readable).then(
    () => send({ type: "ready" }),
    (error: unknown) => send({ type: "refused", message: String(error) }),
  );
}

function inspect(number: number, { spec }: ToRunner & { type: "inspect" }): void {
  if (setup === null) return;
  const told = (inspection: Inspection): void => send({ type: "inspected", number, inspection });
  inspectInThread(spec, setup).then(told, (error: unknown) =>
    told({ kind: "broken", message: String(error), stack: null }),
  );
}

function beat(): void {
  pools?.trim();
  const { waited_ms: native_wait_ms } = probe;
  const threads = pools?.threads ?? 0;
  send({ type: "beat", rss_bytes: process.memoryUsage.rss(), threads, native_wait_ms });
  probe.ask();
}

/** Who runs may make native calls; who has returned may have left some behind. */
function endSuspects(): void {
  if (load.measure() > MOST_CORES) pools?.endIdle(performance.now() - QUIET_MS);
}

function send(message: FromRunner): void {
  channel.send(message);
}
