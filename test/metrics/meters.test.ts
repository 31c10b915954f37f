import assert from "node:assert/strict";
import { test } from "node:test";
import { openMeters, type Meters } from "../../src/server/metrics/meters.ts";
import { METRICS, READ, type Readings } from "../../src/server/metrics/metric-table.ts";

/** One of each. */
const READINGS = {
  ...Object.fromEntries(Object.keys(READ).map((name) => [name, 1])),
  flowhook_webhook_executions_running: { other: 1 },
  flowhook_webhook_executions_waiting: { other: 2 },
  flowhook_cluster_nodes: { ready: 3, draining: 0, lost: 0 },
  flowhook_flow_versions: { "shop.order": 2 },
  flowhook_flows: { ready: 2, broken: 0 },
} as unknown as Readings;

function open(namesWebhooks = true): Meters {
  return openMeters({ namesWebhooks, version: "1.2.3" });
}

async function linesOf(meters: Meters): Promise<string[]> {
  return (await meters.print(READINGS)).split("\n").filter((line) => line !== "");
}

function end(meters: Meters, webhook: string | null, runMs: number | null = 3, waitMs = 1): void {
  meters.countEnding({ webhook, status: "ENDED_SUCCESS", waitMs, runMs });
}

/** Distinct values of the label, in the order of the lines. */
function webhooksIn(lines: readonly string[]): string[] {
  return [...new Set(lines.flatMap((line) => /webhook="([^"]*)"/.exec(line)?.[1] ?? []))];
}

test("every metric of the registry is printed, and no other of ours", async () => {
  const meters = open();
  meters.countCall("a", 200, 0.1);
  meters.countSignature("a", "right");
  meters.countDuplicate("a");
  meters.countRefusal("not_found");
  end(meters, "a");
  const lines = await linesOf(meters);
  const told = lines.flatMap((line) => /^# TYPE (flowhook_\w+ \w+)$/.exec(line)?.[1] ?? []);
  const expected = Object.entries(METRICS).map(([name, { type }]) => `${name} ${type}`);
  assert.deepEqual(told.toSorted(), expected.toSorted());
});

test("a histogram counts what took no longer than each bound", async () => {
  const meters = open();
  for (const runMs of [0, 5, 6, 60_000, 10_000_000, -50]) end(meters, "a", runMs);
  end(meters, "a", null);
  const lines = await linesOf(meters);
  const runs = lines.filter((line) => line.startsWith("flowhook_execution_run_seconds"));
  const buckets = runs.map((line) => [/le="([^"]+)"/.exec(line)?.[1], Number(line.split(" ")[1])]);
  assert.deepEqual(buckets.slice(0, 4), [
    ["0.0025", 2],
    ["0.005", 3],
    ["0.01", 4],
    ["0.025", 4],
  ]);
  assert.deepEqual(buckets.slice(13, 17), [
    ["60", 5],
    ["300", 5],
    ["3600", 5],
    ["+Inf", 6],
  ]);
  assert.deepEqual(runs.slice(-2), [
    'flowhook_execution_run_seconds_sum{webhook="a"} 10060.011',
    'flowhook_execution_run_seconds_count{webhook="a"} 6',
  ]);
  assert.ok(lines.includes('flowhook_execution_wait_seconds_count{webhook="a"} 7'));
});

test("the first 500 webhooks have labels of their own, and the others share one", async () => {
  const meters = open();
  for (let at = 0; at < 510; at += 1) end(meters, `w${at}`);
  end(meters, null);
  end(meters, "w3");
  const lines = await linesOf(meters);
  assert.equal(webhooksIn(lines).length, 502);
  const ended = (webhook: string) =>
    lines.find((line) => line.includes(`ended_total{webhook="${webhook}",status="ENDED_SUCCESS"`));
  assert.match(ended("w3")!, / 2$/);
  assert.match(ended("w499")!, / 1$/);
  assert.match(ended("other")!, / 10$/);
  assert.match(ended("")!, / 1$/);
});

test("more webhooks than can be named begin nowhere: those that are called have the names", async () => {
  const names = Array.from({ length: 501 }, (_, at) => `w${at}`);
  const many = open();
  many.begin(names);
  many.countCall("called", 200, 0.1);
  assert.deepEqual(webhooksIn(await linesOf(many)), ["called", "other"]);
  const few = open();
  few.begin(names.slice(1));
  assert.equal(webhooksIn(await linesOf(few)).length, 502);
  const unnamed = open(false);
  unnamed.begin(["secret-project"]);
  assert.deepEqual(webhooksIn(await linesOf(unnamed)), ["", "other"]);
});

test("webhooks that were never called keep no name", async () => {
  const meters = open();
  for (let at = 0; at < 520; at += 1) meters.begin([`made-and-deleted-${at}`]);
  meters.begin(["zero", "called"]);
  meters.countCall("called", 200, 0.1);
  const lines = await linesOf(meters);
  assert.deepEqual(webhooksIn(lines), ["", "called", "zero", "other"]);
  assert.ok(lines.includes('flowhook_calls_total{webhook="called",status="2xx"} 1'));
  assert.ok(lines.includes('flowhook_calls_total{webhook="zero",status="2xx"} 0'));
});

test("of more webhooks than can be named those that are called first have the names", async () => {
  const meters = open();
  const old = Array.from({ length: 400 }, (_, at) => `old${at}`);
  const added = Array.from({ length: 200 }, (_, at) => `new${at}`);
  meters.begin(old);
  meters.begin([...old, ...added]);
  for (const webhook of added) meters.countCall(webhook, 200, 0.1);
  assert.deepEqual(webhooksIn(await linesOf(meters)), ["", ...added, "other"]);
});

test("what can have no name any more is not zero under its own", async () => {
  const meters = open();
  for (let at = 0; at < 500; at += 1) meters.countCall(`w${at}`, 200, 0.1);
  meters.begin(["late"]);
  const names = webhooksIn(await linesOf(meters));
  assert.equal(names.length, 502);
  assert.ok(names.includes("other"));
});

test("without labels no webhook is named", async () => {
  const meters = open(false);
  end(meters, "secret-project");
  meters.countCall("secret-project", 200, 0.1);
  meters.countCall("", 404, 0.1);
  end(meters, "another");
  assert.deepEqual(webhooksIn(await linesOf(meters)), ["other", ""]);
});

test("what is read of webhooks has the names that their figures have", () => {
  const read = [
    ["a", 1],
    ["b", 2],
    ["a", 4],
  ] as const;
  assert.deepEqual({ ...open().sumByWebhook(read) }, { a: 5, b: 2 });
  assert.deepEqual({ ...open(false).sumByWebhook(read) }, { other: 7 });
});

test("a label's value ends where it ends", async () => {
  const meters = open();
  end(meters, 'a"} 1\n\\');
  const lines = await linesOf(meters);
  assert.ok(lines.includes('flowhook_execution_run_seconds_count{webhook="a\\"} 1\\n\\\\"} 1'));
});

test("what the service is to blame for is zero before it happens, and no figure is no number", async () => {
  const meters = open();
  await meters.print(READINGS);
  const lines = await linesOf(meters);
  const refusals = lines.filter((line) => line.startsWith("flowhook_refusals_total"));
  assert.ok(refusals.includes('flowhook_refusals_total{code="queue_full"} 0'));
  assert.ok(!refusals.some((line) => line.includes("not_found")));
  const samples = lines.filter((line) => !line.startsWith("#"));
  for (const line of samples) assert.match(line, / (-?[\d.]+(e[+-]?\d+)?|\+Inf)$/);
  assert.ok(samples.some((line) => line.startsWith("process_resident_memory_bytes ")));
});

test("what there is none of now is not printed", async () => {
  const text = await open().print({ ...READINGS, flowhook_connection_allowance: null });
  assert.ok(!text.includes("flowhook_connection_allowance"));
});
