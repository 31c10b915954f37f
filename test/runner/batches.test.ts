import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Ending, FlowSpec } from "../../src/shared/wire/protocol.ts";
import { openBench as openAnyBench, until, type Bench } from "./runners-fixture.ts";

/** Runs that a thread is given together, over a line of its own and by way of its runner: short ones, which come in the same turn. */

/** A line of the file below, by which the test ends a run. */
const LET_GO = "let go";

/**
 * Takes no time, unless it is told to, or until it is let go; a module-level name tells the threads
 * apart. What has begun is written down, also by a thread that nobody listens to any more.
 */
const toFlow = (begun: string) => `
  import { appendFileSync, readFileSync } from "node:fs";
  const begun = ${JSON.stringify(begun)};
  const isLetGo = () => readFileSync(begun, "utf8").includes(${JSON.stringify(LET_GO)});
  const rested = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const thread = String(Math.random());
  export default async ({ input_value, log }) => {
    log.info("begun");
    const { name, busy = 0, rest = 0, held = null, fails = false, spoils = false } = input_value;
    if (name !== "warm") appendFileSync(begun, name + "\\n");
    const end = performance.now() + busy;
    while (performance.now() < end);
    if (rest > 0) await rested(rest);
    if (held === "busy") while (!isLetGo());
    if (held === "rest") while (!isLetGo()) await rested(10);
    if (spoils) globalThis.spoilt = true;
    if (fails) throw new Error("As it was told");
    return { name, thread };
  };`;

interface Told {
  readonly name: string;
  readonly thread: string;
}

/** Runs it until its pace is known: from then on a thread is given several. */
async function warm(bench: Bench): Promise<FlowSpec> {
  const file = begunFile(bench);
  writeFileSync(file, "");
  const spec = bench.flow(toFlow(file), { grants: { read: [file], write: [file] } });
  for (let round = 0; round < 120; round += 1) await bench.run(spec, input({ name: "warm" }));
  return spec;
}

const begunFile = (bench: Bench): string => join(bench.folder, "begun");
/** Names of what has begun, as often as it has. */
const begun = (bench: Bench): string[] =>
  readFileSync(begunFile(bench), "utf8").trim().split("\n").toSorted();

function input(value: object): { input_value: string } {
  return { input_value: JSON.stringify(value) };
}

const told = ({ output_value }: Ending): Told => JSON.parse(output_value ?? "null") as Told;
const nameOf = (ending: Ending): string => told(ending).name;
const names = (count: number) => Array.from({ length: count }, (_, at) => `run ${at}`);

for (const [road, own] of [
  ["direct", {}],
  ["forwarded", { sockets: null }],
] as const) {
  const openBench = (options: Parameters<typeof openAnyBench>[0]): Promise<Bench> =>
    openAnyBench({ ...options, ...own });

  test(`${road}: each of many is told its own result, and its lines come before`, async () => {
    await using bench = await openBench({ flowMaxConcurrent: 2 });
    const spec = await warm(bench);
    const started = names(100).map((name) => ({ name, run: bench.start(spec, input({ name })) }));
    for (const { name, run } of started) {
      assert.equal(nameOf(await run.ending), name);
      assert.equal(bench.log(run.id), "info begun");
    }
  });

  for (const how of ["busy", "rest"])
    test(`${road}: what stands behind a run that takes long (${how}) goes to another thread`, async () => {
      await using bench = await openBench({ flowMaxConcurrent: 2 });
      const spec = await warm(bench);
      let hasEnded = false;
      const long = bench.start(spec, input({ name: "long", held: how }));
      void long.ending.then(() => (hasEnded = true));
      const others = names(5).map((name) => bench.run(spec, input({ name })));
      const endings = await Promise.all(others);
      assert.equal(hasEnded, false);
      assert.deepEqual(endings.map(nameOf), names(5));
      appendFileSync(begunFile(bench), `${LET_GO}\n`);
      const { thread } = told(await long.ending);
      assert.ok(endings.every((ending) => told(ending).thread !== thread));
      assert.deepEqual(begun(bench), [LET_GO, "long", ...names(5)]);
    });

  test(`${road}: large inputs that are given together arrive whole`, async () => {
    await using bench = await openBench({ flowMaxConcurrent: 1 });
    const spec = await warm(bench);
    const texts = names(5).map((name) => ({ name, text: name.repeat(400_000) }));
    const endings = texts.map((value) => bench.run(spec, input(value)));
    assert.deepEqual((await Promise.all(endings)).map(nameOf), names(5));
  });

  test(`${road}: what stands behind a run that spoils its thread runs once, in another`, async () => {
    await using bench = await openBench({ flowMaxConcurrent: 1 });
    const spec = await warm(bench);
    const before = bench.start(spec, input({ name: "before" }));
    const failing = bench.run(spec, input({ name: "failing", fails: true, spoils: true }));
    const others = names(5).map((name) => ({ name, run: bench.start(spec, input({ name })) }));
    assert.equal(nameOf(await before.ending), "before");
    assert.equal((await failing).status_message, "As it was told");
    const { thread } = told(await before.ending);
    for (const { name, run } of others) {
      const ending = await run.ending;
      assert.equal(nameOf(ending), name);
      assert.notEqual(told(ending).thread, thread);
      assert.equal(bench.log(run.id), "info begun");
    }
    assert.deepEqual(begun(bench), ["before", "failing", ...names(5)]);
  });

  test(`${road}: what stands behind another and is aborted never begins`, async () => {
    await using bench = await openBench({ flowMaxConcurrent: 1, cancelGraceMs: 5000 });
    const spec = await warm(bench);
    const long = bench.start(spec, input({ name: "long", rest: 1000 }));
    const [first, second] = names(2).map((name) => bench.start(spec, input({ name })));
    bench.abort(first!.id, "stop");
    assert.equal((await first!.ending).status_message, "stop");
    assert.equal(nameOf(await long.ending), "long");
    assert.equal(nameOf(await second!.ending), "run 1");
    assert.deepEqual(begun(bench), ["long", "run 1"]);
  });

  test(`${road}: what stands behind a run that is aborted and ended runs in the next thread`, async () => {
    await using bench = await openBench({ flowMaxConcurrent: 1, cancelGraceMs: 50 });
    const spec = await warm(bench);
    const long = bench.start(spec, input({ name: "long", busy: 60_000 }));
    const others = names(3).map((name) => bench.run(spec, input({ name })));
    await until(() => bench.lines.has(long.id));
    bench.abort(long.id, "stop");
    assert.equal((await long.ending).status_message, "stop");
    assert.deepEqual((await Promise.all(others)).map(nameOf), names(3));
    assert.deepEqual(begun(bench), ["long", ...names(3)]);
  });
}
