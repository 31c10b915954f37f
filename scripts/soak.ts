import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { Agent } from "node:http";
import { parseArgs } from "node:util";
import { send } from "../test/blackbox/client.ts";
import { openTestService, processFigure, type TestService } from "../test/faults/test-service.ts";
import { ROOT } from "./targets.ts";

const USAGE = `npm run soak -- [options]

The families of faults with larger numbers, again and again, each time with
another seed, and then a load that shows whether memory grows. Every figure is printed.

  --rounds N     kills of the server and of runners in each pass (200)
  --minutes M    passes begin until so much time is over (0: one pass)
  --cases N      generated requests and answers in each property (20000)
  --rows N       ended executions in the store before the start after a crash (1000000)
  --hostile_sec N  seconds of hostile flows (600)
  --interrupted N, --clients N, --reloads N, --queued N, --guesses N   as in test/faults/sizes.ts
  --calls N      calls of the load after a tenth of them (1000000; 0: none)
  --nodes N      only nodes: so many on one PostgreSQL, under load. Random ones are killed in --rounds
                 rounds; in as many again, one is cut off or stopped, or PostgreSQL restarts or fails over;
                 then so much befalls each of them, at the same time
  --only TEXT    only files of test/faults whose path contains it
  --seed N       of the first pass
  --help`;

const { values: given } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    minutes: { type: "string", default: "0" },
    cases: { type: "string", default: "20000" },
    rows: { type: "string", default: "1000000" },
    interrupted: { type: "string", default: "10000" },
    clients: { type: "string", default: "5000" },
    reloads: { type: "string", default: "1000" },
    queued: { type: "string", default: "1000" },
    guesses: { type: "string", default: "1000" },
    hostile_sec: { type: "string", default: "600" },
    nodes: { type: "string" },
    calls: { type: "string" },
    only: { type: "string" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31) + 1) },
    help: { type: "boolean", default: false },
  },
});
if (given.help) {
  console.log(USAGE);
  process.exit();
}

const alone = given.nodes !== undefined;
const { minutes, seed, help: _, only, ...rest } = given;
const { calls = alone ? "0" : "1000000", ...sizes } = rest;
for (const [option, text] of Object.entries({ minutes, seed, calls, ...sizes }))
  if (text !== undefined && !/^\d+$/.test(text))
    throw new Error(`Expected a whole number for --${option}, not "${text}"`);
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
const ofNodes = ["node-kills", "node-rounds", "node-overlaps"];
const wanted = only !== undefined ? [only] : alone ? ofNodes : [""];
const endsAt = performance.now() + Number(minutes) * 60_000;
let failed = 0;
let pass = 0;
do {
  const own = String(Number(seed) + pass);
  console.log(`\npass ${pass + 1}, seed ${own}`);
  if (!(await runFamilies(own))) failed += 1;
  pass += 1;
} while (performance.now() < endsAt);
if (Number(calls) > 0) await watchMemory(Number(calls));
console.log(`\nfigure  soak: passes: ${pass}`);
console.log(`figure  soak: passes that failed: ${failed}`);
if (failed > 0) process.exitCode = 1;

/** One pass over all families; false where a test failed. */
async function runFamilies(own: string): Promise<boolean> {
  const files = globSync("test/faults/*.test.ts", { cwd: ROOT }).filter((file) =>
    wanted.some((part) => file.includes(part)),
  );
  if (files.length === 0)
    throw new Error(`No file of test/faults has "${wanted.join('" or "')}" in it`);
  const env: NodeJS.ProcessEnv = { ...process.env, FLOWHOOK_FAULTS_SEED: own };
  for (const [name, value] of Object.entries(sizes))
    if (value !== undefined) env[`FLOWHOOK_FAULTS_${name.toUpperCase()}`] = value;
  const args = ["--test", "--test-force-exit", "--test-concurrency=1", ...files];
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: "inherit" });
  const end = () => child.kill();
  process.once("exit", end);
  const [code] = (await once(child, "exit")) as [number | null];
  process.off("exit", end);
  return code === 0;
}

/** Resident memory of the server after many calls against after a tenth of them. */
async function watchMemory(further: number): Promise<void> {
  await using service = await openTestService({
    config: { LOG_LEVEL: "info", RETENTION_MAX_EXECUTIONS: 10_000 },
    flows: ["echo"],
  });
  await service.createWebhook("echo", "echo", { is_productive: true, sync_mode: "hold" });
  const first = Math.ceil(further / 10);
  await callTimes(service, first);
  const early = residentMb(service);
  console.log(`figure  memory: the server after ${first} calls: ${early.toFixed(1)} MB`);
  const begun = performance.now();
  await callTimes(service, further);
  const late = residentMb(service);
  const rate = further / ((performance.now() - begun) / 1000);
  console.log(`figure  memory: after ${further} further calls: ${late.toFixed(1)} MB`);
  console.log(`figure  memory: growth: ${((late / early - 1) * 100).toFixed(1)} %`);
  console.log(`figure  memory: calls: ${rate.toFixed(0)} a second`);
  if (late > early * 1.1) failed += 1;
}

function residentMb(service: TestService): number {
  return processFigure(service.pid, "VmRSS") / 1024;
}

async function callTimes(service: TestService, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const call = { target: "/api/latest/webhook/echo/call", agent };
  let left = count;
  async function callAgain(): Promise<void> {
    while (left-- > 0) {
      const { status, text } = await send(service.origin, call);
      if (status !== 200) throw new Error(`A call was answered with ${status}: ${text}`);
    }
  }
  try {
    await Promise.all(Array.from({ length: 32 }, callAgain));
  } finally {
    agent.destroy();
  }
}
