import { spawn } from "node:child_process";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import {
  BINARY,
  childrenOf,
  request,
  residentBytes,
  startFloor,
  startService,
  type Contestant,
} from "./contestant.ts";
import { callOf, load, using, type Figures } from "./calls.ts";
import { fillHistory } from "./history.ts";
import { SCALES } from "./scale.ts";

const HELD = { SYNC_MODE: "hold" };

/** Calls per second at 32 connections, and the latency of a single one. */
async function measureRate(url: string, seconds: number): Promise<Figures> {
  await load({ url, seconds: 2 });
  const many = await load({ url, seconds });
  const one = await load({ url, seconds: Math.max(1, seconds / 3), connections: 1 });
  return { calls_per_s: many.rate, p99_ms: many.p99_ms, single_p50_ms: one.p50_ms };
}

async function measureRedirect(url: string, seconds: number): Promise<Figures> {
  const order = { url: callOf(url, "echo"), is_chain: true };
  await load({ ...order, seconds: 2 });
  const { rate, p99_ms } = await load({ ...order, seconds });
  return { calls_per_s: rate, p99_ms };
}

/** Accepted and run: the time goes on until nothing waits any more. */
async function measureAsync(url: string, seconds: number): Promise<Figures> {
  const order = { url: `${callOf(url, "echo")}?async`, expected: null };
  await load({ ...order, seconds: 2 });
  await untilIdle(url);
  const begun = performance.now();
  const { rate, answers } = await load({ ...order, seconds });
  await untilIdle(url);
  return { accepted_per_s: rate, calls_per_s: answers / ((performance.now() - begun) / 1000) };
}

async function untilIdle(url: string): Promise<void> {
  for (;;) {
    const { executions } = await request(url, "GET", "/workspace");
    const { running, waiting } = executions as { running: number; waiting: number };
    if (running + waiting === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

const WAITING = 10_000;
/** More than FLOW_MAX_CONCURRENT, so that its threads are all there. */
const RUNNING = 64;

/** Requests that wait on slow executions: what one costs, and what they cost the others. */
async function measureIdle(contestant: Contestant, seconds: number): Promise<Figures> {
  const { url, pids } = contestant;
  const echo = callOf(url, "echo");
  await load({ url: echo, seconds: 2 });
  // The threads that the slow ones hold are there before: they are not what waiting costs.
  const slow = callOf(url, "slow");
  const first = Array.from({ length: RUNNING }, () => open(slow));
  await untilWaiting(url, 1);
  const before = residentBytes(pids());
  const waiting = Array.from({ length: WAITING }, () => open(slow));
  await untilWaiting(url, WAITING);
  const bytes = (residentBytes(pids()) - before) / WAITING;
  const { p99_ms } = await load({ url: echo, seconds, connections: 1 });
  for (const one of [...first, ...waiting]) one.destroy();
  return { kb_per_waiting: bytes / 1024, other_p99_ms: p99_ms };
}

async function untilWaiting(url: string, count: number): Promise<void> {
  for (;;) {
    const { executions } = await request(url, "GET", "/workspace");
    if ((executions as { waiting: number }).waiting >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function open(url: string) {
  const sent = httpRequest(url, { method: "GET", agent: false });
  sent.on("error", () => {});
  sent.end();
  return sent;
}

const HISTORY = 1_000_000;

async function measureHistory(seconds: number): Promise<Figures> {
  const first = await startService(HELD);
  fillHistory(first.folder as string, HISTORY);
  return using(first, async ({ url }) => {
    const figures = await measureRate(callOf(url, "echo"), seconds);
    const begun = performance.now();
    await request(url, "GET", "/execution");
    return { ...figures, first_page_ms: performance.now() - begun };
  });
}

/** From exec of the binary to its first answered call, and its memory at rest after that. */
async function measureStart(): Promise<Figures> {
  return using(await startService(HELD), async ({ url, folder, pids }) => {
    const port = new URL(url).port;
    const data = join(folder as string, "data");
    process.kill(pids()[0] as number, "SIGKILL");
    const begun = performance.now();
    const again = spawn(BINARY, ["serve"], {
      cwd: folder as string,
      env: { FLOWHOOK_LISTEN_PORT: port, FLOWHOOK_DATA_DIR: data, FLOWHOOK_SYNC_MODE: "hold" },
      stdio: "ignore",
    });
    for (;;) {
      const answer = await fetch(callOf(url, "echo"), { method: "POST" }).catch(() => null);
      if (answer?.status === 200) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const start_ms = performance.now() - begun;
    // The warm spare is let go where nothing runs for long; server and runner remain.
    const ours = () => [again.pid as number, ...childrenOf(again.pid as number)];
    while (ours().length > 2) await new Promise((resolve) => setTimeout(resolve, 500));
    const rest_mb = residentBytes(ours()) / 1024 / 1024;
    again.kill("SIGKILL");
    return { start_ms, rest_mb };
  });
}

const floor = (name: string) => async (seconds: number) =>
  using(await startFloor(name), ({ url }) => measureRate(url, seconds));

const service =
  (config: object, act: (url: string, seconds: number) => Promise<Figures>) =>
  async (seconds: number) =>
    using(await startService({ ...HELD, ...config }), ({ url }) => act(url, seconds));

const measureHold = (url: string, seconds: number) => measureRate(callOf(url, "echo"), seconds);

/** The contestants, in the order of a round. */
export const CONTESTANTS: Readonly<Record<string, (seconds: number) => Promise<Figures>>> = {
  "floor-node": floor("floor-node"),
  "floor-http": floor("floor-http"),
  "floor-pool": floor("floor-pool"),
  hold: service({}, measureHold),
  "hold-normal": service({ DURABILITY: "normal" }, measureHold),
  redirect: service({ SYNC_MODE: "redirect" }, measureRedirect),
  async: service({ MAX_QUEUED_EXECUTIONS: 1_000_000 }, measureAsync),
  "idle-10k": async (seconds) =>
    using(await startService({ ...HELD, MAX_QUEUED_EXECUTIONS: 20_000 }), (contestant) =>
      measureIdle(contestant, seconds),
    ),
  history: measureHistory,
  start: measureStart,
  ...SCALES,
};
