import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { FlowSpec } from "../../src/shared/wire/protocol.ts";
import { openBench, until, type Bench } from "../runner/runners-fixture.ts";

/** Executions of one flow share its threads: what one leaves behind must not answer the next. */

let bench: Bench;
before(async () => {
  bench = await openBench();
});
after(() => bench[Symbol.asyncDispose]());

/** A run of a flow on its only thread, with this as the caller's JSON. */
async function run(spec: FlowSpec, json: unknown) {
  const { id, ending } = bench.start(spec, { input_value: JSON.stringify({ json }) });
  const { output_value, response, status_message } = await ending;
  return {
    output: JSON.parse(output_value ?? "null"),
    response,
    status_message,
    log: bench.log(id),
  };
}

/**
 * Lets runs fail until no thread is renewed for it any more, for two seconds at least: what they leave is
 * found there. Each tells first how many runs its thread has had.
 *
 * @returns how many were renewed
 */
async function spendRenewals(spec: FlowSpec, failing: unknown, other: unknown): Promise<number> {
  await run(spec, failing);
  const first = performance.now();
  for (let renewed = 0; ; await run(spec, failing)) {
    const { output } = await run(spec, other);
    if ((Array.isArray(output) ? output[0] : output) === 1) renewed += 1;
    // One more comes each five seconds.
    else if ((performance.now() - first) % 5000 < 3000) return renewed;
  }
}

/** Tells how many runs its thread has had, and fails; `ticks` later it asks for a setting. */
const FAILING = `let runs = 0;
export default async ({ input_value, setting }) => {
  const { fails = false, ticks = null } = input_value.json;
  runs += 1; const told = runs;
  if (ticks !== null) (async () => { for (let n = 0; n < ticks; n += 1) await null; await setting("a"); })().catch(() => {});
  if (fails) throw new Error("failed");
  return told;
}`;

/** Counts in the module how many runs its thread has had, and does what the caller's JSON says. */
const MERGING = `let runs = 0;
const merge = (into, from) => { for (const key of Object.keys(from)) if (typeof from[key] === "object" && from[key] !== null && into[key]) merge(into[key], from[key]); else into[key] = from[key]; return into; };
export default (flow) => { merge({}, flow.input_value.json); flow.webhook_response({ status: 200 }); return (runs += 1); };`;

const POLLUTIONS: Readonly<Record<string, { json: string; told: string }>> = {
  "a member of every object": {
    json: '{"__proto__": {"headers": {"content-type": "text/html"}, "body": "<script>"}}',
    told: "Object.prototype.headers",
  },
  "a member of every object, by its constructor": {
    json: '{"constructor": {"prototype": {"body": "<script>"}}}',
    told: "Object.prototype.body",
  },
  "a method of every object": {
    json: '{"__proto__": {"toString": 1}}',
    told: "Object.prototype.toString",
  },
  "a member of every list": {
    json: '{"a": 1, "__proto__": {"0": "x"}}',
    told: "Object.prototype.0",
  },
};

for (const [name, { json, told }] of Object.entries(POLLUTIONS))
  test(`H2: ${name} that one caller's JSON makes answers nobody else`, async () => {
    const spec = bench.flow(MERGING);
    assert.equal((await run(spec, {})).output, 1);
    assert.equal((await run(spec, {})).output, 2, "a clean run keeps its thread");
    const polluted = await run(spec, JSON.parse(json));
    assert.deepEqual(JSON.parse(polluted.response ?? ""), { status: 200, headers: {}, body: "" });
    assert.ok(
      polluted.log.includes(`warn The run changed ${told}, which all runs share`),
      polluted.log,
    );
    const next = await run(spec, {});
    assert.equal(next.output, 1, "the next run has a thread of its own");
    assert.deepEqual(JSON.parse(next.response ?? ""), { status: 200, headers: {}, body: "" });
  });

/** Of what stays open. */
const CHANGES: Readonly<Record<string, string>> = {
  "a global": "globalThis.left = 1",
  "a hidden member of every object": 'Object.defineProperty(Object.prototype, "x", { value: 1 })',
};

const CHANGING = (change: string): string =>
  `let runs = 0; export default async ({ input_value }) => { runs += 1; const told = runs; const { change, waitMs = 0, fails = false } = input_value.json; if (waitMs > 0) await new Promise((done) => setTimeout(done, waitMs)); if (change) { ${change}; } if (fails) throw new Error("failed"); return told; }`;

for (const [name, change] of Object.entries(CHANGES))
  for (const fails of [false, true])
    test(`H2: ${name} that a run has changed${fails ? " before it failed" : ""} is not there for the runs after it`, async () => {
      const spec = bench.flow(CHANGING(change));
      if (fails) await spendRenewals(spec, { fails }, {});
      else assert.equal((await run(spec, {})).output, 1);
      await run(spec, { change: true, waitMs: 25, fails });
      assert.equal((await run(spec, {})).output, 1, "after a long run all is compared");
      await run(spec, { change: true, fails });
      let kept = 0;
      while ((await run(spec, {})).output !== 1) kept += 1;
      assert.ok(kept < 200, `after short ones a little of it, in turn: ${kept}`);
    });

/** Each with what finds it. */
const REFUSED: Readonly<Record<string, readonly [change: string, find: string]>> = {
  "a method of lists": ["Array.prototype.map = () => 1", "[].map(() => 0) === 1"],
  "a method of promises": [
    "Promise.prototype.then = Promise.prototype.catch",
    "Promise.prototype.then === Promise.prototype.catch",
  ],
  "JSON.parse": ["JSON.parse = () => 1", 'JSON.parse("2") === 1'],
  "a getter of maps": [
    'Object.defineProperty(Map.prototype, "size", { get: () => 1 })',
    "new Map().size === 1",
  ],
  "the prototype of a prototype": [
    "Object.setPrototypeOf(Map.prototype, { x: 1 })",
    "new Map().x === 1",
  ],
  "a symbol of lists": [
    "Array.prototype[Symbol.iterator] = function* () {}",
    "[...[1]].length === 0",
  ],
};

for (const [name, [change, find]] of Object.entries(REFUSED))
  test(`H2: ${name} is no run's to change, and its thread goes on`, async () => {
    const spec = bench.flow(
      `let runs = 0; export default ({ input_value }) => { runs += 1; if (input_value.json) ${change}; return [runs, ${find}]; }`,
    );
    await spendRenewals(spec, true, false);
    const [runs] = (await run(spec, false)).output;
    assert.match((await run(spec, true)).status_message ?? "", /^Cannot |not extensible/);
    assert.deepEqual((await run(spec, false)).output, [runs + 2, false]);
  });

/** Where a run tries to leave something for the next, and where that would find it. */
const PLACES: Readonly<Record<string, { leave: string; find: string }>> = {
  "a text's prototype": { leave: "String.prototype.x = 1", find: '"".x' },
  "a number's prototype": { leave: "Number.prototype.x = 1", find: "(1).x" },
  "a function's prototype": { leave: "Function.prototype.x = 1", find: "(() => {}).x" },
  "a pattern's prototype": { leave: "RegExp.prototype.x = 1", find: "/a/.x" },
  "a method of patterns": {
    leave: "RegExp.prototype.exec = () => 1",
    find: '/a/.exec("b") === 1',
  },
  "a date's prototype": { leave: "Date.prototype.x = 1", find: "new Date().x" },
  "an iterator's prototype": {
    leave: "Object.getPrototypeOf([].values()).x = 1",
    find: "[].values().x",
  },
  "what generators make": {
    leave: "Object.getPrototypeOf(function* () {}).prototype.x = 1",
    find: "(function* () {})().x",
  },
  "what async generators make": {
    leave: "Object.getPrototypeOf(async function* () {}).prototype.x = 1",
    find: "(async function* () {})().x",
  },
  "an async iterator's prototype": {
    leave: "Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype).x = 1",
    find: "(async function* () {})().x",
  },
  "a namespace": { leave: "Math.x = 1", find: "Math.x" },
  "a class in a namespace": {
    leave: "Intl.NumberFormat.prototype.x = 1",
    find: "Intl.NumberFormat.prototype.x",
  },
  "a class of the web": { leave: "Headers.prototype.x = 1", find: "Headers.prototype.x" },
  "the class of responses": {
    leave: "globalThis.Response = class Evil {}",
    find: 'Response.name === "Evil"',
  },
  "a method of texts": {
    leave: "String.prototype.trim = () => 1",
    find: '"a".trim() === 1',
  },
  "a function of Object": { leave: "Object.keys = () => 1", find: "Object.keys({}) === 1" },
  "the name of errors": { leave: 'Error.prototype.name = "x"', find: 'new Error().name === "x"' },
  "a member of Error": { leave: "Error.x = 1", find: "Error.x" },
  "a global": { leave: "globalThis.x = 1", find: "globalThis.x" },
  "a global that the runtime hands out": {
    leave: 'globalThis.Buffer = "x"',
    find: 'Buffer === "x"',
  },
  "a namespace in a namespace": { leave: "Temporal.Now.x = 1", find: "Temporal.Now.x" },
  "an iterator of the web": {
    leave: "Object.getPrototypeOf(new URLSearchParams().keys()).x = 1",
    find: "new URLSearchParams().keys().x",
  },
  "a method of one's own in place of a map's": {
    leave: "Map.prototype.get = () => 1",
    find: "new Map().get(0) === 1",
  },
  "a constructor in place of a stream's": {
    leave: "ReadableStream.prototype.constructor = Array",
    find: "new ReadableStream().constructor === Array",
  },
  "a number of Error that is none": {
    leave: "Error.stackTraceLimit = NaN",
    find: "Number.isNaN(Error.stackTraceLimit)",
  },
  "a global behind a getter": {
    leave: 'Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true })',
    find: "!crypto.subtle",
  },
  "what tells of the runtime": {
    leave: 'Object.defineProperty(globalThis, "navigator", { get: () => "x", configurable: true })',
    find: 'navigator === "x"',
  },
  "a member of crypto": { leave: "crypto.x = 1", find: "crypto.x" },
  "a member of crypto.subtle": { leave: "crypto.subtle.x = 1", find: "crypto.subtle.x" },
  "a member of navigator": { leave: "navigator.x = 1", find: "navigator.x" },
  "a member of performance": {
    leave: "performance.now = () => 1",
    find: "performance.now() === 1",
  },
  "a storage of the session": {
    leave: "sessionStorage.x = 1",
    find: "globalThis.sessionStorage?.x",
  },
  "a storage of the machine": {
    leave: "globalThis.localStorage = 1",
    find: "globalThis.localStorage",
  },
  "the environment": { leave: "process.env.X = 1", find: "process.env.X" },
  "a function of the process": {
    leave: 'process.cwd = () => "left"',
    find: 'process.cwd() === "left"',
  },
  "a member that the process did not have": { leave: "process.x = 1", find: "process.x" },
  "what a function of the process has": {
    leave: "process.hrtime.bigint = () => 1",
    find: "process.hrtime.bigint() === 1",
  },
  "the console": { leave: "console.x = 1", find: "console.x" },
  "what it has measured": {
    leave: 'performance.mark("a"); performance.measure("b", "a")',
    find: "performance.getEntries().length > 0",
  },
};

for (const [name, { leave, find }] of Object.entries(PLACES))
  test(`H2: ${name} carries nothing from one short run to the next`, async () => {
    const spec = bench.flow(
      `export default ({ input_value }) => { const found = Boolean(${find}); if (input_value.json) try { ${leave}; } catch {} return found; }`,
    );
    for (const leaves of [false, false, false, true, false, true, false])
      assert.equal((await run(spec, leaves)).output, false);
  });

test("H2: what a flow marks while it is loaded stays for each run to measure from", async () => {
  const spec = bench.flow(
    `performance.mark("loaded"); export default () => { const found = performance.getEntries().length; performance.measure("since", "loaded"); return found; }`,
  );
  for (let n = 0; n < 3; n += 1) assert.equal((await run(spec, null)).output, 1);
});

test("H2: marks in the place of those of the load end the thread", async () => {
  const spec = bench.flow(
    `performance.mark("loaded"); let runs = 0; export default ({ input_value }) => { if (input_value.json) { performance.clearMarks(); performance.mark("left"); } return [(runs += 1), performance.getEntries().map(({ name }) => name)]; }`,
  );
  assert.deepEqual((await run(spec, false)).output, [1, ["loaded"]]);
  const { log } = await run(spec, true);
  assert.match(log, /^warn The run changed the marks in performance that were there before it/);
  assert.deepEqual((await run(spec, false)).output, [1, ["loaded"]]);
});

test("H2: a flow that replaces how lists are gone through is compared all the same", async () => {
  const spec = bench.flow(
    `const { get: real } = Object.getOwnPropertyDescriptor({ get real() { return Array.prototype[Symbol.iterator]; } }, "real");
    const values = real(); let taken = 0;
    Array.prototype[Symbol.iterator] = function () { if (typeof this[0]?.findChange === "function") { taken += 1; Object.getPrototypeOf(this[0]).findChange = () => null; } return values.call(this); };
    let runs = 0; export default ({ input_value }) => { if (input_value.json) Object.prototype.left = 1; return [(runs += 1), taken]; }`,
  );
  assert.deepEqual((await run(spec, false)).output, [1, 0]);
  assert.match((await run(spec, true)).log, /The run changed Object.prototype.left/);
  assert.deepEqual((await run(spec, false)).output, [1, 0]);
});

/** What the runtime and programs do to one object that inherits from what all runs share. */
const OWN: Readonly<Record<string, string>> = {
  "a body that is sent": `const { port, close } = await serve(); try { return await (await fetch("http://127.0.0.1:" + port, { method: "POST", body: "sent" })).text(); } finally { close(); }`,
  "a response's clone": `const first = new Response("sent"); const second = first.clone(); return (await first.text()) && (await second.text());`,
  "a body in two": `const [one, two] = new Response("sent").body.tee(); return (await new Response(one).text()) && (await new Response(two).text());`,
  "a part of a blob": `return await new Blob(["it was sent"]).slice(7).text();`,
  "a request of a request": `return await new Request(new Request("http://a/", { method: "POST", body: "sent" })).text();`,
  "streams of text": `return await new Response(new Response("sent").body.pipeThrough(new TextDecoderStream()).pipeThrough(new TextEncoderStream())).text();`,
  "a response with a method of its own": `const response = new Response(""); response.text = async () => "sent"; return await response.text();`,
  "a list with members of its own": `const list = []; list.push = () => "sent"; list.keys = "sent"; return list.push() && list.keys;`,
  "a map that is watched": `const map = new Map(); const { set } = map; map.set = function (...args) { this.last = args[1]; return set.apply(this, args); }; return map.set(1, "sent").last;`,
  "a weak map with methods of its own": `const map = new WeakMap(); map.get = () => "sent"; return map.get({});`,
  "a promise with a method of its own": `const promise = Promise.resolve(); promise.then = () => "sent"; return promise.then();`,
  "a getter that tells the method behind it": `const { get } = Object.getOwnPropertyDescriptor(Map.prototype, "get"); return get.originalValue === Map.prototype.get && "sent";`,
  "a date that prints itself": `const date = new Date(0); date.toJSON = () => "sent"; return JSON.parse(JSON.stringify(date));`,
};

const SERVE = `import { createServer } from "node:http";
const serve = async () => { const server = createServer((request, response) => request.pipe(response)); await new Promise((done) => server.listen(0, "127.0.0.1", done)); return { port: server.address().port, close: () => (server.closeAllConnections(), server.close()) }; };`;

test("what one object is given in place of what it inherits is its own", async () => {
  const acts = Object.entries(OWN).map(
    ([name, code]) => `${JSON.stringify(name)}: async () => { ${code} }`,
  );
  const spec = bench.flow(
    `${SERVE} let runs = 0; const acts = { ${acts.join(", ")} };
    export default async ({ input_value }) => [(runs += 1), await acts[input_value.json]()];`,
    { grants: { net: true } },
  );
  for (const [at, name] of Object.keys(OWN).entries()) {
    const { output, status_message } = await run(spec, name);
    assert.deepEqual([output, status_message], [[at + 1, "sent"], null], name);
  }
});

test("H2: what a run has asked last is found by no later one", async () => {
  const spec = bench.flow(
    `${SERVE} let server; let runs = 0;
    export default async ({ input_value }) => {
      const found = performance.getEntries().length;
      server ??= await serve();
      if (input_value.json) await (await fetch("http://127.0.0.1:" + server.port + "/?secret")).text();
      else await new Promise((done) => setTimeout(done, 5));
      return [(runs += 1), found + performance.getEntries().length]; }`,
    { grants: { net: true } },
  );
  for (const [at, asks] of [true, true, false, false].entries())
    assert.deepEqual((await run(spec, asks)).output, [at + 1, 0]);
});

test("H2: what a run counts and times on the console is its own", async () => {
  const spec = bench.flow(
    `let runs = 0; export default async ({ input_value }) => {
      console.count(); console.count("toString"); console.count("toString"); console.countReset(); console.count();
      if (input_value.json) { console.time("a"); await new Promise((done) => setTimeout(done, 30)); }
      console.timeEnd(input_value.json ? "b" : "a"); return (runs += 1); }`,
  );
  const counted = "info default: 1\ninfo toString: 1\ninfo toString: 2\ninfo default: 1\ninfo";
  const { log } = await run(spec, true);
  assert.equal(log, `${counted} b: 0ms`);
  const next = await run(spec, false);
  assert.deepEqual([next.output, next.log], [2, `${counted} a: 0ms`]);
});

test("H2: how modules of the older format are read is no run's to change", async () => {
  const spec = bench.flow(
    `import old from "./old.cjs"; let runs = 0;
    export default ({ input_value }) => { if (input_value.json) old.replace(); return [(runs += 1), old.load()]; }`,
    {
      files: {
        "old.cjs": `const { _extensions } = module.constructor;
          exports.replace = () => { try { _extensions[".cjs"] = _extensions[".js"] = (made) => { made.exports = "replaced"; }; } catch {} };
          exports.load = () => { delete require.cache[require.resolve("./late.cjs")]; return require("./late.cjs"); };`,
        "late.cjs": `module.exports = "read";`,
      },
    },
  );
  for (const [runs, isReplaced] of [false, true, false].entries())
    assert.deepEqual((await run(spec, isReplaced)).output, [runs + 1, "read"]);
});

test("H2: a merge into a text of the flow's own changes no other text", async () => {
  const spec = bench.flow(
    `const merge = (into, from) => { for (const key of Object.keys(from)) if (typeof from[key] === "object" && from[key] !== null && into[key]) merge(into[key], from[key]); else into[key] = from[key]; return into; };
    export default ({ input_value }) => { merge({ name: "anna" }, input_value.json); return ["".x ?? null, Object.keys({ a: 1 }).length, " a ".trim()]; };`,
  );
  for (const json of [
    '{"name":{"__proto__":{"x":"pp"}}}',
    '{"name":{"__proto__":{"trim":"x"}}}',
    '{"constructor":{"keys":"x"}}',
    '{"name":{"constructor":{"prototype":{"x":1}}}}',
  ]) {
    await run(spec, JSON.parse(json));
    assert.deepEqual((await run(spec, {})).output, [null, 1, "a"], json);
  }
});

/** Past any look at the flow's text: what is global, and whether Node has made the classes of fetch. */
const PROBE = `const made = () => Object.getOwnPropertySymbols([].constructor.constructor("return this")()).some((symbol) => symbol.description.startsWith("undici"));`;

test("H2: a thread has the classes of fetch from its start where its flow names one, and else not", async () => {
  const flow = `${PROBE.replaceAll("constructor", "constr\\u0075ctor")} export default () => made();`;
  const named = { "class.ts": "export const name = () => new Headers();" };
  const plain = "class Plain { constructor(a) { this.a = a; } } export { join } from 'node:path';";
  const loaded = { "old.cjs": "module.exports = 1;", "data.json": '{"a": "Headers"}' };
  for (const [code, files, isMade] of [
    [flow, {}, false],
    [`${plain} ${flow}`, {}, false],
    [
      `import data from "./data.json" with { type: "json" }; export { data }; ${flow}`,
      loaded,
      false,
    ],
    [`${flow} // Response`, {}, true],
    [`export const make = (text) => (async () => {}).constructor(text); ${flow}`, {}, true],
    [`export const { constructor: make } = () => {}; ${flow}`, {}, true],
    [`import { name } from "./class.ts"; export const used = name; ${flow}`, named, true],
    // Its bare `this` is all that is global.
    [`import one from "./old.cjs"; export { one }; ${flow}`, loaded, true],
  ] as const)
    for (const _ of [1, 2])
      assert.equal((await run(bench.flow(code, { files }), null)).output, isMade, code);
  const granted = bench.flow(flow, { grants: { net: true } });
  assert.equal((await run(granted, null)).output, true);
});

/** A text that says nothing of how it gets at what is global. */
const MADE = `const call = (text) => [].constr\\u0075ctor.constr\\u0075ctor(text)();`;
const LATE = {
  "late.ts": `export function use(change) { try { if (change === 1) Headers.prototype.x = 1; if (change === 2) globalThis.Response = 1; } catch (error) { return error.name; } return typeof Headers === "function" && new Headers({ a: "b" }).get("a"); }`,
};

test("H2: a run that gets at a class of fetch past all texts is its thread's last", async () => {
  const spec = bench.flow(
    `${MADE} let runs = 0; export default ({ input_value }) => { if (input_value.json) call("return Hea" + "ders").prototype.x = 1; return (runs += 1); }`,
  );
  assert.equal((await run(spec, false)).output, 1);
  assert.equal((await run(spec, false)).output, 2);
  const first = await run(spec, true);
  assert.match(first.log, /warn The run changed what there is of fetch, which all runs share/);
  assert.equal((await run(spec, false)).output, 1);
});

test("H2: a module that a run loads finds the classes of fetch, and can change none of them", async () => {
  const spec = bench.flow(
    `let runs = 0; export default async ({ input_value }) => { const found = await import("./late.ts").then(({ use }) => use(input_value.json)); return [(runs += 1), found]; }`,
    { files: LATE },
  );
  assert.deepEqual((await run(spec, 0)).output, [1, "b"]);
  assert.deepEqual((await run(spec, 1)).output, [2, "TypeError"]);
  assert.deepEqual((await run(spec, 2)).output, [3, "TypeError"]);
  assert.deepEqual((await run(spec, 0)).output, [4, "b"], "its thread is kept");
});

const BEFORE_LATE: Readonly<Record<string, string>> = {
  "a global": 'call("left = 1")',
  "a class of fetch, that was replaced": 'call("Hea" + "ders = 1")',
  "a class of fetch, that is gone": 'call("delete Hea" + "ders")',
  "a class of fetch, that was made and changed": 'call("return Hea" + "ders").prototype.x = 1',
};

for (const [name, change] of Object.entries(BEFORE_LATE))
  test(`H2: ${name} before a run loads what uses them is not lost sight of`, async () => {
    const spec = bench.flow(
      `${MADE} let runs = 0; export default async ({ input_value }) => { if (input_value.json) ${change}; const { use } = await import("./late.ts"); return [(runs += 1), use(0)]; }`,
      { files: LATE },
    );
    const changed = await run(spec, true);
    assert.match(changed.log, /warn The run changed .*: its thread is not used again/);
    assert.deepEqual((await run(spec, false)).output, [1, "b"]);
  });

test("H2: what a run has made global it can change after it has loaded a module", async () => {
  const spec = bench.flow(
    `${MADE} export default async () => { call("left = 1"); await import("./late.ts"); call("left = 2"); return call("return left"); }`,
    { files: LATE },
  );
  assert.equal((await run(spec, null)).output, 2);
});

test("what a flow changes as it is imported costs no thread", async () => {
  const spec = bench.flow(
    `Array.prototype.second = function () { return this[1]; }; globalThis.shared = new Map(); let runs = 0;
    export default () => { shared.set(runs, 1); return (runs += 1); };`,
  );
  for (const expected of [1, 2, 3]) assert.equal((await run(spec, {})).output, expected);
});

test("M7: the way in which a run is held cannot be replaced", async () => {
  const spec = bench.flow(
    `import { AsyncLocalStorage } from "node:async_hooks";
    const seen = []; globalThis.seen = seen;
    for (const name of ["then", "catch", "finally"]) Promise.prototype[name] = function (...args) { seen.push(name, ...args); };
    export default ({ input_value }) => {
      for (const name of ["run", "getStore", "enterWith"]) AsyncLocalStorage.prototype[name] = function (...args) { seen.push(name, ...args); };
      return input_value.json;
    }`,
  );
  for (const secret of ["one", "two"]) assert.equal((await run(spec, secret)).output, secret);
});

test("6: a refused input keeps the thread", async () => {
  const spec = bench.flow(
    `import { defineFlow, v } from "flowhook"; let runs = 0;
    export default defineFlow({ input: v.object({ json: v.string() }), run: () => (runs += 1) });`,
  );
  assert.equal((await run(spec, "a")).output, 1);
  for (let times = 0; times < 5; times += 1)
    assert.match((await run(spec, 7)).status_message ?? "", /^Input does not fit/);
  assert.equal((await run(spec, "b")).output, 2);
});

test("eight runs that fail have a new thread after them, and more keep theirs", async () => {
  const spec = bench.flow(FAILING);
  const begun = performance.now();
  const renewed = await spendRenewals(spec, { fails: true }, {});
  const more = Math.floor((performance.now() - begun) / 5000);
  assert.ok(renewed >= 8 && renewed <= 8 + more, `${renewed} of which ${more} came with time`);
});

test("a run that fails while an operation waits ends once that is answered, and keeps its thread", async () => {
  const spec = bench.flow(FAILING);
  await spendRenewals(spec, { fails: true }, {});
  const { output } = await run(spec, {});
  assert.equal((await run(spec, { ticks: 0, fails: true })).status_message, "failed");
  assert.equal((await run(spec, {})).output, output + 2);
});

const TOLD_LATER: Readonly<Record<string, string>> = {
  "what it asked for fails at another time": `void setting("a"); void setting("b"); throw new Error("the cause");`,
  "a timer of its throws": `void setting("a"); setTimeout(() => { throw new Error("later"); }, 3); throw new Error("the cause");`,
  "what it awaits together fails twice": `await Promise.all([setting("a").catch(() => { void setting("thrown").catch(() => {}); throw new Error("the cause"); }), setting("b")]);`,
};

for (const [name, code] of Object.entries(TOLD_LATER))
  test(`the ending of a run that failed tells its cause, also where ${name}`, async () => {
    const { answer } = bench;
    let thrown = Promise.withResolvers<void>();
    bench.answer = async ({ name: asked }) => {
      if (asked === "a") thrown = Promise.withResolvers();
      if (asked === "thrown") thrown.resolve();
      // On a busy machine two answers can come at once, however long the second was to wait.
      else
        await (asked === "b" && code.includes("thrown")
          ? thrown.promise
          : delay(asked === "a" ? 1 : 5));
      return { ok: false, message: `no ${asked}` };
    };
    const spec = bench.flow(`let runs = 0;
      export default async ({ input_value, setting }) => {
        runs += 1;
        if (input_value.json === "other") return runs;
        ${code}
      }`);
    try {
      await spendRenewals(spec, null, "other");
      for (let n = 0; n < 12; n += 1) {
        const { status_message, log } = await run(spec, null);
        assert.equal(status_message, "the cause");
        assert.match(log, /^error Error: the cause(\n {4}at .*)*$/);
      }
    } finally {
      bench.answer = answer;
    }
  });

test("a run is warned where callbacks that it shares with earlier ones print or fail", async () => {
  const spec = bench.flow(`import { AsyncResource } from "node:async_hooks";
    const queue = []; let timer = null; let runs = 0;
    export default ({ input_value }) => new Promise((done) => {
      const { act } = input_value.json;
      timer ??= setInterval(() => queue.splice(0).forEach((callback) => callback()), 1);
      const callback = () => { if (act === "throw") throw new Error("a secret"); console.log("a secret"); console.log("more"); done((runs += 1)); };
      queue.push(act === "bind" ? AsyncResource.bind(callback) : callback);
    });`);
  const bind = "AsyncResource.bind gives callbacks to the execution that binds them";
  assert.equal((await run(spec, { act: "print" })).log, "info a secret\ninfo more");
  const second = await run(spec, { act: "print" });
  assert.equal(second.output, 2);
  assert.equal(
    second.log,
    `warn A callback that an earlier execution has set up printed, which is in no log. ${bind}`,
  );
  const third = await run(spec, { act: "bind" });
  assert.deepEqual([third.output, third.log], [3, "info a secret\ninfo more"]);
  const { id, ending } = bench.start(spec, {
    input_value: JSON.stringify({ json: { act: "throw" } }),
  });
  await until(() => bench.lines.has(id));
  assert.equal(
    bench.log(id),
    `warn A callback that an earlier execution has set up failed, and what waits for it waits on: the service's log says where. ${bind}`,
  );
  bench.abort(id, "enough");
  assert.equal((await ending).status_message, "enough");
});

test("no operation of a run that failed is answered in the next one", async () => {
  const spec = bench.flow(FAILING);
  await spendRenewals(spec, { fails: true }, {});
  const { answer } = bench;
  try {
    for (let ticks = 0; ticks < 12; ticks += 1) {
      let isAsked = false;
      bench.answer = () => ((isAsked = true), new Promise<never>(() => {}));
      await run(spec, { ticks, fails: true });
      const { output } = await run(spec, {});
      assert.ok(!isAsked || output === 1, `after ${ticks} ticks`);
    }
  } finally {
    bench.answer = answer;
  }
});

test("with isolation of executions each run has a thread that has imported nothing yet", async () => {
  const spec = bench.flow(
    `let runs = 0; const seen = []; export default ({ input_value }) => { runs += 1; seen.push(input_value); return [runs, seen.length]; }`,
    { isolation: "execution" },
  );
  for (let n = 0; n < 3; n += 1) assert.deepEqual((await run(spec, n)).output, [1, 1]);
  const together = await Promise.all(Array.from({ length: 20 }, (_, n) => run(spec, n)));
  assert.deepEqual(
    together.map(({ output }) => output),
    Array.from({ length: 20 }, () => [1, 1]),
  );
});

test("C3: a thread whose answer is none is not used again", async () => {
  const spec = bench.flow(
    `export default ({ input_value }) => {
      if (input_value.json === "first") for (const name of Object.getOwnPropertyNames(Map.prototype)) if (name !== "constructor" && name !== "size") Map.prototype[name] = () => { throw null; };
      return input_value.json;
    }`,
  );
  await run(spec, "first");
  const later: unknown[] = [];
  for (let n = 0; n < 4; n += 1) later.push((await run(spec, n)).output);
  assert.deepEqual(later.slice(1), [1, 2, 3]);
});
