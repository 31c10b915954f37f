import { Socket } from "node:net";
import { Channel, CHANNEL_FD } from "../shared/wire/channel.ts";
import type {
  FlowSpec,
  FromRunner,
  Inspection,
  RunnerSetup,
  ToRunner,
} from "../shared/wire/protocol.ts";
import { SealReader } from "../shared/wire/seal.ts";
import { causeOf, FlowThread } from "./flow-thread.ts";
import { inspectInThread } from "./inspection.ts";
import { NativeCalls } from "./native-calls.ts";
import { testFlags } from "./thread-flags.ts";

/**
 * A runner's program: a child process of the server that starts threads, speaks to them and ends
 * them as the server says. What it needs to know comes in its first message; it ends when the
 * server does.
 */

const HEARTBEAT_MS = 500;

/** The load of native calls is measured with each fourth heartbeat. */
const HEARTBEATS_TO_LOAD = 4;

const native = new NativeCalls();
let setup: RunnerSetup | null = null;
const threads = new Map<number, FlowThread>();
let heartbeats = 0;
let native_load = 0;
let rss_bytes = 0;

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

/**
 * Sent to all processes of a service, these are for its server, which says what becomes of what
 * runs here; without it the channel ends, and the runner with it. Windows has no such signals.
 */
if (process.platform !== "win32")
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => {});

/** Not process.exit, which waits for a thread that a native call holds. */
function end(): void {
  process.kill(process.pid, "SIGKILL");
}

function receive(message: ToRunner): void {
  if (message.type === "setup") return open(message.setup, message.token);
  if (setup === null) return;
  if (message.type === "inspect") inspect(setup, message.number, message.spec);
  else if (message.type === "start") start(setup, message);
  else tell(message);
}

function tell(message: Exclude<ToRunner, { type: "setup" | "inspect" | "start" }>): void {
  const thread = threads.get(message.thread);
  if (thread === undefined) return;
  if (message.type === "forward") thread.forward(message.text);
  else if (message.type === "recall") thread.recall(message.begun);
  else thread.end();
}

/** @param token threads do not know it: what they write to the channel is not taken for the runner's */
function open(given: RunnerSetup, token: string): void {
  setup = given;
  channel.token = token;
  setInterval(heartbeat, HEARTBEAT_MS);
  testFlags(given.readable).then(
    () => send({ type: "ready" }),
    (error: unknown) => send({ type: "refused", message: String(error) }),
  );
}

function inspect(given: RunnerSetup, number: number, spec: FlowSpec): void {
  const told = (inspection: Inspection): void => send({ type: "inspected", number, inspection });
  inspectInThread(spec, given, () => send({ type: "stuck" })).then(told, (error: unknown) =>
    told({ kind: "broken", message: String(error), stack: null }),
  );
}

function start(setup: RunnerSetup, message: ToRunner & { type: "start" }): void {
  const { thread: number, spec, line } = message;
  try {
    const thread = new FlowThread({
      number,
      spec,
      line,
      setup,
      tell: send,
      onExit: () => threads.delete(number),
    });
    threads.set(number, thread);
  } catch (error) {
    send({ type: "exited", thread: number, begun: 0, message: causeOf(error, spec.memory_mb) });
  }
}

function heartbeat(): void {
  const { waitedMs: native_wait_ms } = native;
  if (heartbeats % HEARTBEATS_TO_LOAD === 0) native_load = Math.round(native.measureCores() * 100);
  heartbeats += 1;
  measure();
  const restless = [...threads].flatMap(([number, thread]) => (thread.isRestless() ? number : []));
  send({ type: "heartbeat", rss_bytes, native_wait_ms, native_load, restless });
  native.ask();
}

/** It reads a file, which cannot be opened where a flow has taken all that may be open. */
function measure(): void {
  try {
    rss_bytes = process.memoryUsage.rss();
  } catch {}
}

function send(message: FromRunner): void {
  channel.send(message);
}
