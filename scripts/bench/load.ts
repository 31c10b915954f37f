import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnOwn } from "./server.ts";

/** Calls to a server: a load generator in a process of its own, and checks of answers beside it. */

export interface Order {
  readonly url: string;
  /** Whole seconds: wrk knows no others. */
  readonly seconds: number;
  readonly connections: number;
  readonly body: string;
  /** The text that every answer must have; null: it differs from call to call. */
  readonly expected: string | null;
  /** A 303 is followed to the second leg, and the chain counts once. */
  readonly isChain: boolean;
  /** Calls go by turns to so many webhooks: echo0, which is the one of the URL, echo1 and so on. */
  readonly webhooks: number;
}

/** What the load generator prints. */
interface Generated {
  readonly answers: number;
  /** Errors, and calls without an answer. */
  readonly wrong: number;
  readonly seconds: number;
  /** Of single requests, also where they are legs of a chain. */
  readonly p50_ms: number;
  readonly p99_ms: number;
}

export interface LoadResult extends Generated {
  /** All of them, those that were checked beside among them. */
  readonly calls: number;
  /** Calls per second. */
  readonly rate: number;
  /** When the last answer had come, in milliseconds since the epoch. */
  readonly ended_at: number;
}

/** About 0.2 KB. */
const PAYLOAD = JSON.stringify({ name: "Ada", items: [1, 2, 3], text: "hello ".repeat(20) });

export const toBody = (kb: number): string =>
  JSON.stringify({ text: "x".repeat(kb * 1024 - '{"text":""}'.length) });

const HAS_WRK = spawnSync("wrk", ["-v"]).error === undefined;

export const GENERATOR = HAS_WRK
  ? (/^wrk [^ ]*/.exec(spawnSync("wrk", ["-v"], { encoding: "utf8" }).stdout)?.[0] ?? "wrk")
  : "autocannon, because wrk is missing (apt-get install wrk): it takes the core that the service " +
    "needs, so the ratios are too kind";

/** @throws Error if an answer is wrong */
export async function load(
  asked: Partial<Order> & { url: string; seconds: number },
): Promise<LoadResult> {
  const order = toOrder(asked);
  const over = new AbortController();
  const generated = generate(order).finally(() => over.abort());
  const [result, checked] = await Promise.all([generated, checkBeside(order, over.signal)]);
  if (result.answers === 0) throw new Error(`No answers from ${order.url}`);
  if (result.wrong > 0) throw new Error(`${result.wrong} wrong answers from ${order.url}`);
  const calls = result.answers + checked;
  return { ...result, calls, rate: calls / result.seconds };
}

function toOrder(asked: Partial<Order> & { url: string; seconds: number }): Order {
  const { body = PAYLOAD } = asked;
  const expected = `{"echo":${body}}`;
  return { connections: 32, body, expected, isChain: false, webhooks: 1, ...asked };
}

async function generate(order: Order) {
  const [program, ...args] = toCommand(order);
  const child = spawnOwn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin?.end(order.body);
  const printed = await text(child.stdout as NodeJS.ReadableStream);
  const ended_at = Date.now();
  const line = printed.split("\n").find((found) => found.startsWith("{"));
  if (line === undefined) throw new Error(`No result of the load on ${order.url}: ${printed}`);
  return { ...(JSON.parse(line) as Generated), ended_at };
}

function toCommand(order: Order): [string, ...string[]] {
  const { url, connections, seconds, isChain, webhooks } = order;
  const mode = isChain ? ["chain"] : webhooks > 1 ? [`${webhooks}`] : [];
  const file = (name: string) => join(import.meta.dirname, name);
  if (!HAS_WRK)
    return ["node", file("autocannon.ts"), url, `${connections}`, `${seconds}`, ...mode];
  const size = ["-t1", `-c${connections}`, `-d${seconds}`, "--timeout", "60"];
  return ["wrk", ...size, "-s", file("load.lua"), url, "--", ...mode];
}

const CHECK_EVERY_MS = 50;

/** Few calls, so that they do not take the core; none beside a single connection. */
async function checkBeside(order: Order, over: AbortSignal): Promise<number> {
  let checked = 0;
  while (!over.aborted && order.connections > 1) {
    await check(order);
    checked += 1;
    await sleep(CHECK_EVERY_MS, null, { signal: over }).catch(() => {});
  }
  return checked;
}

async function check({ url, body, expected, isChain }: Order): Promise<void> {
  const headers = { "content-type": "application/json" };
  const redirect = isChain ? "follow" : "manual";
  const answer = await fetch(url, { method: "POST", headers, body, redirect });
  const found = await answer.text();
  if (answer.ok && (expected === null || found === expected)) return;
  throw new Error(`Wrong answer from ${url}: ${answer.status} ${found.slice(0, 200)}`);
}

/** Calls at once, before a slice: a server that waited for its turn is awake, and answers right. */
export async function wake(asked: Partial<Order> & { url: string }): Promise<void> {
  const order = toOrder({ seconds: 1, ...asked });
  const calls = Array.from({ length: Math.min(order.connections, 32) }, () => check(order));
  await Promise.all(calls);
}
