import { setTimeout as sleep } from "node:timers/promises";
import { FAILURES } from "../../src/shared/contract/status.ts";
import type { Figures } from "./alone.ts";
import { CONTESTANTS, SERVERS, type Contestant } from "./contestants.ts";
import { readCpu, readMachine, toCpuPerCall, toShares } from "./cpu.ts";
import { load, wake } from "./load.ts";
import { request, type Server } from "./server.ts";

/** Turns: all contestants are started, then loaded one after the other in short slices. */

export const MEASURES = [
  "calls_per_s",
  "p50_ms",
  "p99_ms",
  "cpu_us",
  "idle_percent",
  "stolen_percent",
] as const;
export type Measure = (typeof MEASURES)[number];

/**
 * What one slice showed. Percentiles are of single requests, and null if a call is more than one;
 * the CPU time of a call is that of all processes, and null if the system does not tell. How much of
 * the machine was idle, and how much other machines had of it, says what the rates are worth.
 */
export interface Slice extends Readonly<Record<Measure, number | null>> {
  /** CPU microseconds a call by thread. */
  readonly threads: Readonly<Record<string, number>>;
}

/** Of each server, once it is started: its threads are there, and the engine has made it fast. */
const WARM_S = 15;

/**
 * Rounds of one slice for each, after one that does not count. Every other round goes backwards, so
 * that nobody always follows the same one.
 */
export async function runRounds(
  names: readonly string[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<{ slices: Map<string, Slice[]>; figures: Map<string, Figures> }> {
  const slices = new Map<string, Slice[]>(names.map((name) => [name, []]));
  const servers = new Map<string, Server>();
  try {
    for (const name of names) await startAndWarm(name, servers);
    for (let round = 0; round <= rounds && names.length > 0; round += 1) {
      process.stderr.write(`round ${round} of ${rounds}\n`);
      for (const name of round % 2 === 0 ? names.toReversed() : names) {
        const slice = await takeSlice(name, servers, seconds);
        if (round > 0) slices.get(name)?.push(slice);
      }
    }
    const history = servers.get("history");
    const figures =
      history === undefined ? [] : [["history", await timeFirstPage(history)] as const];
    return { slices, figures: new Map(figures) };
  } finally {
    for (const server of servers.values()) await server.stop();
  }
}

async function startAndWarm(name: string, servers: Map<string, Server>): Promise<void> {
  const { server } = CONTESTANTS[name] as Contestant;
  if (servers.has(server)) return;
  process.stderr.write(`starting ${server}\n`);
  servers.set(server, await (SERVERS[server] as () => Promise<Server>)());
  await takeSlice(name, servers, WARM_S);
}

async function takeSlice(
  name: string,
  servers: ReadonlyMap<string, Server>,
  seconds: number,
): Promise<Slice> {
  const { server: started, order, isAsync = false } = CONTESTANTS[name] as Contestant;
  const server = servers.get(started) as Server;
  const url = isAsync ? `${server.call}?async` : server.call;
  // Servers that wait for their turn keep their threads.
  for (const other of servers.values())
    await wake({ url: other.call, connections: 1, isChain: true });
  await wake({ ...order, url });
  if (isAsync) await untilIdle(server.url);
  const before = readCpu(server.processes());
  const machine = readMachine();
  const result = await load({ ...order, url, seconds });
  const shares = toShares(machine, readMachine());
  if (isAsync) await untilIdle(server.url);
  const after_s = isAsync ? (Date.now() - result.ended_at) / 1000 : 0;
  const threads = toCpuPerCall(before, readCpu(server.processes()), result.calls);
  if (isAsync) await requireSuccess(server.url);
  const cpu = Object.values(threads);
  const isRequest = !isAsync && order?.isChain !== true;
  return {
    calls_per_s: result.calls / (result.seconds + after_s),
    p50_ms: isRequest ? result.p50_ms : null,
    p99_ms: isRequest ? result.p99_ms : null,
    cpu_us: cpu.length === 0 ? null : cpu.reduce((sum, us) => sum + us, 0),
    ...shares,
    threads,
  };
}

async function untilIdle(url: string): Promise<void> {
  for (;;) {
    const { executions } = await request(url, "GET", "/workspace");
    const { running, waiting } = executions as { running: number; waiting: number };
    if (running + waiting === 0) return;
    await sleep(25);
  }
}

/** Of all that have run so far: an answer that comes before says nothing. */
async function requireSuccess(url: string): Promise<void> {
  const { items } = await request(url, "GET", `/execution?limit=1&status=${FAILURES.join(",")}`);
  const [failed] = items as { id: string; status: string }[];
  if (failed !== undefined) throw new Error(`Execution "${failed.id}" is ${failed.status}`);
}

const PAGES = 5;

/** The thread that reads lists is started by the first of them. */
async function timeFirstPage({ url }: Server): Promise<Figures> {
  await request(url, "GET", "/execution");
  const begun = performance.now();
  for (let page = 0; page < PAGES; page += 1) await request(url, "GET", "/execution");
  return { first_page_ms: (performance.now() - begun) / PAGES };
}
