import assert from "node:assert/strict";
import { builtinModules } from "node:module";
import { after, before, test } from "node:test";
import { needOf } from "../../src/sandbox/builtins.ts";
import { openBench, type Bench, type FlowOptions } from "../runner/runners-fixture.ts";

/**
 * A flow shares its thread with the code that holds it: whatever it changes of the language, the
 * rules stand. The methods and getters are found by a walk of `globalThis`, not by a list.
 */

let bench: Bench;
before(async () => {
  bench = await openBench({ max_log_lines: 100_000 });
});
after(() => bench[Symbol.asyncDispose]());

const SCHEMED = ["sea", "sqlite", "test", "test/reporters"];
const NAMES = [...builtinModules.map((name) => name.replace(/^node:/, "")), ...SCHEMED];
const FORBIDDEN = [...new Set(NAMES)].filter((name) => needOf(name) !== "none");
const ALLOWED = [...new Set(NAMES)].filter((name) => needOf(name) === "none");

/** What replaces a method or a getter. */
const MODES = `[() => true, () => false, () => undefined, () => "path", () => 7, function () { return this; },
  (first) => first, () => ({ url: "node:fs", format: "builtin", shortCircuit: true }), () => { throw new Error("changed"); }]`;

/**
 * Walks the language's objects and changes one place after the other, from a given one on. What
 * the flow needs itself it keeps before. Each number is told before its attempt, because the flow
 * may well end by what it did.
 */
const CHANGES = `
const { apply, defineProperty, getOwnPropertyDescriptor, ownKeys, getPrototypeOf } = Reflect;
const { has, add } = Set.prototype; const then = Promise.prototype.then; const { Promise: P } = globalThis;
const seen = new Set(); const places = [];
(function walk(from) {
  if ((typeof from !== "object" && typeof from !== "function") || from === null || apply(has, seen, [from])) return;
  apply(add, seen, [from]);
  const names = ownKeys(from);
  for (let at = 0; at < names.length; at++) {
    const found = getOwnPropertyDescriptor(from, names[at]);
    if (!found.configurable && !found.writable) continue;
    if (typeof found.value === "function" || found.get) places[places.length] = [from, names[at], found];
    if ("value" in found) { walk(found.value); continue; }
    walk(found.get); walk(found.set);
    // Classes of the web are made when they are first asked for.
    if (from === globalThis) try { walk(from[names[at]]); } catch {}
  }
  walk(getPrototypeOf(from));
})({ globalThis, modules: await Promise.all(ALLOWED.map((name) => import(name))), made: [
  function* () {}, async () => {}, async function* () {}, [].values(), new Map().values(), new Set().values(), ""[Symbol.iterator](), "a".matchAll(/a/g),
  (await import("diagnostics_channel")).tracingChannel("x"), (await import("async_hooks")).AsyncLocalStorage.prototype,
] });
const modes = ${MODES};
function change([object, name, found], mode) {
  const { configurable, enumerable, writable, set } = found;
  const changed = "value" in found ? { configurable, enumerable, writable, value: mode } : { configurable, enumerable, get: mode, set };
  try { defineProperty(object, name, changed); } catch {}
}
function restore([object, name, found]) { try { defineProperty(object, name, found); } catch {} }
/** @param attempt gives what is to be awaited, or null */
export async function changeEach(log, start, rounds, attempt) {
  const all = places.length * rounds;
  for (let number = start; number < all; number++) {
    const at = number % places.length;
    const place = places[at];
    log(number);
    change(place, modes[(at + (number - at) / places.length) % modes.length]);
    try { const waiting = attempt(number, log); if (waiting) await waiting; } catch {} finally { restore(place); }
  }
  log("all " + places.length);
}
`;

interface Attempt {
  readonly name: string;
  /** Gets the name of a module, and hands what it reached to \`log\`. */
  readonly code: string;
  readonly file: string;
  /** In how many ways each place is changed; one takes turns with all. */
  readonly rounds: number;
  readonly options?: FlowOptions;
}

const IMPORTS = `(number, log) => new P((done) => {
  let left = 2;
  const settle = () => { if ((left -= 1) === 0) done(); };
  for (const name of [FORBIDDEN[number % FORBIDDEN.length], "worker_threads"]) {
    let asked = null;
    try { asked = import((number % 2 ? "node:" : "") + name); } catch { settle(); continue; }
    apply(then, asked, [(found) => { if (isModule(found)) log("reached " + name); settle(); }, settle]);
  }
})`;

const REQUIRES = `(number, log) => {
  const Module = module.constructor;
  const name = FORBIDDEN[number % FORBIDDEN.length];
  const ways = [
    () => require(name), () => require("node:" + name), () => require("node:worker_threads"), () => module.require("fs"),
    () => Module._load(name, module), () => Module._load("node:fs", module, false, {}),
    () => Module._load("x", module, false, { resolved: { url: "node:fs", filename: "fs", format: "builtin" } }),
    () => Module._load("x", module, false, { resolved: { url: "node:path", filename: "worker_threads", format: "builtin" } }),
    () => Module._load("fs", module, false, { shouldSkipModuleHooks: true }),
    () => { module.filename = "flowhook-substitute:x"; return require("node:fs"); },
    () => { Object.defineProperty(module, "filename", { value: "node:path" }); return require("node:fs"); },
    () => Module.prototype.constructor.createRequire("/x")("node:fs"),
    () => unlessEmpty(getBuiltinModule("fs")), () => unlessEmpty(getBuiltinModule(name)),
  ];
  for (let at = 0; at < ways.length; at++) {
    try { if (ways[at]() !== undefined) log("reached " + name + " by " + ways[at]); } catch {}
  }
  return null;
}`;

/** A file that says it is one of a package: it gets stand-ins, which have nothing behind them. */
const PACKAGE_REQUIRES = `(number, log) => {
  module.filename = __dirname + "/../plugins/node_modules/x/a.cjs";
  const name = FORBIDDEN[number % FORBIDDEN.length];
  const ways = [
    () => require(name), () => require("node:" + name), () => module.require("node:fs"), () => require("worker_threads"),
    () => Module.createRequire(module.filename)(name), () => getBuiltinModule("node:" + name),
  ];
  for (let at = 0; at < ways.length; at++) {
    try { if (unlessEmpty(ways[at]()) !== undefined) log("reached " + name + " by " + at); } catch {}
  }
  return null;
}`;

const FLOW = `import { changeEach } from "./changes.mjs";
import { attempt } from "./ATTEMPT";
export default async ({ log, input_value }) => { await changeEach((text) => log.info(text), input_value.json.start, input_value.json.rounds, attempt); };`;

const KEPT = `const { apply, getOwnPropertyDescriptor } = Reflect; const then = Promise.prototype.then; const { Promise: P } = globalThis;
const isModule = (found) => typeof found === "object" && found !== null && getOwnPropertyDescriptor(found, "default") !== undefined;
const FORBIDDEN = ${JSON.stringify(FORBIDDEN)};`;

/**
 * What a module gives but names that refuse, and the loader that every module of CommonJS has. What the
 * flow puts in the place of a function of its process is its own.
 */
const EMPTY = `const Module = module.constructor; const { getBuiltinModule } = process; const { ownKeys } = Reflect; const { toString } = Function.prototype; const { includes } = String.prototype;
const isEmpty = (found) => {
  const names = ownKeys(found);
  for (let at = 0; at < names.length; at++) {
    if (typeof found[names[at]] !== "function") continue;
    const text = apply(toString, found[names[at]], []);
    if (!apply(includes, text, ["refuse(prefix + name)"]) && text !== "() => {}" && text !== "() => false") return false;
  }
  return names.length > 0;
};
const unlessEmpty = (found) => found === undefined || found === Module || isEmpty(found) ? undefined : found;`;

const ATTEMPTS: readonly Attempt[] = [
  {
    name: "an import of a .ts file",
    file: "attempt.ts",
    rounds: 9,
    code: `${KEPT} export const attempt = ${IMPORTS};`,
  },
  {
    name: "an import of an .mjs file",
    file: "attempt.mjs",
    rounds: 1,
    code: `${KEPT} export const attempt = ${IMPORTS};`,
  },
  {
    name: "a require of a .cjs file",
    file: "attempt.cjs",
    rounds: 9,
    code: `${KEPT} ${EMPTY} exports.attempt = ${REQUIRES};`,
  },
  {
    name: "a require of a file that says it is a package's",
    file: "attempt.cjs",
    rounds: 9,
    code: `${KEPT} ${EMPTY} exports.attempt = ${PACKAGE_REQUIRES};`,
  },
];

/** Goes on behind the change with which a run ended, until all have been tried. */
async function changeAll({ file, rounds, code, options }: Attempt) {
  const files = {
    "changes.mjs": CHANGES.replace("ALLOWED", JSON.stringify(ALLOWED)),
    [file]: code,
  };
  const spec = bench.flow(FLOW.replace("ATTEMPT", file), { ...options, files });
  const reached: string[] = [];
  let runs = 0;
  for (let start = 0; ; runs += 1) {
    const input_value = JSON.stringify({ json: { start, rounds } });
    const { id, ending } = bench.start(spec, { input_value });
    const { status_message } = await ending;
    const lines = bench.log(id).split("\n");
    reached.push(...lines.filter((line) => line.includes("reached")));
    const last = lines.findLast((line) => /^info (\d+|all \d+)$/.test(line));
    assert.ok(last !== undefined, `${status_message}\n${bench.log(id).slice(0, 1000)}`);
    if (last.startsWith("info all"))
      return { places: Number(last.slice(9)), runs: runs + 1, reached };
    start = Number(last.slice(5)) + 1;
  }
}

for (const attempt of ATTEMPTS)
  test(`C3: ${attempt.name} reaches no forbidden module, whatever is changed`, async (t) => {
    const { places, runs, reached } = await changeAll(attempt);
    t.diagnostic(`${places} places in ${runs} runs`);
    assert.deepEqual(reached, []);
    assert.ok(places > 1000, `${places} places`);
  });
