import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ECHOED, load, PAYLOAD, using, type Figures } from "./calls.ts";
import { callOf, createWebhook, ECHO, request, startService } from "./contestant.ts";
import { fillHistory } from "./history.ts";

/** How the cost of a call grows with what there is; each figure is calls per second. */

const HELD = { SYNC_MODE: "hold" };

async function rateOf(url: string, seconds: number, more: Partial<Parameters<typeof load>[0]>) {
  const order = { url: callOf(url, "echo"), ...more };
  await load({ ...order, seconds: 1 });
  return load({ ...order, seconds });
}

const CONNECTIONS = [1, 8, 32, 128, 512];

async function measureConnections(seconds: number): Promise<Figures> {
  return using(await startService(HELD), async ({ url }) => {
    const figures: Figures = {};
    await load({ url: callOf(url, "echo"), seconds: 2 });
    for (const connections of CONNECTIONS)
      figures[`connections ${connections}`] = (await rateOf(url, seconds, { connections })).rate;
    return figures;
  });
}

const BODY_KB = [0.2, 2, 20, 200];

async function measureBodies(seconds: number): Promise<Figures> {
  return using(await startService(HELD), async ({ url }) => {
    const figures: Figures = {};
    for (const kb of BODY_KB) {
      const body = JSON.stringify({ text: "x".repeat(kb * 1024 - 11) });
      const { rate } = await rateOf(url, seconds, { body, expected: `{"echo":${body}}` });
      figures[`body ${kb} KB`] = rate;
    }
    return figures;
  });
}

const ROWS = [0, 10_000, 1_000_000];

async function measureRows(seconds: number): Promise<Figures> {
  const figures: Figures = {};
  for (const rows of ROWS)
    await using(await startService(HELD), async ({ url, folder }) => {
      fillHistory(folder as string, rows);
      figures[`rows ${rows}`] = (await rateOf(url, seconds, {})).rate;
    });
  return figures;
}

const THREADS = [2, 8, 32];

async function measureThreads(seconds: number): Promise<Figures> {
  const figures: Figures = {};
  for (const threads of THREADS)
    await using(await startService({ ...HELD, WORKER_THREADS: threads }), async ({ url }) => {
      figures[`threads ${threads}`] = (await rateOf(url, seconds, {})).rate;
    });
  return figures;
}

const LARGE = `export default async function () { return "x".repeat(5 * 1024 * 1024); }`;

/** One caller of a flow that answers 5 MB, and what it costs the others. */
async function measureLarge(seconds: number): Promise<Figures> {
  const plugins = { "large.ts": LARGE };
  return using(await startService(HELD, toPlugins(plugins)), async ({ url }) => {
    await createWebhook(url, "large");
    const alone = await rateOf(url, seconds, {});
    const order = { url: callOf(url, "large"), expected: null, connections: 1, seconds };
    const [large, beside] = await Promise.all([load(order), rateOf(url, seconds - 1, {})]);
    return {
      "answers of 5 MB per s": large.rate,
      "other p99_ms": beside.p99_ms,
      "other p99_ms, alone": alone.p99_ms,
    };
  });
}

const FLOWS = 500;
const WEBHOOKS = 1000;

/** Many flows and webhooks; and calls while the whole folder is read again. */
async function measureMany(seconds: number): Promise<Figures> {
  const names = Array.from({ length: FLOWS }, (_, number) => `flow${number}.ts`);
  const plugins = Object.fromEntries(names.map((name) => [name, ECHO]));
  const begun = performance.now();
  return using(await startService(HELD, toPlugins(plugins)), async ({ url }) => {
    const start_s = (performance.now() - begun) / 1000;
    for (let number = 0; number < WEBHOOKS; number += 1)
      await request(url, "POST", "/webhook", {
        name: `webhook${number}`,
        flow: `flow${number % FLOWS}`,
      });
    const alone = await rateOf(url, seconds, { expected: ECHOED, body: PAYLOAD });
    const beside = rateOf(url, seconds, {});
    const reloaded = performance.now();
    await request(url, "POST", "/flow/reload");
    const reload_s = (performance.now() - reloaded) / 1000;
    return {
      calls_per_s: alone.rate,
      p99_ms: alone.p99_ms,
      "p99_ms while reloading": (await beside).p99_ms,
      ready_s: start_s,
      reload_s: reload_s,
    };
  });
}

const toPlugins = (files: Readonly<Record<string, string>>) => (folder: string) => {
  mkdirSync(join(folder, "plugins"), { recursive: true });
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, "plugins", name), text);
};

/** Left out unless asked for with --only: they say how the service grows, not how it compares. */
export const SCALES: Readonly<Record<string, (seconds: number) => Promise<Figures>>> = {
  connections: measureConnections,
  bodies: measureBodies,
  rows: measureRows,
  threads: measureThreads,
  large: measureLarge,
  many: measureMany,
};
