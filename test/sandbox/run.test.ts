import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { FlowLog } from "../../src/sandbox/flow-log.ts";
import { run, type Execution } from "../../src/sandbox/run.ts";
import type { Job } from "../../src/shared/wire/protocol.ts";

const LIMITS = {
  max_output_bytes: 1_000_000,
  max_input_bytes: 1_000_000,
  max_log_lines: 50,
  input_members: null,
};
const CLIENT = { isWaiting: false, ask: () => Promise.reject(new Error("none")), answer: () => {} };
const RUNS = 100;

test("what a run leaves behind is gone without a full collection", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "minor" }) => void;
  // The engine keeps what the first ones have made.
  await countKept(collect);
  assert.equal(await countKept(collect), 0);
});

async function countKept(collect: (options: { type: "minor" }) => void): Promise<number> {
  const jobs: WeakRef<Job>[] = [];
  for (let at = 0; at < RUNS; at += 1) jobs.push(new WeakRef(await runOne(String(at))));
  for (let times = 0; times < 4; times += 1) {
    // What was looked at in a turn stays until its end.
    await new Promise((resolve) => setImmediate(resolve));
    collect({ type: "minor" });
  }
  return jobs.filter((job) => job.deref() !== undefined).length;
}

test("a wrong response fails a run, also one that the result's toJSON makes and catches", async () => {
  const flow = (given: { webhook_response: (response: object) => void }) => {
    const answer = () => {
      try {
        given.webhook_response({ status: 99 });
      } catch {}
      return 1;
    };
    return { toJSON: answer };
  };
  const execution = begin(toJob("1", "{}"));
  await assert.rejects(run(flow, execution, CLIENT, LIMITS), /integer from 200 to 599 as status/);
});

async function runOne(id: string): Promise<Job> {
  const echo = (flow: { input_value: unknown }) => flow.input_value;
  const input_value = JSON.stringify({ id, text: "x".repeat(500) });
  const job = toJob(id, input_value);
  const ending = await run(echo, begin(job), CLIENT, LIMITS);
  assert.equal(ending.output_value, input_value);
  return job;
}

function toJob(id: string, input_value: string): Job {
  const execution = JSON.stringify({ id, webhook: "echo", flow: "echo" });
  return {
    id,
    execution,
    input_value,
    raw_body: null,
    raw_body_at: null,
    base_url: "http://127.0.0.1/",
    target: null,
  };
}

function begin(job: Job): Execution {
  return {
    job,
    controller: new AbortController(),
    begun: 0,
    isAborted: false,
    log: new FlowLog(LIMITS.max_log_lines, String, () => job),
    pending: { count: 0, waiter: null },
    status_message: null,
    response: null,
    fault: null,
    hasFailed: false,
    isSettled: false,
    hasEarlier: false,
    ended: false,
  };
}
