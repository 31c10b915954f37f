import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import type { Answer } from "../blackbox/client.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** Who fills the queue, or the threads, takes nothing from those who come after. */

/** Asks what the payload says, so often, and tells what came of it. */
const ASKING = `import { defineFlow } from "flowhook";
  export default defineFlow({ run: async (flow) => {
    const { operation, name, size, times = 1 } = flow.input_value.json;
    const told = [];
    for (let n = 0; n < times; n += 1)
      await flow[operation](name, "x".repeat(size)).then(() => told.push("done"), (e) => told.push(e.message));
    return told;
  } });`;

const FORKING = `import { defineFlow } from "flowhook";
  export default defineFlow({ run: async (flow) => {
    const told = [];
    for (let n = 0; n < 3; n += 1)
      await flow.start_execution("forking").then(() => told.push("started"), (e) => told.push(e.message));
    return { told, method: flow.input_value.method };
  } });`;

/** Waits for the next of a chain of flows, a while after its begin. */
const waitingFor = (next: string): string => `export default async (flow) => {
  await new Promise((done) => setTimeout(done, 300));
  const { status, output_value } = await flow.start_execution("${next}", {}, { wait: true });
  return status === "ENDED_SUCCESS" ? output_value : status;
};`;

async function start(service: TestService, webhook: string, count: number): Promise<Answer[]> {
  const calls = Array.from({ length: count }, () => service.call(webhook, "?async&ms=60000"));
  return Promise.all(calls);
}

describe("admission", () => {
  test("H5: a flow fills half of the queue, and those with a free slot do not wait for it", async () => {
    await using service = await openTestService({
      config: { WORKER_THREADS: 2, MAX_QUEUED_EXECUTIONS: 6, SYNC_MODE: "hold" },
      flows: ["echo", "sleep"],
    });
    await service.createWebhook("echo", "echo", { is_productive: true });
    await service.createWebhook("sleep", "sleep", { is_productive: true });
    const answers = await start(service, "sleep", 10);
    const refused = answers.filter(({ status }) => status === 503);
    assert.equal(answers.filter(({ status }) => status === 201).length, 1 + 3);
    assert.equal(refused.length, 6);
    for (const { text, headers } of refused) {
      assert.match(text, /3 executions of this flow wait already, half of the queue/);
      assert.equal(headers["retry-after"], "10");
    }
    for (let n = 0; n < 20; n += 1) assert.equal((await service.call("echo")).status, 200);
  });

  test("H5: a queue of none still admits what finds a free slot", async () => {
    await using service = await openTestService({
      config: { WORKER_THREADS: 1, MAX_QUEUED_EXECUTIONS: 0, SYNC_MODE: "hold" },
      flows: ["echo", "sleep"],
    });
    await service.createWebhook("echo", "echo", { is_productive: true });
    await service.createWebhook("sleep", "sleep", { is_productive: true });
    assert.equal((await service.call("echo")).status, 200);
    assert.equal((await start(service, "sleep", 1))[0]?.status, 201);
    assert.equal((await service.call("echo")).status, 503);
  });

  test("who replaces one that waits needs no place in the queue", async () => {
    await using service = await openTestService({
      config: { WORKER_THREADS: 1, MAX_QUEUED_EXECUTIONS: 1 },
      flows: ["sleep"],
    });
    await service.createWebhook("newest", "sleep", {
      is_productive: true,
      limits: { max_concurrent: 1, when_busy: "replace" },
    });
    await service.createWebhook("sleep", "sleep", { is_productive: true });
    const answers = await start(service, "newest", 1);
    await poll("the first to have begun", async () => {
      const { text } = await service.api("GET", `/execution/${answers[0]?.text}`);
      return text.includes("RUNNING") || null;
    });
    for (let n = 0; n < 3; n += 1) answers.push(...(await start(service, "newest", 1)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201, 201],
    );
    const statuses = await Promise.all(
      answers.map(async ({ text }) => (await service.api("GET", `/execution/${text}`)).text),
    );
    assert.equal(statuses.filter((text) => text.includes("Replaced by")).length, 2);
    assert.equal((await start(service, "sleep", 1))[0]?.status, 503);
  });

  test("a start that is refused is none of those that an execution may have", async () => {
    await using service = await openTestService({
      config: { WORKER_THREADS: 2, MAX_QUEUED_EXECUTIONS: 0, MAX_CHILDREN: 1, SYNC_MODE: "hold" },
      flows: ["sleep"],
      files: { "asking.ts": ASKING },
    });
    await service.createWebhook("sleep", "sleep", { is_productive: true });
    await service.createWebhook("asking", "asking", { is_productive: true, role: "webhook" });
    await start(service, "sleep", 1);
    const json = { operation: "start_execution", name: "sleep", size: 1, times: 3 };
    const { text } = await service.call("asking", "", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(json),
    });
    assert.equal(text.match(/none can start at once/g)?.length, 3, text);
  });

  test("what a run waits for has its thread, however long the queue is, one at a time", async () => {
    await using service = await openTestService({
      config: { WORKER_THREADS: 1, MAX_QUEUED_EXECUTIONS: 0, SYNC_MODE: "hold" },
      flows: ["echo"],
      files: {
        "middle.js": `export default (flow) => flow.start_execution("echo", {}, { wait: true });`,
        "parent.js": `export default async (flow) => {
          const toWhy = ({ message }) => message.replace(/: (No execution may wait|1 execution waits).*/, ": refused");
          const ask = (wait) => flow.start_execution("middle", {}, { wait })
            .then(({ output_value }) => output_value.status, toWhy);
          const one = [await ask(true), await ask(false)];
          return [...one, ...(await Promise.all([ask(true), ask(true)])), await ask(true)];
        };`,
      },
    });
    await service.createWebhook("parent", "parent", { is_productive: true, role: "webhook" });
    const told = JSON.parse((await service.call("parent")).text) as string[];
    const refused = 'Cannot start flow "middle": refused';
    const done = "ENDED_SUCCESS";
    assert.deepEqual(told, [done, refused, done, refused, done]);
  });

  test("M12: two slow flows leave a slot to a third", async () => {
    await using service = await openTestService({
      config: { WORKER_THREADS: 4, SYNC_MODE: "hold" },
      flows: ["echo", "sleep"],
      files: { "slow.js": `export default () => new Promise(() => {});` },
    });
    for (const [webhook, flow] of [
      ["echo", "echo"],
      ["a", "sleep"],
      ["b", "slow"],
    ] as const)
      await service.createWebhook(webhook, flow, { is_productive: true });
    await start(service, "a", 4);
    await start(service, "b", 4);
    assert.equal((await service.call("echo")).status, 200);
  });

  test("M12: flows that wait for flows leave threads to those, and to others", async () => {
    await using service = await openTestService({
      config: {
        WORKER_THREADS: 8,
        FLOW_MAX_CONCURRENT: 4,
        FLOW_TIMEOUT_SEC: 20,
        SYNC_MODE: "hold",
      },
      flows: ["echo"],
      files: {
        "first.js": waitingFor("second"),
        "second.js": waitingFor("third"),
        "third.js": waitingFor("last"),
        "last.js": `export default async () => new Promise((done) => setTimeout(done, 300, "done"));`,
      },
    });
    await service.createWebhook("echo", "echo", { is_productive: true });
    await service.createWebhook("first", "first", { is_productive: true, role: "webhook" });
    const chains = Promise.all(Array.from({ length: 8 }, () => service.call("first")));
    await poll("some to wait for others that wait", async () => {
      const { text } = await service.api("GET", "/execution?status=RUNNING&flow=third");
      return (JSON.parse(text) as { items: object[] }).items.length > 0 ? true : null;
    });
    const begun = performance.now();
    assert.equal((await service.call("echo")).status, 200);
    const ms = performance.now() - begun;
    assert.ok(ms < 5000, `another flow was answered after ${ms} ms`);
    assert.deepEqual(
      (await chains).map(({ text }) => text),
      Array.from({ length: 8 }, () => '"done"'),
    );
  });

  test("H5: a flow that starts itself comes to an end, also over a restart", async () => {
    await using service = await openTestService({
      config: {
        WORKER_THREADS: 2,
        MAX_CHILD_DEPTH: 3,
        MAX_CHILDREN: 2,
        SYNC_MODE: "hold",
        // Nothing of the family is interrupted.
        SHUTDOWN_GRACE_SEC: 30,
      },
      files: { "forking.js": FORKING },
    });
    await service.createWebhook("forking", "forking", { is_productive: true, role: "webhook" });
    const { text } = await service.call("forking");
    assert.match(
      text,
      /"started","started","Cannot start flow [^\]]*as many as one may \(MAX_CHILDREN\)"/,
    );
    await service.stop();
    await service.start();
    const ended = await poll("all of the family to have ended", async () => {
      const { items } = JSON.parse((await service.api("GET", "/execution?limit=200")).text) as {
        items: { id: string; status: string }[];
      };
      return items.every(({ status }) => status.startsWith("ENDED_")) ? items : null;
    });
    assert.ok(ended.length <= 15, `${ended.length} executions`);
    const last = await service.api("GET", `/execution/${ended[0]?.id}`);
    assert.match(last.text, /3 executions led to this one, and one more is too many/);
    // Without an input a child has that of a call without parameters.
    assert.match(last.text, /\\"method\\":\\"GET\\"|"method":"GET"/);
  });

  test("M5: what a flow keeps or passes on is bounded, and it is told", async () => {
    await using service = await openTestService({
      config: { SYNC_MODE: "hold", MAX_BODY_BYTES: 100_000 },
      files: { "asking.js": ASKING },
    });
    await service.createWebhook("asking", "asking", { is_productive: true, role: "webhook" });
    const ask = async (json: object): Promise<string[]> => {
      const answer = await service.call("asking", "", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(json),
      });
      return JSON.parse(answer.text) as string[];
    };
    assert.deepEqual(await ask({ operation: "set_setting", name: "s", size: 65_534 }), ["done"]);
    assert.deepEqual(await ask({ operation: "set_setting", name: "s", size: 65_535 }), [
      "set_setting takes a value of at most 65536 bytes, not 65537",
    ]);
    const child = { operation: "start_execution", name: "asking" };
    assert.deepEqual(await ask({ ...child, size: 99_998 }), ["done"]);
    assert.deepEqual(await ask({ ...child, size: 99_999 }), [
      "start_execution takes a value of at most 100000 bytes, not 100001",
    ]);
    assert.deepEqual(await ask({ operation: "setting", name: "x".repeat(1025), size: 0 }), [
      "setting takes a name of at most 1024 characters",
    ]);
  });
});
