import type { FromRunner, RunnerSetup, ToRunner } from "../runner/protocol.ts";
import { inspectInThread } from "./inspection.ts";
import { Pools } from "./pools.ts";
import { testFlags } from "./thread-flags.ts";

/**
 * A runner's program: a child process of the server that holds the pools. All that it knows
 * comes in its first message; it ends when the server does.
 */

const BEAT_MS = 500;

let outbox: FromRunner[] = [];
let setup: RunnerSetup | null = null;
let pools: Pools | null = null;

// Not process.exit, which waits for a thread that a native call holds.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.on("message", (batch: ToRunner[]) => {
  for (const message of batch) receive(message);
});

function receive(message: ToRunner): void {
  if (message.type === "setup") return open(message.setup);
  if (setup === null || pools === null) return;
  if (message.type === "inspect") return inspect(message.number, message);
  if (message.type === "run") pools.run(message.key, message.job);
  else if (message.type === "answer") pools.answer(message.number, message.answer);
  else if (message.type === "abort") pools.abort(message.key, message.id, message.reason);
  else if (message.type === "retire") pools.retire(message.key);
  else pools.know(message.spec);
}

function open(given: RunnerSetup): void {
  setup = given;
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
  if (process.connected) process.send?.(batch);
}
