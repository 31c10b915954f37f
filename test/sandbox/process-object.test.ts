import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { Worker } from "node:worker_threads";
import { openBench, type Bench } from "../runner/runners-fixture.ts";

/** The real process is the runner's: a flow must not be handed it by what the runtime reads. */

let bench: Bench;
before(async () => {
  bench = await openBench();
});
after(() => bench[Symbol.asyncDispose]());

/** What has the members of the original, whoever shows it. */
const LOOKS = `const found = []; const look = (it, where) => { try { if (it !== process && Object.hasOwn(it, "versions") && Object.hasOwn(it, "_tickCallback")) found.push(where); } catch {} };`;
/** Lets the runtime warn, deprecate, reject, schedule, print and fail. */
const USES = `
  import util from "node:util"; import { EventEmitter } from "node:events"; import stream from "node:stream"; import url from "node:url"; import zlib from "node:zlib"; import crypto from "node:crypto"; import assert from "node:assert"; 
  async function use() {
    const acts = [
      () => util.deprecate(() => 1, "x", "D" + Math.random())(), () => new Buffer(1), () => url.parse("http://a:x/"), () => url.resolve("a", "b"),
      () => { const many = new EventEmitter(); for (let i = 0; i < 12; i++) many.on("x", () => {}); }, () => new EventEmitter().emit("error", 1),
      () => assert.equal({ a: 1 }, { b: 2 }), () => assert.deepEqual([1], [2]), () => util.inspect(globalThis, { depth: 5 }), () => crypto.createHash("md5"), () => zlib.gzipSync("x"),
      () => util.styleText("red", "x"), () => util.promisify(async () => {})(), () => process.emitWarning("x", "DeprecationWarning"), () => console.error(new Error("x")), () => console.trace("x"),
      () => new stream.Readable({ read() {} }).destroy(), () => process.nextTick(() => {}), () => structuredClone({}), () => new util.TextDecoder("latin1"),
      () => Promise.resolve().then(() => {}), () => setTimeout(() => {}, -1), () => setImmediate(() => {}), () => util.parseArgs({ args: [] }), () => util.getSystemErrorMap(), () => process.hrtime(), () => process.memoryUsage(), () => process.uptime(),
    ];
    for (const act of acts) try { void Promise.resolve(act()).catch(() => {}); } catch {}
    await new Promise((done) => setTimeout(done, 5));
  }`;

/** Every name that the runtime's sources read of it, or of anything, and those it has itself. */
const NAMES = `["noDeprecation", "throwDeprecation", "traceDeprecation", "traceProcessWarnings", "mainModule", "channel", "connected", "domain", "finalization", "ref", "send", "signalCode", "unref", "addUncaughtExceptionCaptureCallback", "setupUncaughtExceptionCapture", "then", "toJSON", "constructor", "_events", "_maxListeners", "_eventsCount", "on", "emit", "listeners", "rawListeners", "isTTY", "writable", "get", "set", "value", "port", "handle", "fd", "signal", "code", "type", "detail", "name", "cause", "stdout", "stderr", "stdin", "versions", "argv"]`;

const ROWS: Readonly<Record<string, string>> = {
  "getters of Object.prototype": `for (const name of ${NAMES}) { if (name in {}) continue; Object.defineProperty(Object.prototype, name, { configurable: true, get() { look(this, name); return undefined; }, set(value) { look(this, name); Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true }); } }); try { await use(); } finally { delete Object.prototype[name]; } }`,
  "a proxy at the end of what emitters inherit": `const before = Object.getPrototypeOf(EventEmitter.prototype); Object.setPrototypeOf(EventEmitter.prototype, new Proxy(before, { get(target, name, receiver) { look(receiver, "get " + String(name)); return Reflect.get(target, name, receiver); }, has(target, name) { return name in target; }, set(target, name, value, receiver) { look(receiver, "set " + String(name)); return Reflect.set(target, name, value, receiver); } })); try { await use(); } finally { Object.setPrototypeOf(EventEmitter.prototype, before); }`,
  "patched methods of emitters": `const patched = []; for (const name of Reflect.ownKeys(EventEmitter.prototype)) { const was = Object.getOwnPropertyDescriptor(EventEmitter.prototype, name); if (typeof was.value !== "function" || name === "constructor") continue; patched.push([name, was]); Object.defineProperty(EventEmitter.prototype, name, { ...was, value(...args) { look(this, String(name)); return was.value.apply(this, args); } }); } try { await use(); } finally { for (const [name, was] of patched) Object.defineProperty(EventEmitter.prototype, name, was); }`,
  "patched calls": `const { apply, call } = Function.prototype; Function.prototype.call = function (it, ...args) { look(it, "call"); return Reflect.apply(this, it, args); }; try { await use(); } finally { Function.prototype.call = call; }`,
};

for (const [name, code] of Object.entries(ROWS))
  test(`M7: ${name} hand no flow the real process`, async () => {
    const flow = `// @ts-nocheck\n${USES}\nexport default async () => { ${LOOKS}\n${code}\nreturn [...new Set(found)]; };`;
    const { output_value, status_message } = await bench.run(bench.flow(flow));
    assert.equal(output_value, "[]", status_message ?? "");
  });

test("streams can be piped into what a flow prints to", async () => {
  const code = `import { Readable } from "node:stream"; import { pipeline } from "node:stream/promises";
    export default async () => {
      const read = Readable.from(["first"]); read.pipe(process.stdout); await new Promise((done) => read.on("end", done));
      await pipeline(Readable.from(["second"]), process.stderr);
      await new Promise((done) => process.stdout.end("third", done));
      await new Promise((done) => process.stdout.end(done));
      return [process.stdout.off("error", () => {}) === process.stdout, process.stdout.emit("x"), process.on("x", () => {}) === process];
    };`;
  const { id, ending } = bench.start(bench.flow(code));
  const { output_value, status_message } = await ending;
  assert.equal(output_value, "[true,false,true]", status_message ?? "");
  assert.equal(bench.log(id), "info first\nerror second\ninfo third");
});

test("what a thread prints may be asked for once its process was replaced", async () => {
  const program = new URL("./replaced-process-thread.ts", import.meta.url);
  const thread = new Worker(program, { stdout: true, stderr: true });
  assert.deepEqual(await once(thread, "message"), ["replaced"]);
  thread.stdout.resume();
  thread.stderr.resume();
  // It is asked for in the next turn.
  await new Promise((resolve) => setImmediate(resolve));
  const exited = once(thread, "exit");
  thread.postMessage("end");
  assert.deepEqual(await once(thread, "message"), ["heard"]);
  assert.deepEqual(await exited, [0]);
});
