/**
 * Programs of hostile flows, made by a seed: each changes what the language has in its thread,
 * then does what a flow can do, and gives back all that it saw. They run in one function that
 * knows nothing of the service but what every flow is given.
 */

type Random = () => number;

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

/** Names that messages on the way of an execution have, or that the language looks for. */
const NAMES = [
  "id",
  "type",
  "status",
  "ending",
  "job",
  "jobs",
  "key",
  "spec",
  "port",
  "data",
  "message",
  "value",
  "get",
  "set",
  "writable",
  "enumerable",
  "configurable",
  "done",
  "then",
  "toJSON",
  "constructor",
  "headers",
  "body",
  "response",
  "output_value",
  "status_message",
  "aborted",
  "lines",
  "line",
  "level",
  "text",
  "number",
  "request",
  "operation",
  "name",
  "answer",
  "ok",
  "code",
  "stack",
  "cause",
  "length",
  "0",
  "1",
  "default",
  "url",
  "format",
  "source",
  "signal",
  "grants",
  "net",
  "read",
  "transfer",
  "capture",
  "once",
  "passive",
  "next",
  "return",
  "index",
].map((name) => JSON.stringify(name));

const SYMBOLS = [
  "iterator",
  "asyncIterator",
  "toPrimitive",
  "toStringTag",
  "species",
  "hasInstance",
  "isConcatSpreadable",
  "dispose",
];

/** What replaces a method: \`old\` is what was there, \`saw\` keeps what it is given. */
const METHODS = [
  "() => true",
  "() => false",
  "() => null",
  "() => undefined",
  "() => 7",
  "() => ({})",
  "() => []",
  "() => { throw new Error('changed'); }",
  "() => { throw null; }",
  "function () { return this; }",
  "(first) => first",
  "function (...all) { saw(this, ...all); return apply(old, this, all); }",
  "function (...all) { saw(...all); return new Proxy(Object(apply(old, this, all)), {}); }",
  "function (...all) { const made = apply(old, this, all); saw(made); return typeof made === 'string' ? made + ' ' : made; }",
  "async function (...all) { saw(this, ...all); return apply(old, this, all); }",
];

const HOLDERS = [
  "Object",
  "Object.prototype",
  "Function.prototype",
  "Array",
  "Array.prototype",
  "String.prototype",
  "RegExp.prototype",
  "Promise",
  "Promise.prototype",
  "Map.prototype",
  "Set.prototype",
  "WeakMap.prototype",
  "Error",
  "Error.prototype",
  "Reflect",
  "JSON",
  "Math",
  "Date",
  "Number",
  "Symbol",
  "Symbol.prototype",
  "Proxy",
  "Buffer",
  "Buffer.prototype",
  "Uint8Array.prototype",
  "ArrayBuffer.prototype",
  "Atomics",
  "globalThis",
  "process",
  "console",
  "performance",
  "queueMicrotask",
  "structuredClone",
  "AbortSignal.prototype",
  "AbortController.prototype",
  "EventTarget.prototype",
  "Event.prototype",
  "MessagePort.prototype",
  "TextEncoder.prototype",
  "TextDecoder.prototype",
  "URL.prototype",
  "Headers.prototype",
  "Response.prototype",
  "getPrototypeOf([].values())",
  "getPrototypeOf(new Map().values())",
  "getPrototypeOf(getPrototypeOf([].values()))",
  "getPrototypeOf(async () => {})",
  "getPrototypeOf(function* () {})",
  "getPrototypeOf(getPrototypeOf(function* () {}).prototype)",
  "modules[Math.floor(modules.length * 0.3)]",
  "modules[Math.floor(modules.length * 0.6)]",
  "modules.at(-1)",
];

function change(random: Random): string {
  const holder = pick(random, HOLDERS);
  const method = pick(random, METHODS);
  const at = random();
  switch (Math.floor(random() * 7)) {
    case 0:
      return `replaceOne(() => ${holder}, ${at}, (old) => ${method});`;
    case 1:
      return `replaceAll(() => ${holder}, (old) => ${method});`;
    case 2:
      return `add(() => ${holder}, ${pick(random, NAMES)}, ${method.replaceAll("old", "(() => {})")});`;
    case 3:
      return `accessor(() => Object.prototype, ${pick(random, NAMES)}, ${random() < 0.5});`;
    case 4:
      return `accessor(() => ${holder}, Symbol.${pick(random, SYMBOLS)}, ${random() < 0.5});`;
    case 5:
      return `freeze(() => ${holder});`;
    default:
      return `turn(() => ${holder}, ${at});`;
  }
}

const WEIRD = [
  "null",
  "undefined",
  "0",
  "-0",
  "NaN",
  "1n",
  "''",
  "'x'.repeat(70000)",
  "'\\ud800'",
  "[]",
  "[,]",
  "{}",
  "Symbol('s')",
  "() => 1",
  "new Date(NaN)",
  "new Proxy({}, { get: (_, name) => { saw(name); return () => 1; }, ownKeys: () => ['a', 'a'] })",
  "new Proxy([], { get: (from, name) => name === 'length' ? 2 ** 31 : from[name] })",
  "new Proxy(() => {}, { apply: (_, __, all) => saw(...all) })",
  "{ toJSON: () => '\"}' }",
  "{ toJSON() { return this; } }",
  "{ get a() { throw null; } }",
  "{ then: (f) => f(1) }",
  "{ then: 7 }",
  "{ __proto__: null, a: 1 }",
  'JSON.parse(\'{"__proto__": {"headers": {"content-type": "text/html"}, "body": "polluted"}}\')',
  "(() => { const cycle = {}; cycle.cycle = cycle; return cycle; })()",
  "JSON.parse('['.repeat(5000) + ']'.repeat(5000))",
  "new Error('e')",
  "Object.assign(new Error('e'), { get stack() { throw 1; }, message: { toString() { throw 2; } } })",
  "new Uint8Array(10)",
  "new SharedArrayBuffer(8)",
  "new Map([[1, 2]])",
];

function act(random: Random): string {
  const [one, two, three] = [pick(random, WEIRD), pick(random, WEIRD), pick(random, WEIRD)];
  const acts = [
    `flow.webhook_response({ status: ${pick(random, ["200", "302", "99", one])}, headers: ${pick(random, ["{ 'content-type': 'text/html' }", two])}, body: ${three} });`,
    `flow.webhook_response(${one});`,
    `flow.webhook_json_response(${one});`,
    `flow.webhook_html_response(${one});`,
    `flow.set_status_message(${one});`,
    `flow.log.info(${one}, ${two}); console.error(${three});`,
    `saw(await flow.setting(${one}));`,
    `saw(await flow.set_setting(${pick(random, ["'left'", one])}, ${two}));`,
    `saw(await flow.secret(${pick(random, ["'CANARY'", one])}));`,
    `flow.start_execution(${one}, ${two});`,
    `saw(await import(${pick(random, ["'node:worker_threads'", "'node:fs'", "'node:v8'", "'node:async_hooks'", "'node:diagnostics_channel'", "'node:events'", one])}));`,
    `setTimeout(() => { throw ${one}; }, ${Math.floor(random() * 20)});`,
    `Promise.reject(${one});`,
    `process.emit('uncaughtException', ${one}); process.emit('message', ${two}); process.nextTick(() => { throw ${three}; });`,
    `globalThis.left = ${one}; Object.prototype.left = ${two};`,
    `for (let n = 0; n < 30; n++) saw(Buffer.allocUnsafeSlow(4096).toString('latin1'));`,
    `saw(new Error().stack, Error.captureStackTrace, process.argv, process.env, process.execArgv, flow, flow.execution);`,
    `saw(structuredClone(${one})); new MessageChannel().port1.postMessage(${two});`,
    `const { port1, port2 } = new MessageChannel(); port2.onmessage = (event) => saw(event); port1.postMessage({ type: 'ended', id: flow.execution.id });`,
    `for (const descriptor of [0, 1, 2, 3, 4, 17, 20]) try { const bytes = Buffer.alloc(512); (await import('node:fs')).readSync(descriptor, bytes); saw(bytes.toString('latin1')); } catch {}`,
    `(await import('node:zlib')).gzip('x', () => { throw ${one}; });`,
    `new (await import('node:async_hooks')).AsyncLocalStorage().run(1, () => saw(Object.getPrototypeOf(new (class {})())));`,
    `queueMicrotask(() => { throw ${one}; });`,
    `await new Promise((done) => setTimeout(done, ${Math.floor(random() * 10)}));`,
    `for (const end = Date.now() + ${Math.floor(random() * 40)}; Date.now() < end;);`,
    `return ${one};`,
    `throw ${one};`,
  ];
  return pick(random, acts);
}

/** The statements of one program. */
export function hostileProgram(random: Random): string {
  const lines: string[] = [];
  for (let left = 1 + Math.floor(random() * 4); left > 0; left -= 1) lines.push(change(random));
  for (let left = 1 + Math.floor(random() * 4); left > 0; left -= 1)
    lines.push(`try { ${act(random)} } catch (error) { saw(error); }`);
  if (random() < 0.2) lines.push(change(random));
  return lines.join("\n");
}

/** A flow that runs the program that its caller sends, and gives back what that saw. */
export const HOSTILE_FLOW = `
const { apply, defineProperty, getOwnPropertyDescriptor, ownKeys, getPrototypeOf, setPrototypeOf } = Reflect;
const AsyncFunction = getPrototypeOf(async () => {}).constructor;
const push = Array.prototype.push; const slice = String.prototype.slice; const text = String;
const modules = (await Promise.all(["node:events", "node:util", "node:path", "node:url", "node:buffer", "node:stream", "node:string_decoder"].map((name) => import(name)))).map((module) => module.default);
const tools = { apply, getPrototypeOf, modules,
  replaceOne(of, at, make) { try { const holder = of(); const names = ownKeys(holder); const name = names[Math.floor(at * names.length)]; const old = getOwnPropertyDescriptor(holder, name).value; if (typeof old === "function") defineProperty(holder, name, { value: make(old), configurable: true, writable: true }); } catch {} },
  replaceAll(of, make) { try { const holder = of(); for (const name of ownKeys(holder)) { const found = getOwnPropertyDescriptor(holder, name); if (typeof found.value === "function" && name !== "constructor") try { defineProperty(holder, name, { value: make(found.value), configurable: true, writable: true }); } catch {} } } catch {} },
  add(of, name, value) { try { defineProperty(of(), name, { value, configurable: true, writable: true, enumerable: true }); } catch {} },
  accessor(of, name, throws) { try { defineProperty(of(), name, { configurable: true, get() { if (throws) throw new Error("got"); return undefined; }, set(value) { tools.saw(this, value); defineProperty(this, name, { value, configurable: true, writable: true, enumerable: true }); } }); } catch {} },
  freeze(of) { try { Object.freeze(of()); } catch {} },
  turn(of, at) { try { setPrototypeOf(of(), at < 0.5 ? null : new Proxy({}, { get: (_, name) => { tools.saw(name); } })); } catch {} },
  saw(...values) { for (let n = 0; n < values.length; n++) look(values[n], 0); },
};
let seen = [];
function look(value, depth) {
  if (seen.length > 2000) return;
  if (typeof value === "string") { if (value.length > 3) apply(push, seen, [apply(slice, value, [0, 4000])]); return; }
  if ((typeof value !== "object" && typeof value !== "function") || value === null || depth > 3) return;
  try { const names = ownKeys(value); for (let n = 0; n < names.length && n < 50; n++) { const found = getOwnPropertyDescriptor(value, names[n]); if (found && "value" in found) look(found.value, depth + 1); } } catch {}
}
const stringify = JSON.stringify; const names = Object.keys(tools);
export default async function hostile(flow) {
  const program = new AsyncFunction("flow", ...names, flow.input_value.json.program);
  const kept = seen; seen = [];
  let returned;
  try { returned = await program(flow, ...names.map((name) => tools[name])); } catch (error) { tools.saw(error); returned = { thrown: true }; }
  const told = [stringify(kept), stringify(seen)];
  return { told, returned };
}
`;
