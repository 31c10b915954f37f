import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ActiveExecution } from "../../src/server/executions/active.ts";
import { RunQueue } from "../../src/server/executions/run-queue.ts";
import { WebhookQueue, type ConcurrencyLimits } from "../../src/server/executions/webhook-queue.ts";
import { RequestError } from "../../src/shared/errors.ts";
import type { Run } from "../../src/server/workers/worker.ts";
import type { ExecutionRow } from "../../src/server/store/execution-row.ts";

const NONE: ConcurrencyLimits = { max_concurrent: null, when_busy: "queue", max_queued: null };

/** A queue, what it has passed on in order, and what of that has not ended. */
function openQueue(limits: Partial<ConcurrencyLimits>) {
  const passed: Run[] = [];
  const queue = new WebhookQueue<ActiveExecution>((run) => passed.push(run));
  queue.limit({ ...NONE, ...limits });
  let count = 0;
  function add(): ActiveExecution & { readonly run: Run } {
    const execution = new ActiveExecution(
      { id: `e${(count += 1)}` } as ExecutionRow,
      undefined,
      null,
    );
    const run = { id: execution.id, flow: "f", link: null } as Run;
    execution.run = run;
    queue.add(execution, run);
    return Object.assign(execution, { run });
  }
  return { queue, passed, add };
}

test("runs pass in the order in which they came, never more than may run", () => {
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ type: "add" } as const) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant("end" as const), at: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("cancel" as const), at: fc.nat(9) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("limit" as const),
        at: fc.integer({ min: 1, max: 5 }),
      }),
    },
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 100 }), (acts) => {
      let most = 2;
      const { queue, passed, add } = openQueue({ max_concurrent: most });
      let waiting: Run[] = [];
      let running: Run[] = [];
      /** What a queue on paper does. */
      function pass(): Run[] {
        const next = waiting.splice(0, Math.max(0, most - running.length));
        running.push(...next);
        return next;
      }
      const expected: Run[] = [];
      for (const one of acts) {
        if (one.type === "add") waiting.push(add().run);
        else if (one.type === "limit") queue.limit({ ...NONE, max_concurrent: (most = one.at) });
        else {
          const list = one.type === "end" ? running : waiting;
          const run = list[one.at % Math.max(1, list.length)];
          if (run === undefined) continue;
          assert.equal(queue.leave(run), one.type === "cancel", "whether it was held back");
          running = running.filter((other) => other !== run);
          waiting = waiting.filter((other) => other !== run);
        }
        expected.push(...pass());
        assert.deepEqual(
          passed.map(({ id }) => id),
          expected.map(({ id }) => id),
        );
        assert.equal(queue.held, waiting.length);
      }
    }),
  );
});

test("it is busy while as many have not ended as may run, and tells when to come again", () => {
  const { queue, add } = openQueue({ max_concurrent: 2, when_busy: "refuse" });
  const first = add();
  queue.requireRoom(true, 0);
  queue.started(first);
  add();
  const retryAfter = (meanMs: number): string | undefined => {
    try {
      queue.requireRoom(true, meanMs);
    } catch (error) {
      assert.ok(error instanceof RequestError && error.code === "webhook_busy");
      return error.headers["retry-after"];
    }
    return undefined;
  };
  assert.deepEqual([0, 1400, 1e9].map(retryAfter), ["1", "2", "60"]);
  queue.ended(first);
  assert.equal(retryAfter(0), undefined, "its ending counts, though its thread may be busy yet");
});

test("what was not replaced after all has its turn before what came meanwhile", () => {
  const { queue, passed, add } = openQueue({ max_concurrent: 1, when_busy: "replace" });
  const [running, waiting] = [add(), add()];
  queue.started(running);
  queue.leave(waiting.run);
  queue.ended(waiting);
  const next = add();
  queue.add(waiting, waiting.run, true);
  assert.deepEqual(queue.listReplaceable(), [next, waiting]);
  for (const { run } of [running, waiting]) queue.leave(run);
  assert.deepEqual(passed, [running.run, waiting.run, next.run]);
});

test("what was passed and not replaced after all is passed again", () => {
  const { queue, passed, add } = openQueue({ when_busy: "replace" });
  const waiting = add();
  queue.leave(waiting.run);
  queue.ended(waiting);
  const next = add();
  queue.add(waiting, waiting.run, true);
  assert.deepEqual(passed, [waiting.run, next.run, waiting.run]);
});

test("what has come back from a thread waits again", () => {
  const { queue, add } = openQueue({ when_busy: "replace" });
  const execution = add();
  assert.deepEqual([queue.waiting, queue.running], [1, 0]);
  queue.started(execution);
  assert.deepEqual([queue.waiting, queue.running], [0, 1]);
  assert.deepEqual(queue.listReplaceable(), []);
  queue.returned(execution);
  assert.deepEqual(queue.listReplaceable(), [execution]);
  queue.ended(execution);
  assert.deepEqual([queue.waiting, queue.running], [0, 0]);
});

test("limits that come later count what runs already", () => {
  const { queue, passed, add } = openQueue({});
  const [first, second] = [add(), add()];
  queue.started(first);
  const limited = new WebhookQueue<ActiveExecution>((run) => passed.push(run));
  for (const execution of [first, second])
    limited.adopt(Object.assign(execution, { recordedStart: execution === first ? 1 : null }));
  limited.limit({ ...NONE, max_concurrent: 2 });
  assert.deepEqual([limited.waiting, limited.running, limited.isFree], [1, 1, false]);
  const again = new WebhookQueue<ActiveExecution>((run) => passed.push(run));
  const ended = {
    id: second.id,
    status: "ENDED_CANCELLED",
  } as unknown as ActiveExecution["decided"];
  again.adopt(Object.assign(second, { decided: ended }));
  again.limit({ ...NONE, max_concurrent: 1 });
  assert.deepEqual([again.waiting, again.running, again.isFree], [0, 0, true], "it is replaced");
});

test("limits that come later count what was handed to a thread before and waits again", () => {
  const { queue, add } = openQueue({});
  const runs = new RunQueue();
  const execution = Object.assign(add(), { recordedStart: 1 });
  queue.started(execution);
  runs.push(execution.run);
  const limited = new WebhookQueue<ActiveExecution>(() => {});
  limited.adopt(execution);
  limited.limit({ ...NONE, max_concurrent: 1 });
  assert.deepEqual([limited.waiting, limited.running, limited.isFree], [1, 0, false]);
  runs.remove(execution.run);
  limited.started(execution);
  assert.deepEqual([limited.waiting, limited.running], [0, 1]);
});

test("what the store holds back waits in its order, until it is said that it may start", () => {
  const { queue, passed, add } = openQueue({ max_concurrent: 2 });
  const [first, second, third] = [add(), add(), add()];
  for (const one of [first, second]) queue.started(one);
  for (const one of [second, first]) queue.holdBack(one, one.run);
  assert.deepEqual([queue.isFull, queue.held, queue.running, queue.waiting], [true, 3, 0, 3]);
  assert.equal(add().run.link === null, false, "it waits behind the others");
  passed.length = 0;
  queue.passStartable(0, []);
  assert.equal(passed.length, 0);
  queue.passStartable(1, [second.run]);
  assert.deepEqual(passed, [second.run], "another node may be said to have the first one's turn");
  queue.leave(second.run);
  assert.deepEqual(passed, [second.run, first.run], "the place that it leaves is tried");
  queue.holdBack(first, first.run);
  queue.limit({ ...NONE, max_concurrent: null });
  assert.deepEqual(passed.slice(2, 4), [first.run, third.run]);
  assert.equal(queue.isFull, false);
});

test("who comes when nothing is held back any more is passed", () => {
  const { queue, passed, add } = openQueue({ max_concurrent: 2 });
  for (const leave of [
    (run: Run) => queue.leave(run),
    (run: Run) => queue.passStartable(1, [run]),
  ]) {
    const held = add();
    queue.holdBack(held, held.run);
    assert.ok(queue.isFull);
    leave(held.run);
    passed.length = 0;
    const next = add();
    assert.deepEqual(passed, [next.run]);
    for (const one of [held, next]) queue.leave(one.run);
  }
});
