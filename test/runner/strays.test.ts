import assert from "node:assert/strict";
import { test } from "node:test";
import { openLogFor, type LogEntry } from "../../src/shared/log.ts";
import { HELD, STRAY } from "../../src/server/workers/stray-log.ts";
import { openBench, until } from "./runners-fixture.ts";

/** Code that a run does not await, and that fails after its end, changes no ending and is told. */

const STRAYS: Readonly<Record<string, string>> = {
  "a function that is not awaited": "void save();",
  "a promise that was rejected": `void Promise.reject(new Error("not saved"));`,
  "a rejection after a while": "setTimeout(() => void save(), 50);",
  "a timer that throws": `setTimeout(() => { throw new Error("not saved"); }, 1);`,
  "two of them": "void save(); void save();",
};

interface Stray extends LogEntry {
  readonly time?: string;
  readonly version?: string;
  readonly execution?: string;
}

async function openStrays(options: { sockets?: null; hasMessages?: boolean } = {}) {
  const strays: Stray[] = [];
  const log = openLogFor("warn", (entry) => void strays.push(entry));
  return { bench: await openBench({ ...options, log }), strays };
}

function leaving(act: string): string {
  return `async function save() { throw new Error("not saved"); }
export default () => { ${act} return 1; };`;
}

for (const [way, options] of Object.entries({
  "to the server": {},
  "by way of its runner": { sockets: null },
}))
  test(`a thread tells ${way}, once, what failed after a run's end`, async () => {
    const { bench, strays } = await openStrays(options);
    await using _ = bench;
    for (const [name, act] of Object.entries(STRAYS)) {
      const spec = bench.flow(leaving(act));
      const { flow, version } = spec;
      const { id: execution, ending } = bench.start(spec);
      const { status, output_value } = await ending;
      assert.deepEqual([status, output_value], ["ENDED_SUCCESS", "1"], name);
      await until(() => strays.length > 0);
      const [{ time: _time, place, ...told } = {} as Stray, ...more] = strays.splice(0);
      const error = "Error: not saved";
      assert.deepEqual(
        [told, ...more],
        [{ level: "warn", flow, version, error, execution, msg: STRAY }],
        name,
      );
      assert.match(place ?? "", /^flow\.ts:[12]:\d+$/, name);
    }
  });

for (const [way, options] of Object.entries({
  "that is spoken to directly": {},
  "that its runner speaks for": { sockets: null },
})) {
  const LOOPS = `let runs = 0;
export default () => { if ((runs += 1) === 2) setImmediate(() => { for (;;); }); return runs; };`;

  test(`a thread ${way} ends when it is busy without a run`, async () => {
    const { bench, strays } = await openStrays(options);
    await using _ = bench;
    const spec = bench.flow(LOOPS);
    assert.equal((await bench.run(spec)).output_value, "1");
    assert.equal((await bench.run(spec)).output_value, "2");
    await until(() => strays.length > 0);
    assert.deepEqual([strays[0]?.msg, strays.length], [HELD, 1]);
    await until(() => bench.runners.status().runners.every(({ threads }) => threads === 0));
    assert.equal(bench.runners.status().restarts, 0);
  });

  test(`what a thread ${way} does not begin runs in another, once`, async () => {
    const { bench, strays } = await openStrays(options);
    await using _ = bench;
    const spec = bench.flow(LOOPS);
    assert.equal((await bench.run(spec)).output_value, "1");
    assert.equal((await bench.run(spec)).output_value, "2");
    let next = await bench.run(spec);
    // It came before the thread was busy, and was begun there.
    if (next.output_value === "3") next = await bench.run(spec);
    assert.deepEqual([next.status, next.output_value], ["ENDED_SUCCESS", "1"]);
    assert.deepEqual([strays[0]?.msg, strays.length], [HELD, 1]);
  });
}

test("what the engine calls for an earlier run costs a later one nothing", async () => {
  const { bench, strays } = await openStrays();
  await using _ = bench;
  const spec = bench.flow(
    `let runs = 0;
const kept = new FinalizationRegistry(() => { throw new Error("cleanup failed"); });
export default async () => {
  if ((runs += 1) === 1) kept.register({}, 0);
  else for (let n = 0; n < 300; n += 1) {
    Array.from({ length: 20_000 }, () => ({ n }));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return runs;
};`,
  );
  assert.equal((await bench.run(spec)).output_value, "1");
  assert.equal((await bench.run(spec)).output_value, "2");
  assert.deepEqual(
    strays.map(({ error }) => error),
    ["Error: cleanup failed"],
  );
});

test("what fails while the next run is under way costs that one nothing", async () => {
  const { bench, strays } = await openStrays();
  await using _ = bench;
  const spec = bench.flow(
    `let runs = 0;
export default async () => {
  if ((runs += 1) === 2) await new Promise((resolve) => setTimeout(resolve, 300));
  else for (const ms of [100, 150]) setTimeout(() => { throw new Error("late " + ms); }, ms);
  return runs;
};`,
  );
  assert.equal((await bench.run(spec)).output_value, "1");
  assert.equal((await bench.run(spec)).output_value, "2");
  assert.deepEqual(
    strays.map(({ error }) => error),
    ["Error: late 100"],
  );
});

test("what fails between two runs ends the thread before the next", async () => {
  const { bench, strays } = await openStrays();
  await using _ = bench;
  const spec = bench.flow(
    `let runs = 0;
export default () => { setTimeout(() => { throw new Error("late"); }, 20); return (runs += 1); };`,
  );
  for (const told of [1, 2]) {
    assert.equal((await bench.run(spec)).output_value, "1");
    await until(() => strays.length === told);
  }
});

test("what fails while a failed run waits for what it asked for is that one's", async () => {
  const { bench, strays } = await openStrays();
  await using _ = bench;
  const asked = Promise.withResolvers<void>();
  bench.answer = async () => (await asked.promise, { ok: true, value: "1" });
  const spec = bench.flow(
    `export default ({ setting }) => {
      void setting("a");
      setTimeout(() => { throw new Error("late"); }, 1);
      throw new Error("the cause");
    };`,
  );
  const { id, ending } = bench.start(spec);
  await until(() => strays.length > 0);
  asked.resolve();
  assert.equal((await ending).status_message, "the cause");
  assert.deepEqual([strays[0]?.execution, strays[0]?.error], [id, "Error: late"]);
});

test("what fails after each run costs no thread for each", async () => {
  const { bench } = await openStrays();
  await using _ = bench;
  const spec = bench.flow(
    `let runs = 0; export default () => { void Promise.reject(new Error("late")); return (runs += 1); };`,
  );
  let [runs, last] = [0, ""];
  while (runs < 200 && last !== "10") {
    runs += 1;
    last = (await bench.run(spec)).output_value ?? "";
  }
  assert.equal(last, "10", "a thread that had nine strays");
});

test("who keeps texts of flows out of the log is told where it was, and not what was said", async () => {
  const { bench, strays } = await openStrays({ hasMessages: false });
  await using _ = bench;
  const spec = bench.flow(leaving("void save();"));
  const { id, ending } = bench.start(spec);
  await ending;
  await until(() => strays.length > 0);
  const [{ execution, error, place } = {} as Stray] = strays;
  assert.deepEqual([execution, error, place], [id, undefined, undefined]);
});

test("a thread that was taken over names no execution of others, and is heard once", async () => {
  const { bench, strays } = await openStrays();
  await using _ = bench;
  const spec = bench.flow(
    `import net from "node:net";
let line = null, sent = null;
const plain = net.Socket.prototype._writeGeneric;
net.Socket.prototype._writeGeneric = function (...args) { line = this; sent = args[1]; return plain.apply(this, args); };
const frame = (head, text) => { const body = Buffer.from(sent.toString("latin1", 4, 36) + JSON.stringify(head) + "\\n" + text); const all = Buffer.alloc(4); all.writeUInt32BE(body.length); return Buffer.concat([all, body]); };
let runs = 0;
export default () => {
  if ((runs += 1) === 1) return runs;
  for (let n = 0; n < 100; n += 1) line.write(frame(["stray", "of-another"], "forged \\u001b[2J\\nx"));
  return new Promise(() => {});
};`,
    { grants: { net: true } },
  );
  await bench.run(spec);
  assert.equal((await bench.run(spec)).status_message, "The flow's thread was lost");
  assert.equal(strays.length, 1);
  const [{ flow, execution, error } = {} as Stray] = strays;
  assert.deepEqual([flow, execution, error], [spec.flow, undefined, "forged \\u001b[2J"]);
});
