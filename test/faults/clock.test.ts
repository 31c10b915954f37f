import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { startService, type Service } from "../blackbox/service.ts";
import { NODE, openTarget, ROOT } from "../blackbox/target.ts";

/** A clock that is set while the service runs; on the bundle, whose runtime a test can prepare. */

const HOUR_MS = 60 * 60 * 1000;

interface Shifted {
  readonly service: Service;
  /** The service's time of day. */
  now(): number;
  set(offset_ms: number): Promise<void>;
}

async function open(stack: AsyncDisposableStack): Promise<Shifted> {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-clock-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "offset");
  let offset = 0;
  async function set(ms: number): Promise<void> {
    offset = ms;
    await writeFile(file, String(ms));
  }
  await set(0);
  const preload = join(ROOT, "test/faults/clock.mjs");
  const [, ...bundle] = openTarget("bundle").command;
  const target = {
    name: "bundle" as const,
    command: [NODE, "--import", preload, ...bundle] as [string, ...string[]],
    skip: null,
  };
  const env = { CLOCK_FILE: file, FLOWHOOK_LOG_CALLS: "true", FLOWHOOK_WORKER_THREADS: "1" };
  const service = await startService({ flows: ["echo", "sleep"], target, env });
  stack.defer(() => service.stop().then(() => undefined));
  for (const name of ["echo", "sleep"]) await service.createWebhook(name, name);
  return { service, now: () => Date.now() + offset, set };
}

async function call(service: Service): Promise<string> {
  const { text } = await service.api("POST", "/webhook/echo/call?async");
  await service.api("GET", `/execution/${text}/wait`);
  return text;
}

async function calls(service: Service): Promise<number> {
  const { body } = await service.api("GET", "/statistics");
  return (body as { items: { calls: number }[] }).items.reduce((sum, row) => sum + row.calls, 0);
}

async function listed(service: Service, query: string): Promise<string[]> {
  const { body } = await service.api("GET", `/execution?${query}`);
  return (body as { items: { id: string }[] }).items.map(({ id }) => id);
}

test("L8: statistics and lists show what is called after the clock was set back", async () => {
  await using stack = new AsyncDisposableStack();
  const { service, now, set } = await open(stack);
  const before = await call(service);
  assert.equal(await calls(service), 1);
  await set(-5 * HOUR_MS);
  const after = [await call(service), await call(service)];
  const until = new Date(now() + 60_000).toISOString();
  assert.equal(await calls(service), 2, "those that lie in the past of the clock");
  assert.deepEqual(await listed(service, `to=${until}`), after.toReversed());
  const from = new Date(now() - 60_000).toISOString();
  assert.deepEqual(await listed(service, `from=${from}`), [before, ...after.toReversed()]);
  assert.equal((await listed(service, "limit=50")).length, 3);
  await set(0);
  assert.equal(await calls(service), 3);
  const last = await call(service);
  assert.deepEqual(await listed(service, "limit=1"), [last]);
});

interface Times {
  readonly status: string;
  readonly created_at: string;
  readonly started_at: string;
  readonly ended_at: string;
}

test("L8: nothing starts before it is created, or ends before it starts", async () => {
  await using stack = new AsyncDisposableStack();
  const { service, set } = await open(stack);
  const started: string[] = [];
  for (const name of ["sleep", "echo"]) {
    const { text } = await service.api("POST", `/webhook/${name}/call?async&ms=1500`);
    started.push(text);
  }
  await poll("the first to run", async () =>
    (await timesOf(service, started[0]!)).status === "RUNNING" ? true : null,
  );
  assert.equal((await timesOf(service, started[1]!)).status, "PENDING");
  await set(-HOUR_MS);
  for (const id of started) {
    await service.api("GET", `/execution/${id}/wait`);
    const { created_at, started_at, ended_at } = await timesOf(service, id);
    assert.ok(created_at <= started_at && started_at <= ended_at, `${started_at} to ${ended_at}`);
  }
  assert.match(service.logs(), /"duration_ms":/);
  assert.doesNotMatch(service.logs(), /"(duration|wait)_ms":-/);
});

async function timesOf(service: Service, id: string): Promise<Times> {
  return JSON.parse((await service.api("GET", `/execution/${id}`)).text) as Times;
}
