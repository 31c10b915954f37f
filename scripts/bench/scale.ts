import { FLOWS, writeEcho, writeFlows, type Figures } from "./alone.ts";
import { fillHistory } from "./history.ts";
import { load, toBody, type Order } from "./load.ts";
import { measureNodes } from "./nodes.ts";
import { measureRuns } from "./runs.ts";
import { callOf, HELD, request, startService, using } from "./server.ts";

/** How the cost of a call grows with what there is; figures without a unit are calls per second. */

/** A service of its own, with so much of what grows. */
interface Size {
  readonly order?: Partial<Order>;
  readonly rows?: number;
  readonly threads?: number;
  /** Each with a webhook; calls go to them by turns. */
  readonly flows?: number;
}

const grow = <T>(unit: string, values: readonly T[], toSize: (value: T) => Size) =>
  values.map((value) => [`${String(value)} ${unit}`, toSize(value)] as const);

const SIZES = {
  connections: grow("connections", [1, 8, 32, 128, 512], (connections) => ({
    order: { connections },
  })),
  bodies: grow("KB", [0.2, 2, 20, 200], (kb) => ({ order: { body: toBody(kb) } })),
  rows: grow("rows", [0, 10_000, 1_000_000], (rows) => ({ rows })),
  threads: grow("threads", [2, 8, 32], (threads) => ({ threads })),
  // The last is beyond WARM_THREADS of two cores.
  flows: grow("flows", [1, 4, 16, 24], (flows) => ({ flows, order: { connections: 64 } })),
};

async function measureSizes(sizes: readonly (readonly [string, Size])[], seconds: number) {
  const figures: Record<string, number> = {};
  for (const [label, size] of sizes) figures[label] = await measureSize(size, seconds);
  return figures;
}

async function measureSize(size: Size, seconds: number): Promise<number> {
  const { order = {}, rows = 0, threads, flows } = size;
  const config = threads === undefined ? HELD : { ...HELD, WORKER_THREADS: threads };
  const names = flows === undefined ? undefined : toNames(flows);
  const write = (folder: string) => names?.forEach((name) => writeEcho(folder, name));
  return using(await startService(config, write, names), async ({ url, folder }) => {
    if (rows > 0) fillHistory(folder as string, rows);
    if (flows === undefined) return (await warmAndLoad(url, seconds, order)).rate;
    const turns = { ...order, url: callOf(url, "echo0"), webhooks: flows };
    return (await warmAndLoad(url, seconds, turns)).rate;
  });
}

const toNames = (flows: number) => Array.from({ length: flows }, (_, number) => `echo${number}`);

async function warmAndLoad(url: string, seconds: number, more: Partial<Order> = {}) {
  const order = { url: callOf(url, "echo"), ...more };
  await load({ ...order, seconds: 3 });
  return load({ ...order, seconds });
}

const WEBHOOKS = 1000;

/** Many flows and webhooks; and calls while the whole folder is read again. */
async function measureMany(seconds: number): Promise<Figures> {
  return using(await startService(HELD, writeFlows), async ({ url }) => {
    for (let number = 0; number < WEBHOOKS; number += 1)
      await request(url, "POST", "/webhook", {
        name: `webhook${number}`,
        flow: `flow${number % FLOWS}`,
      });
    const alone = await warmAndLoad(url, seconds);
    const beside = load({ url: callOf(url, "echo"), seconds });
    const reloaded = performance.now();
    await request(url, "POST", "/flow/reload");
    const reload_s = (performance.now() - reloaded) / 1000;
    return {
      calls_per_s: alone.rate,
      p99_ms: alone.p99_ms,
      "p99_ms while reloading": (await beside).p99_ms,
      reload_s,
    };
  });
}

/** Left out unless asked for with --only: they say how the service grows, not how it compares. */
export const SCALES: Readonly<Record<string, (seconds: number) => Promise<Figures>>> = {
  connections: (seconds) => measureSizes(SIZES.connections, seconds),
  bodies: (seconds) => measureSizes(SIZES.bodies, seconds),
  rows: (seconds) => measureSizes(SIZES.rows, seconds),
  threads: (seconds) => measureSizes(SIZES.threads, seconds),
  flows: (seconds) => measureSizes(SIZES.flows, seconds),
  runs: measureRuns,
  many: measureMany,
  nodes: (seconds) => measureNodes(seconds + 2),
};
