import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isEnded } from "../../src/shared/contract/status.ts";
import type { PostgresServer } from "../../test/postgres-server.ts";
import type { Figures } from "./alone.ts";
import { median } from "./quartiles.ts";
import { callOf, request, startService, type Server } from "./server.ts";

/** What it costs a call that another node has its execution, with nothing else to do. */

const FLOW = "wait";
/** Sleeps for as long as it is told. */
const CODE = `export default async function (flow: { input_value: { json: { ms: number } } }) {
  await new Promise((resolve) => setTimeout(resolve, flow.input_value.json.ms));
  return null;
}`;
/** Long enough for a second leg to come before the end; and for all that waits to have moved. */
const [LEG_MS, BUSY_MS] = [200, 120_000];
const [LEGS, MOVES] = [30, 10];
const POLL_MS = 20;

export async function measureRemote(postgres: PostgresServer): Promise<Figures> {
  const DATABASE_URL = await postgres.createDatabase();
  const DATA_KEY = randomBytes(32).toString("hex");
  const config = { SYNC_MODE: "redirect", FLOW_MAX_CONCURRENT: 1, DATABASE_URL, DATA_KEY };
  const write = (folder: string): void => writeFileSync(join(folder, `plugins/${FLOW}.ts`), CODE);
  const first = await startService(config, write, [FLOW]);
  const second = await startService(config, write, []);
  try {
    // Both have a thread for it then.
    for (const node of [first, second]) await timeCall(node, node);
    return { ...(await measureLegs(first, second)), ...(await measureMoves(first)) };
  } finally {
    await Promise.all([first.stop(), second.stop()]);
  }
}

async function measureLegs(first: Server, second: Server): Promise<Figures> {
  const [same, other]: [number[], number[]] = [[], []];
  for (let count = 0; count < LEGS; count += 1) {
    same.push(await timeCall(first, first));
    other.push(await timeCall(first, second));
  }
  return { "leg on another node, added p50 ms": median(other) - median(same) };
}

/** Milliseconds from a call to the answer of its second leg. */
async function timeCall({ url }: Server, leg: Server): Promise<number> {
  const begun = performance.now();
  const { status, headers } = await call(url, LEG_MS);
  if (status !== 303) throw new Error(`A call was answered with ${status}`);
  const second = new URL(headers.get("location") ?? "", callOf(leg.url, FLOW));
  const answer = await fetch(second, { redirect: "manual" });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`The second leg was answered with ${answer.status}`);
  return performance.now() - begun;
}

function call(url: string, ms: number, query = ""): Promise<Response> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ ms });
  return fetch(callOf(url, FLOW) + query, { method: "POST", headers, body, redirect: "manual" });
}

/** Executions that wait for the only thread of their flow, until the other node has them. */
async function measureMoves({ url }: Server): Promise<Figures> {
  await call(url, BUSY_MS, "?async");
  const times: number[] = [];
  while (times.length < MOVES) {
    const answer = await call(url, 0, "?async");
    times.push(await timeWait(url, await answer.text()));
  }
  return { "PENDING to RUNNING elsewhere, p50 ms": median(times) };
}

async function timeWait(url: string, id: string): Promise<number> {
  for (;;) {
    const { status, created_at, started_at } = await request(url, "GET", `/execution/${id}`);
    if (status === "ENDED_SUCCESS")
      return Date.parse(String(started_at)) - Date.parse(String(created_at));
    if (isEnded(String(status))) throw new Error(`Execution "${id}" is ${String(status)}`);
    await sleep(POLL_MS);
  }
}
