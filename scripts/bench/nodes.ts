import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPostgres, type PostgresServer } from "../../test/postgres-server.ts";
import type { Figures } from "./alone.ts";
import { measureDatabase, processesOf } from "./database.ts";
import { load } from "./load.ts";
import { measureRemote } from "./remote.ts";
import { callOf, createWebhook, HELD, startService, type Server } from "./server.ts";

/** Services that share a database of PostgreSQL, which runs on the same cores. */

const THREADS = { WORKER_THREADS: 5, FLOW_MAX_CONCURRENT: 4 };
const COUNTS = [1, 2, 3] as const;
/** How long flows sleep, in milliseconds. */
const SLEEPS = [0, 10, 100] as const;
const WARM_SECONDS = 2;
/** Of each node; more than its threads, so that they are what limits. */
const CONNECTIONS = 12;

/** One service; the server of its database ends with it. */
export async function startOnPostgres(): Promise<Server> {
  const postgres = await openPostgres();
  const service = await startService({ ...HELD, DATABASE_URL: await postgres.createDatabase() });
  return {
    ...service,
    processes: () => new Map([...service.processes(), ...processesOf(postgres)]),
    async stop() {
      await service.stop();
      await postgres.stop();
    },
  };
}

/**
 * Calls per second of one, two and three nodes, for flows that sleep; what a call costs their
 * database; and what it costs that another node has an execution.
 */
export async function measureNodes(seconds: number): Promise<Figures> {
  const postgres = await openPostgres();
  try {
    const rates: Record<string, number> = {};
    for (const count of COUNTS)
      for (const [label, rate] of await measureCluster(postgres, count, seconds))
        rates[label] = rate;
    return {
      ...rates,
      "three nodes / one": toRatio(rates),
      ...(await measureDatabase(postgres, seconds)),
      ...(await measureRemote(postgres)),
    };
  } finally {
    await postgres.stop();
  }
}

/** Where threads are the limit. */
function toRatio(rates: Readonly<Record<string, number>>): number {
  const of = (count: number): number => rates[labelOf(count, SLEEPS[2])] ?? Number.NaN;
  return of(3) / of(1);
}

const labelOf = (count: number, ms: number): string => `${count} nodes, flows of ${ms} ms`;

async function measureCluster(
  postgres: PostgresServer,
  count: number,
  seconds: number,
): Promise<[string, number][]> {
  const nodes = await startNodes(postgres, count);
  try {
    const rates: [string, number][] = [];
    for (const ms of SLEEPS) {
      const all = (secs: number) => Promise.all(nodes.map(({ url }) => loadNode(url, ms, secs)));
      await all(WARM_SECONDS);
      const found = await all(seconds);
      const rate = found.reduce((sum, one) => sum + one.rate, 0);
      rates.push([labelOf(count, ms), rate]);
    }
    return rates;
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

async function startNodes(postgres: PostgresServer, count: number): Promise<Server[]> {
  const DATABASE_URL = await postgres.createDatabase();
  const DATA_KEY = randomBytes(32).toString("hex");
  const config = { ...HELD, ...THREADS, DATABASE_URL, DATA_KEY };
  const first = await startService(config, writeSleepers);
  for (const ms of SLEEPS) await createWebhook(first.url, nameOf(ms));
  const others = Array.from({ length: count - 1 }, () => startService(config, writeSleepers, []));
  return [first, ...(await Promise.all(others))];
}

const nameOf = (ms: number): string => `sleep${ms}`;

function writeSleepers(folder: string): void {
  for (const ms of SLEEPS)
    writeFileSync(
      join(folder, `plugins/${nameOf(ms)}.ts`),
      `export default async function (flow: { input_value: { json: unknown } }) {
        if (${ms} > 0) await new Promise((resolve) => setTimeout(resolve, ${ms}));
        return { echo: flow.input_value.json };
      }`,
    );
}

function loadNode(url: string, ms: number, seconds: number) {
  return load({ url: callOf(url, nameOf(ms)), seconds, connections: CONNECTIONS });
}
