import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BroadcastChannel } from "node:worker_threads";
import { FlowThread } from "../src/runner/flow-thread.ts";
import { decode, encode } from "../src/server/workers/line-text.ts";
import type { FlowSpec, Job, OfThread, RunnerSetup } from "../src/shared/wire/protocol.ts";
import { ROOT } from "./targets.ts";

/**
 * `thread-cache.ts FOLDER`: starts a thread from the runner's files in a folder, lets a flow run in it,
 * and writes what was compiled of the thread's program by then to thread.cache there: the rest, as a
 * line of its own and an inspection need it, is compiled as it is called. A process of its own: the code
 * is for the runtime and flags that it was made with.
 */

const FLOW = `import { defineFlow, v } from "flowhook";
export default defineFlow({
  input: v.object({ json: v.unknown() }),
  run: async (flow) => {
    flow.log.info("Called with", flow.input_value.json);
    await new Promise((resolve) => setTimeout(resolve));
    return { at: new Date().toISOString() };
  },
});
`;

/** What compares runs is called by the second. */
const JOBS = ["1", "2"].map<Job>((id) => ({
  id,
  execution: "{}",
  input_value: '{"json":{"a":1}}',
  raw_body: null,
  raw_body_at: null,
  base_url: "http://flowhook",
  target: null,
}));

const folder = realpathSync(process.argv[2] ?? "");
await runAll();
writeFileSync(join(folder, "thread.cache"), await ask());
process.exit();

/** Resolves once the runs have ended; their thread waits for more. */
async function runAll(): Promise<void> {
  const ended = Promise.withResolvers<void>();
  let left = JOBS.length;
  const tell = (message: OfThread): void => {
    if (message.type === "started") thread.forward(encode({ type: "run", round: 0, jobs: JOBS }));
    else if (message.type === "exited") ended.reject(new Error(message.message));
    else if (message.type === "told") take(message.text);
  };
  const take = (text: string): void => {
    const message = decode(text);
    if (message?.type !== "ended") return;
    const { status, status_message } = message.ending;
    left -= 1;
    if (status !== "ENDED_SUCCESS") ended.reject(new Error(status_message ?? status));
    else if (left === 0) ended.resolve();
  };
  const spec = newSpec();
  const setup = newSetup();
  const thread = new FlowThread({ number: 1, spec, setup, line: null, tell, onExit: () => {} });
  await ended.promise;
}

/** The thread itself. */
function ask(): Promise<Uint8Array> {
  const channel = new BroadcastChannel("code");
  channel.postMessage(null);
  return new Promise((resolve) => {
    channel.onmessage = (event) => resolve((event as { data: Uint8Array }).data);
  });
}

function newSpec(): FlowSpec {
  const directory = join(folder, "version");
  const entry = join(directory, "flow.js");
  mkdirSync(directory);
  writeFileSync(entry, FLOW);
  return {
    key: "recorded@1",
    flow: "recorded",
    version: "1",
    directory,
    entry,
    stripped: {},
    plugins_dir: folder,
    grants: { net: false, read: [], write: [], secrets: [] },
    memory_mb: 256,
    isolation: "flow",
    input_members: ["json"],
  };
}

function newSetup(): RunnerSetup {
  return {
    thread: join(folder, "thread.cjs"),
    author: join(folder, "flowhook.mjs"),
    // Piscina has its worker there.
    readable: [folder, realpathSync(join(ROOT, "node_modules"))],
    limits: { max_output_bytes: 1_000_000, max_input_bytes: 1_000_000, max_log_lines: 50 },
    inspect_ms: 0,
    use_system_ca: false,
  };
}
