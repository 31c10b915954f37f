import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { load } from "./load.ts";
import { median } from "./quartiles.ts";
import {
  BINARY,
  callOf,
  childrenOf,
  ECHO,
  HELD,
  kill,
  proportionalBytes,
  request,
  residentBytes,
  spawnOwn,
  startService,
  using,
  type Server,
} from "./server.ts";

/** What is measured alone, one after the other: figures by their names, which have the units. */
export type Figures = Readonly<Record<string, number>>;

export const ALONE: Readonly<Record<string, () => Promise<Figures>>> = {
  "idle-10k": measureIdle,
  start: measureStart,
  "first-start": measureFirstStart,
};

const WAITING = 10_000;
/** More than FLOW_MAX_CONCURRENT, so that its threads are all there. */
const RUNNING = 64;

/** Requests that wait on slow executions: what one costs, and what they cost the others. */
async function measureIdle(): Promise<Figures> {
  return using(
    await startService({ ...HELD, MAX_QUEUED_EXECUTIONS: 4 * WAITING }),
    async (server) => {
      const { url, call, processes } = server;
      const resident = () => residentBytes([...processes().keys()]);
      await load({ url: call, seconds: 2 });
      const { p99_ms: alone_p99_ms } = await load({ url: call, seconds: 2, connections: 1 });
      // The threads that the slow ones hold are there before: they are not what waiting costs.
      const slow = callOf(url, "slow");
      const first = Array.from({ length: RUNNING }, (_, number) => open(slow, number));
      await untilWaiting(url, 1);
      const before = resident();
      const waiting = Array.from({ length: WAITING }, (_, number) => open(slow, number));
      await untilWaiting(url, WAITING);
      const waiting_kb = (resident() - before) / WAITING / 1024;
      const { p99_ms } = await load({ url: call, seconds: 2, connections: 1 });
      for (const one of [...first, ...waiting]) one.destroy();
      return { waiting_kb, other_p99_ms: p99_ms, alone_p99_ms };
    },
  );
}

async function untilWaiting(url: string, count: number): Promise<void> {
  for (;;) {
    const { executions } = await request(url, "GET", "/workspace");
    if ((executions as { waiting: number }).waiting >= count) return;
    await sleep(100);
  }
}

const CLIENTS = 4;

/** From one of several addresses: no client has more than its share of the connections. */
function open(url: string, number: number) {
  const localAddress = `127.0.0.${2 + (number % CLIENTS)}`;
  const sent = httpRequest(url, { method: "GET", agent: false, localAddress });
  sent.on("error", () => {});
  sent.on("response", ({ statusCode }) => {
    throw new Error(`A call that should wait was answered with ${statusCode}`);
  });
  sent.end();
  return sent;
}

const STARTS = 9;

/** From exec of the binary to its first answered call, and its memory at rest after that. */
async function measureStart(): Promise<Figures> {
  return using(await startService(HELD), async (server) => {
    const times: number[] = [];
    let { child } = server;
    while (times.length < STARTS) {
      await kill(child);
      const begun = performance.now();
      child = startAgain(server);
      await untilAnswered(server.call, child);
      times.push((performance.now() - begun) / 1000);
    }
    const rest = await measureRest(child.pid as number);
    await kill(child);
    return { start_s: median(times), ...rest };
  });
}

function startAgain({ url, folder }: Server): ChildProcess {
  const env = {
    FLOWHOOK_LISTEN_PORT: new URL(url).port,
    FLOWHOOK_DATA_DIR: join(folder as string, "data"),
    FLOWHOOK_SYNC_MODE: "hold",
  };
  return spawnOwn(BINARY, ["serve"], { cwd: folder as string, env, stdio: "ignore" });
}

async function untilAnswered(call: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const answer = await fetch(call, { method: "POST" }).catch(() => null);
    if (answer?.status === 200) return;
    await sleep(5);
  }
  throw new Error("The service ended before it answered");
}

/** Longer than the warm spare of the first call, and the thread that takes types out, are kept. */
const REST_MS = 35_000;

/** Server and runner remain when nothing has run for long. */
async function measureRest(pid: number): Promise<Figures> {
  await sleep(REST_MS);
  while (childrenOf(pid).length > 1) await sleep(500);
  const pids = [pid, ...childrenOf(pid)];
  return {
    rest_mb: residentBytes(pids) / 1024 ** 2,
    rest_pss_mb: proportionalBytes(pids) / 1024 ** 2,
  };
}

export const FLOWS = 500;
/** `echo` and `slow`, which each service has. */
const OWN_FLOWS = 2;

/** Until all of many flows that the service has never seen are ready. */
async function measureFirstStart(): Promise<Figures> {
  const begun = performance.now();
  return using(await startService(HELD, writeFlows), async ({ url }) => {
    for (;;) {
      const { items } = await request(url, "GET", "/flow?state=ready");
      if ((items as object[]).length >= FLOWS + OWN_FLOWS) break;
      await sleep(50);
    }
    return { first_start_s: (performance.now() - begun) / 1000 };
  });
}

export function writeFlows(folder: string): void {
  for (let number = 0; number < FLOWS; number += 1) writeEcho(folder, `flow${number}`);
}

export function writeEcho(folder: string, name: string): void {
  writeFileSync(join(folder, `plugins/${name}.ts`), ECHO);
}
