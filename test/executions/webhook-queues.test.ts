import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ActiveExecution } from "../../src/server/executions/active.ts";
import type { LimitedWebhook } from "../../src/server/executions/webhook-queue.ts";
import { WebhookQueues } from "../../src/server/executions/webhook-queues.ts";
import type { Run } from "../../src/server/workers/worker.ts";

/** Its limits tell its version: so many may run. Deleted, it is in the history without limits. */
function toWebhook(version: number, hasLimits: boolean): LimitedWebhook {
  const limits = { max_concurrent: version, when_busy: "queue", max_queued: null };
  return {
    id: "w",
    name: "w",
    limits: hasLimits ? JSON.stringify(limits) : null,
    modified_at: version,
  };
}

/** How many may run at once; null: as many as there are. */
function mostOf(queues: WebhookQueues): number | null {
  const queue = queues.find("w");
  if (queue === null) return null;
  const added: { execution: ActiveExecution; run: Run }[] = [];
  while (queue.isFree) {
    const execution = {} as ActiveExecution;
    const run = { id: `${added.length}` } as Run;
    queue.add(execution, run);
    added.push({ execution, run });
  }
  for (const { execution, run } of added) {
    queue.ended(execution);
    queue.leave(run);
  }
  return added.length;
}

const ACT = fc.record({
  type: fc.constantFrom("change", "delete", "call", "own", "list", "listed"),
  hasLimits: fc.boolean(),
  /** Which one of what was read and is not applied yet. */
  at: fc.nat(99),
});

test("older limits of a webhook never take the place of newer ones, whoever comes with them", () =>
  fc.assert(
    fc.asyncProperty(fc.array(ACT, { maxLength: 50 }), async (acts) => {
      const queues = new WebhookQueues(() => {}, [], true);
      /** The last is what the store has. */
      const history = [toWebhook(1, false)];
      const stored = () => history.at(-1) as LimitedWebhook;
      const limited = (webhook: LimitedWebhook) => (webhook.limits === null ? [] : [webhook]);
      let isDeleted = false;
      let newest = 0;
      const lists: (() => Promise<void>)[] = [];
      for (const { type, hasLimits, at } of acts) {
        const call = history[at % history.length] as LimitedWebhook;
        if (type === "change" && !isDeleted)
          history.push(toWebhook(stored().modified_at + 1 + (at % 2), hasLimits));
        if (type === "delete" && at < 30 && !isDeleted) {
          isDeleted = true;
          history.push({ ...stored(), limits: null, modified_at: Infinity });
        }
        if (type === "call" && call.modified_at < Infinity) {
          if (call.limits !== null || queues.find("w") !== null)
            newest = Math.max(newest, call.modified_at);
          queues.findNow(call);
        }
        if (type === "own") {
          queues.limit(stored());
          newest = stored().modified_at;
        }
        if (type === "list") {
          const { promise, resolve } = Promise.withResolvers<LimitedWebhook[]>();
          const found = limited(stored());
          const done = queues.limitOnly(() => promise);
          lists.push(() => {
            for (const { modified_at } of found) newest = Math.max(newest, modified_at);
            resolve(found);
            return done;
          });
        }
        if (type === "listed") await lists.splice(at % Math.max(1, lists.length), 1)[0]?.();
        const most = mostOf(queues);
        const later = history.filter(({ modified_at }) => modified_at >= newest);
        if (most !== null) assert.ok(most >= newest, `${type}: ${most} before ${newest}`);
        else assert.ok(newest === 0 || later.some(({ limits }) => limits === null), type);
      }
      await Promise.all(lists.map((list) => list()));
      await queues.limitOnly(async () => limited(stored()));
      assert.equal(mostOf(queues), limited(stored())[0]?.modified_at ?? null, "in the end");
    }),
    { numRuns: 1000 },
  ));
