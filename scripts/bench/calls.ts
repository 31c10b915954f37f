import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Contestant } from "./contestant.ts";
import type { LoadOrder, LoadResult } from "./load.ts";

/** Calls of a contestant: the load generator in a process of its own, and what it sends. */

/** What one contestant showed in one round; names of figures with their units. */
export type Figures = Record<string, number>;

/** About 0.2 KB. */
export const PAYLOAD = JSON.stringify({ name: "Ada", items: [1, 2, 3], text: "hello ".repeat(20) });
export const ECHOED = `{"echo":${PAYLOAD}}`;

/** A process that sends calls, one order after the other. */
interface Generator {
  readonly child: ChildProcess;
  readonly answers: AsyncIterator<string>;
}

const idle: Generator[] = [];

function startGenerator(): Generator {
  const child = spawn("node", [join(import.meta.dirname, "load.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  return { child, answers: lines[Symbol.asyncIterator]() };
}

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
  const generator = idle.pop() ?? startGenerator();
  generator.child.stdin?.write(`${JSON.stringify(whole)}\n`);
  const { value, done } = await generator.answers.next();
  if (done === true) throw new Error("The load generator has ended");
  idle.push(generator);
  const result = JSON.parse(value) as LoadResult;
  if (result.wrong > 0) throw new Error(`${result.wrong} wrong answers from ${whole.url}`);
  return result;
}

/** Ends the processes that sent the calls. */
export function stopLoad(): void {
  for (const { child } of idle) child.stdin?.end();
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
