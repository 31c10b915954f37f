import assert from "node:assert/strict";
import type { Answer } from "../blackbox/client.ts";
import type { TestService } from "./test-service.ts";
import { figure } from "./sizes.ts";

/**
 * Calls the webhook "other" again and again while something is done. Where that stopped the loop,
 * one of the calls would take nearly as long.
 */
export async function assertAside(
  service: TestService,
  name: string,
  status: number,
  act: () => Promise<Answer>,
): Promise<Answer> {
  await service.call("other");
  let isDone = false;
  const begun = performance.now();
  const acting = act().finally(() => (isDone = true));
  const took: number[] = [];
  while (!isDone) {
    const at = performance.now();
    const answer = await service.call("other");
    assert.equal(answer.status, 200, answer.text);
    took.push(performance.now() - at);
  }
  const answer = await acting;
  const whole = performance.now() - begun;
  const longest = Math.max(...took);
  figure(`${name}: whole ${whole.toFixed(0)} ms, longest call beside`, longest, "ms");
  assert.equal(answer.status, status, answer.text.slice(0, 300));
  // What is quick enough stops nobody.
  assert.ok(longest < Math.max(whole * 0.8, 150), `${longest} ms of ${whole} ms`);
  return answer;
}
