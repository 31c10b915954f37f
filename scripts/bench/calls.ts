import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Contestant } from "./contestant.ts";
import type { LoadOrder, LoadResult } from "./load.ts";

/** Calls of a contestant: the load generator in a process of its own, and what it sends. */

/** What one contestant showed in one round; names of figures with their units. */
export type Figures = Record<string, number>;

/** About 0.2 KB. */
export const PAYLOAD = JSON.stringify({ name: "Ada", items: [1, 2, 3], text: "hello ".repeat(20) });
export const ECHOED = `{"echo":${PAYLOAD}}`;
/** @throws Error where an answer is wrong */
export async function load(
  order: Partial<LoadOrder> & { url: string; seconds: number },
): Promise<LoadResult> {
  const whole: LoadOrder = {
    connections: 32,
    body: PAYLOAD,
    expected: ECHOED,
    is_chain: false,
    ...order,
  };
  const child = spawn("node", [join(import.meta.dirname, "load.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(JSON.stringify(whole));
  const printed = text(child.stdout);
  await once(child, "exit");
  const result = JSON.parse(await printed) as LoadResult;
  if (result.wrong > 0) throw new Error(`${result.wrong} wrong answers from ${whole.url}`);
  return result;
}

export async function using<T>(
  contestant: Contestant,
  act: (c: Contestant) => Promise<T>,
): Promise<T> {
  try {
    return await act(contestant);
  } finally {
    await contestant.stop();
  }
}

export const callOf = (url: string, flow: string): string =>
  `${url}/api/latest/webhook/${flow}/call`;
