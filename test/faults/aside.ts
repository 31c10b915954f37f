import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import type { Answer } from "../blackbox/client.ts";
import { readCpu, type TestService } from "./test-service.ts";
import { figure } from "./sizes.ts";

/** Whoever looks at the server and was held up so long himself has seen nothing, in milliseconds. */
const HELD_UP_MS = 100;

/**
 * Calls the webhook "other" again and again while something is done, and asks the server whether it
 * lives. Where what is done stopped the loop, that would spend nearly all of its work before one of
 * these answers. Work is counted, not time: a process or a disk that pauses holds up anything.
 */
export async function assertAside(
  service: TestService,
  name: string,
  status: number,
  act: () => Promise<Answer>,
): Promise<Answer> {
  await service.call("other");
  let isDone = false;
  const spent = readCpu(service.pid);
  const begun = performance.now();
  const acting = act().finally(() => (isDone = true));
  const [took, works] = await Promise.all([
    callOther(service, () => isDone),
    lookAtLoop(service, () => isDone),
  ]);
  const answer = await acting;
  const whole = readCpu(service.pid) - spent;
  const longest = Math.max(...took);
  const most = Math.max(0, ...works);
  const ms = (performance.now() - begun).toFixed(0);
  figure(`${name}: whole ${ms} ms, longest call beside`, longest, "ms");
  figure(`${name}: work ${whole} ms, most of the loop at once`, most, "ms");
  assert.equal(answer.status, status, answer.text.slice(0, 300));
  // What is quick enough stops nobody.
  assert.ok(most < Math.max(whole * 0.8, 130), `${most} ms of ${whole} ms`);
  return answer;
}

/** @returns how long each call took */
async function callOther(service: TestService, isDone: () => boolean): Promise<number[]> {
  const took: number[] = [];
  while (!isDone()) {
    const at = performance.now();
    const answer = await service.call("other");
    assert.equal(answer.status, 200, answer.text);
    took.push(performance.now() - at);
  }
  return took;
}

/** @returns what the loop of the server worked between each question and its answer */
async function lookAtLoop(service: TestService, isDone: () => boolean): Promise<number[]> {
  const works: number[] = [];
  using self = watchSelf();
  while (!isDone()) {
    self.longest();
    const at = readCpu(service.pid, "main");
    await service.assertAlive();
    const work = readCpu(service.pid, "main") - at;
    // The server goes on working while nobody here reads its answer.
    if (self.longest() < HELD_UP_MS) works.push(work);
    await wait(5);
  }
  return works;
}

/** How long this process was held up at most, since that was asked last. */
function watchSelf() {
  let last = performance.now();
  let longest = 0;
  const note = (): void => {
    const at = performance.now();
    longest = Math.max(longest, at - last);
    last = at;
  };
  const timer = setInterval(note, 5);
  return {
    longest(): number {
      note();
      const found = longest;
      longest = 0;
      return found;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
