import { spawn } from "node:child_process";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import {
  BINARY,
  callOf,
  childrenOf,
  request,
  residentBytes,
  startFloor,
  startService,
  type Contestant,
} from "./contestant.ts";
import { load, using, type Figures } from "./calls.ts";
import { fillHistory } from "./history.ts";
import { SCALES } from "./scale.ts";

const HELD = { SYNC_MODE: "hold" };

/** Of a round: short, so that a machine that drifts is the same for both that take turns. */
const SLICE_S = 1;

/** What one slice showed; `beside` is the contestant that it takes turns with. */
export interface Sample {
  readonly own: Figures;
  readonly beside: Figures | null;
}

/** Calls per second at 32 connections. */
async function measureRate(url: string): Promise<Figures> {
  const { rate, p99_ms } = await load({ url, seconds: SLICE_S });
  return { calls_per_s: rate, p99_ms };
}

/** The same, and the latency of a single connection. */
async function measureBoth(url: string): Promise<Figures> {
  const { p50_ms } = await load({ url, seconds: SLICE_S, connections: 1 });
  return { ...(await measureRate(url)), single_p50_ms: p50_ms };
}

async function measureRedirect(url: string): Promise<Figures> {
  const { rate, p99_ms } = await load({ url, is_chain: true, seconds: SLICE_S });
  return { calls_per_s: rate, p99_ms };
}

/** Accepted and run: the time goes on until nothing waits any more. */
async function measureAsync(url: string): Promise<Figures> {
  const order = { url: `${url}?async`, expected: null, seconds: SLICE_S };
  const { rate, answers, seconds, ended_at } = await load(order);
  await untilIdle(new URL(url).origin);
  const whole = seconds + (Date.now() - ended_at) / 1000;
  return { accepted_per_s: rate, calls_per_s: answers / whole };
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

async function startWithHistory(): Promise<Contestant> {
  // Older than anybody keeps them: none is deleted meanwhile.
  const contestant = await startService({ ...HELD, RETENTION_DAYS: 36_500 });
  fillHistory(contestant.folder as string, HISTORY);
  return contestant;
}

const PAGES = 5;

/** Once the reader's thread is there: it starts with the first list that anybody asks for. */
async function measureFirstPage({ url }: Contestant): Promise<Figures> {
  await request(url, "GET", "/execution");
  const begun = performance.now();
  for (let page = 0; page < PAGES; page += 1) await request(url, "GET", "/execution");
  return { first_page_ms: (performance.now() - begun) / PAGES };
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

/** A contestant whose rate is compared with another's. */
interface Rated {
  start(): Promise<Contestant>;
  /** One slice of a round. */
  measure(url: string): Promise<Figures>;
  /** With which contestant, null: with none. Both are there, and take turns slice by slice. */
  readonly beside: string | null;
  /** What else there is to see at the end of a round. */
  look?(contestant: Contestant): Promise<Figures>;
}

const floor = (name: string, beside: string | null): Rated => ({
  start: () => startFloor(name),
  measure: measureRate,
  beside,
});

const service = (config: Record<string, string | number>, rest: Omit<Rated, "start">): Rated => ({
  start: () => startService({ ...HELD, ...config }),
  ...rest,
});

const RATED: Readonly<Record<string, Rated>> = {
  "floor-node": floor("floor-node", null),
  "floor-http": floor("floor-http", "floor-node"),
  "floor-pool": floor("floor-pool", "floor-http"),
  hold: service({}, { measure: measureBoth, beside: "floor-pool" }),
  "hold-normal": service({ DURABILITY: "normal" }, { measure: measureBoth, beside: "floor-pool" }),
  redirect: service({ SYNC_MODE: "redirect" }, { measure: measureRedirect, beside: "hold" }),
  async: service(
    { MAX_QUEUED_EXECUTIONS: 1_000_000 },
    { measure: measureAsync, beside: "floor-pool" },
  ),
  history: {
    start: startWithHistory,
    measure: measureRate,
    beside: "hold",
    look: measureFirstPage,
  },
};

/** Before it counts: code is compiled, threads are there. */
const WARM_SLICES = 4;

async function measureRated(rated: Rated, slices: number): Promise<Sample[]> {
  const other = rated.beside === null ? null : (RATED[rated.beside] as Rated);
  return using(await rated.start(), async (contestant) => {
    if (other === null) return takeTurns(rated, slices, contestant, null);
    return using(await other.start(), (beside) => takeTurns(rated, slices, contestant, beside));
  });
}

async function takeTurns(
  rated: Rated,
  slices: number,
  contestant: Contestant,
  beside: Contestant | null,
): Promise<Sample[]> {
  const measureOther = rated.measure === measureBoth ? measureBoth : measureRate;
  const takeTurn = async (): Promise<Sample> => ({
    own: await rated.measure(contestant.call),
    beside: beside === null ? null : await measureOther(beside.call),
  });
  for (let slice = 0; slice < WARM_SLICES; slice += 1) await takeTurn();
  const samples: Sample[] = [];
  while (samples.length < slices) samples.push(await takeTurn());
  const more = await rated.look?.(contestant);
  return more === undefined ? samples : [...samples, { own: more, beside: null }];
}

const rated = Object.entries(RATED).map(
  ([name, one]) => [name, (slices: number) => measureRated(one, slices)] as const,
);

const alone = (measure: (seconds: number) => Promise<Figures>) => async (seconds: number) => [
  { own: await measure(seconds), beside: null },
];

const others: Readonly<Record<string, (seconds: number) => Promise<Figures>>> = {
  "idle-10k": async (seconds) =>
    using(await startService({ ...HELD, MAX_QUEUED_EXECUTIONS: 20_000 }), (contestant) =>
      measureIdle(contestant, seconds),
    ),
  start: measureStart,
  ...SCALES,
};

/** The contestants, in the order of a round: what each shows in so many seconds, or slices. */
export const CONTESTANTS: Readonly<Record<string, (seconds: number) => Promise<Sample[]>>> =
  Object.fromEntries([
    ...rated,
    ...Object.entries(others).map(([name, measure]) => [name, alone(measure)] as const),
  ]);
