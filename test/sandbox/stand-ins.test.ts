import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { constants } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { FUNCTIONS } from "../../src/sandbox/builtin-names.ts";
import { needOf } from "../../src/sandbox/builtins.ts";
import { standInOf } from "../../src/sandbox/stand-ins.ts";
import type { Inspection } from "../../src/shared/wire/protocol.ts";
import { openBench, type Bench, type FlowOptions } from "../runner/runners-fixture.ts";

/** Packages import modules of the runtime that their flow has no permission for: they get no more than names. */

let bench: Bench;
before(async () => {
  // Longer than anything takes that ends by itself, on however busy a machine.
  bench = await openBench({ inspect_ms: 60_000 });
});
after(() => bench[Symbol.asyncDispose]());

const STAND_INS = Object.keys(FUNCTIONS);
const require = createRequire(import.meta.url);

let last = 0;

/** A package with this text, `.cjs` or `.mjs`. @returns its name */
function addPackage(file: string, text: string, more: object = {}): string {
  const name = `package-${(last += 1)}`;
  const folder = join(bench.folder, "plugins/node_modules", name);
  mkdirSync(folder, { recursive: true });
  const exports = `./${file}`;
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name, version: "1.0.0", exports, ...more }),
  );
  writeFileSync(join(folder, file), text);
  return name;
}

/** What the default export of a package gives that a flow calls, or why there is nothing. */
async function runOf(file: string, text: string, options: FlowOptions = {}): Promise<unknown> {
  const name = addPackage(file, text);
  const code = `import give from "${name}"; export default () => give();`;
  const { status_message, output_value } = await bench.run(bench.flow(code, options));
  return output_value === null ? status_message : JSON.parse(output_value);
}

/** Each tells how a file was refused that it reads. */
const SAYS = `const says = async (act) => { try { return String(await act()); } catch (error) { return [error.code, error.message].join(": "); } };`;

test("every module of Node is given, stands in, or is refused by its need", () => {
  const refused = ["ffi", "sea", "sqlite", "test", "test/reporters"];
  for (const full of builtinModules) {
    const name = full.replace(/^node:/, "");
    if (name.startsWith("_")) continue;
    const isGiven = ["none", "package"].includes(needOf(name));
    assert.equal(isGiven || refused.includes(name), !STAND_INS.includes(name), name);
  }
});

for (const name of STAND_INS)
  test(`the stand-in of ${name} has the names and the constants that Node's has`, async () => {
    const url = `data:text/javascript,${encodeURIComponent(standInOf(name) ?? "")}`;
    const standIn = (await import(url)).default as Record<string, unknown>;
    const real = require(`node:${name}`) as Record<string, unknown>;
    const names = Object.getOwnPropertyNames(real).filter((key) => !key.startsWith("_"));
    assert.deepEqual(Object.keys(standIn).toSorted(), names.toSorted());
    for (const key of names) {
      assert.equal(typeof standIn[key], typeof real[key], key);
      if (key === "constants" && name.startsWith("fs"))
        assert.deepEqual({ ...(standIn[key] as object) }, { ...(real[key] as object) });
      if (["METHODS", "STATUS_CODES"].includes(key)) assert.deepEqual(standIn[key], real[key]);
      if (["string", "number"].includes(typeof real[key])) assert.equal(standIn[key], real[key]);
    }
  });

for (const name of ["async_hooks", "console", "os", "process", "tty"])
  test(`what a flow gets of ${name} has the names that Node's has`, async () => {
    const real: object = await import(`node:${name}`);
    const names = Object.keys(real).filter((key) => !/^_|^(?:default|module\.exports)$/.test(key));
    const code = `import * as all from "${name}"; const wanted = ${JSON.stringify(names)};
      export default () => wanted.filter((key) => !(key in all));`;
    assert.deepEqual(await runOf("a.mjs", code), []);
  });

test("what no flow is given of the system is there by name, and throws", async () => {
  const code = `import os, { userInfo } from "os"; import { WriteStream } from "tty"; import { Console } from "console"; const own = require("os"); ${SAYS}
    export default () => Promise.all([() => userInfo(), () => own.totalmem(), () => new WriteStream(1), () => new (class extends Console {})()].map(says));`;
  const made = `import { createRequire } from "module"; const require = createRequire(import.meta.url); ${code}`;
  const why = "in a flow: it reaches beyond the flow's own thread";
  assert.deepEqual(await runOf("a.mjs", made), [
    `ERR_ACCESS_DENIED: Cannot use "os.userInfo" ${why}`,
    `ERR_ACCESS_DENIED: Cannot use "os.totalmem" ${why}`,
    `ERR_ACCESS_DENIED: Cannot use "tty.WriteStream" ${why}`,
    `: "console.Console" is not available in a flow: console itself prints to its log`,
  ]);
});

test("a package names modules of Node by its own imports too", async () => {
  const imports = {
    "#fs": { node: "fs", default: "./none.mjs" },
    "#path": "path",
    "#workers": "worker_threads",
  };
  const text = `import fs from "#fs"; import path from "#path"; import { isMainThread } from "#workers"; ${SAYS}
    export default async () => [path.posix.join("a", "b"), isMainThread, await says(() => fs.readFileSync("/etc/hostname"))];`;
  const name = addPackage("a.mjs", text, { imports });
  const code = `import give from "${name}"; export default () => give();`;
  assert.equal((await bench.runners.inspect(bench.flow(code))).kind, "flow");
  const { output_value } = await bench.run(bench.flow(code));
  const [joined, isMainThread, refused] = JSON.parse(output_value ?? "[]") as unknown[];
  assert.deepEqual([joined, isMainThread], ["a/b", true]);
  assert.match(String(refused), /^ERR_ACCESS_DENIED: Cannot use "fs.readFileSync" without/);
});

const FORMS: Readonly<Record<string, readonly [file: string, text: string]>> = {
  "a default import": ["a.mjs", `import fs from "fs"; READ(fs.readFileSync)`],
  "a named import": ["a.mjs", `import { readFileSync } from "node:fs"; READ(readFileSync)`],
  "a namespace": ["a.mjs", `import * as fs from "node:fs"; READ(fs.readFileSync)`],
  "a dynamic import": ["a.mjs", `READ(async (path) => (await import("fs")).readFileSync(path))`],
  "a subpath": ["a.mjs", `import { readFile } from "fs/promises"; READ(readFile)`],
  "promises of fs": ["a.mjs", `import { promises } from "fs"; READ(promises.readFile)`],
  require: ["a.cjs", `READ(require("fs").readFileSync)`],
  "require of a node: name": ["a.cjs", `READ(require("node:fs").readFileSync)`],
  "require of a subpath": ["a.cjs", `READ(require("fs/promises").readFile)`],
  "module.require": ["a.cjs", `READ(module.require("fs").readFileSync)`],
  createRequire: [
    "a.mjs",
    `import { createRequire } from "module"; READ(createRequire(import.meta.url)("fs").readFileSync)`,
  ],
  "createRequire of elsewhere": [
    "a.mjs",
    `import module from "node:module"; READ((path) => module.createRequire(import.meta.url)("node:fs").readFileSync(path))`,
  ],
  getBuiltinModule: ["a.mjs", `READ(process.getBuiltinModule("node:fs").readFileSync)`],
};

for (const [name, [file, text]] of Object.entries(FORMS))
  test(`a package that gets fs by ${name} is told of the permission when it uses it`, async () => {
    const shows = file.endsWith(".mjs") ? "export default" : "module.exports =";
    const code = text.replace(
      /READ\((.*)\)$/,
      `${SAYS} ${shows} () => says(() => ($1)("/etc/passwd"))`,
    );
    const told = String(await runOf(file, code));
    assert.match(told, /^ERR_ACCESS_DENIED: Cannot use "fs\.[A-Za-z.]+" without a permission: /);
    assert.match(told, /: add permissions: \{ read: \["\/path"\] \} to the flow, and the path to/);
    const granted = { grants: { read: ["/etc"] } };
    assert.match(String(await runOf(file, code, granted)), /root:/);
  });

test("what no flow is given says so, and what needs the network names that", async () => {
  const use = (name: string, act: string) =>
    runOf(
      "a.cjs",
      `${SAYS} const it = require("${name}"); module.exports = () => says(() => ${act})`,
    );
  assert.equal(
    await use("child_process", `it.execSync("id")`),
    `ERR_ACCESS_DENIED: Cannot use "child_process.execSync" in a flow: it reaches beyond the flow's own thread`,
  );
  assert.equal(
    await use("https", `new it.Agent()`),
    `ERR_ACCESS_DENIED: Cannot use "https.Agent" without a permission: add permissions: { net: true } to the flow`,
  );
});

test("a flow's own files are refused at import, and told which of them it is", async () => {
  const files = { "lib/run.ts": `import "node:child_process"; export const a = 1;` };
  const spec = bench.flow(`import "./lib/run.ts"; export default () => 1`, { files });
  assert.equal(
    (await bench.run(spec)).status_message,
    `Cannot import "node:child_process" in a flow: it reaches beyond the flow's own thread ("lib/run.ts" imports it). Something else starts programs: flowhook docs recipes, "Start a program"`,
  );
});

test("an inspection gives packages what the flow declares, and no more", async () => {
  const agent = addPackage("a.cjs", `exports.agent = new (require("http").Agent)();`);
  const lazy = addPackage("a.cjs", `exports.read = require("fs").readFileSync;`);
  const inspect = (permissions: string): Promise<Inspection> =>
    bench.runners.inspect(
      bench.flow(
        `import { defineFlow } from "flowhook"; import { agent } from "${agent}"; import { read } from "${lazy}"; export default defineFlow({ ${permissions} run: () => [agent, read] });`,
      ),
    );
  assert.equal((await inspect("permissions: { net: true },")).kind, "flow");
  const bare = await inspect("");
  assert.match(bare.kind === "broken" ? bare.message : "", /Cannot use "http.Agent" without/);
});

test("an inspection gives a package nothing for what it asks for once it was refused", async () => {
  const later = addPackage(
    "a.cjs",
    `try { require("fs").readFileSync("/none"); } catch (error) { if (error.code === "ERR_ACCESS_DENIED" && /add permissions/.test(error.message)) new (require("net").Socket)(); }`,
  );
  const spec = bench.flow(`import "${later}"; export default () => 1;`);
  const found = await bench.runners.inspect(spec);
  assert.match(found.kind === "broken" ? found.message : "", /Cannot use "net.Socket" without/);
});

/** All that an object leads to: members, getters, symbols, prototypes, and what `also` says. */
const WALK = `const walk = (roots, isKnown, also = () => []) => {
  const seen = new Set(); const left = [...roots];
  while (left.length > 0) {
    const it = left.pop();
    if ((typeof it !== "object" && typeof it !== "function") || it === null || seen.has(it) || isKnown(it)) continue;
    seen.add(it); left.push(Object.getPrototypeOf(it), ...also(it));
    for (const key of Reflect.ownKeys(it)) { const { value, get, set } = Object.getOwnPropertyDescriptor(it, key); left.push(value, get, set); }
  }
  return seen;
};`;

/** Calls it in every way, and gives what is thrown. */
const THROWN = `const thrown = (it) => typeof it !== "function" ? [] : [() => it(), () => new it(), () => it.call(process, "/etc/passwd"), () => Reflect.construct(it, [], Array), () => new (class extends it {})(), () => it[Symbol.hasInstance]({}), () => it[Symbol.species], () => it.bind(null)(), () => it.caller, () => it.arguments, () => it.toString()]
  .map((act) => { try { return act(); } catch (error) { return error; } });`;

/** What the modules lead to that neither the language has nor a stand-in makes. */
const FOREIGN = `${WALK} ${THROWN}
  const globals = walk([globalThis, function* () {}, async () => {}, async function* () {}, new Error("")], () => false);
  const isOwn = (it) => {
    if (typeof it !== "function") return Object.getPrototypeOf(it) !== null || Object.prototype.toString.call(it) === "[object Module]";
    const text = Function.prototype.toString.call(it);
    return text.includes("refuse(prefix + name)") || text === "() => {}" || text === "() => false";
  };
  module.exports = async () => {
    const foreign = new Set();
    for (const name of ${JSON.stringify(STAND_INS)}) {
      const reached = walk([require(name), await import(name)], (it) => globals.has(it), thrown);
      if (reached.size < 4) foreign.add(name + " has nothing");
      for (const it of reached) if (!isOwn(it)) foreign.add(name);
    }
    return [...foreign];
  };`;

test("a stand-in leads to nothing but what its own text makes and the language has", async () => {
  assert.deepEqual(await runOf("a.cjs", FOREIGN), []);
  const granted = await runOf("a.cjs", FOREIGN.replace(", thrown)", ")"), {
    grants: { net: true, read: ["/etc"] },
  });
  for (const name of ["fs", "fs/promises", "http", "net", "dns"])
    assert.ok((granted as string[]).includes(name), `${name} is Node's own, and found to be`);
});

/** Ways to something real, from a package or a file of the flow that says it is one; each gives what it got. */
const TRIES: Readonly<Record<string, { readonly act: string; readonly got: unknown }>> = {
  "the function behind a refused one": {
    act: `return require("child_process").exec.constructor("return typeof require")()`,
    got: "undefined",
  },
  "who calls, by the frames of an error": {
    act: `Error.prepareStackTrace = (_, frames) => frames.map((frame) => [typeof frame.getThis(), typeof frame.getFunction()]); try { require("child_process").exec(); } catch (error) { return [...new Set(error.stack.flat().filter((type) => type !== "undefined"))].filter((type) => type === "function"); } finally { delete Error.prepareStackTrace; }`,
    got: [],
  },
  "the cause of an error": {
    act: `try { require("child_process").exec(); } catch (error) { return [error.cause, error.permission, error.constructor === Error, Object.getPrototypeOf(error) === Error.prototype]; }`,
    got: [null, null, true, true],
  },
  "what is given to calls that were patched": {
    act: `const seen = []; const { call, apply } = Function.prototype; Function.prototype.call = function (...args) { seen.push(...args); return Reflect.apply(call, this, args); }; Function.prototype.apply = function (...args) { seen.push(args[0]); return Reflect.apply(apply, this, args); }; try { require("worker_threads"); require("vm").runInThisContext("1"); } catch {} finally { Function.prototype.call = call; Function.prototype.apply = apply; } return seen.filter((it) => it?.Worker?.prototype?.postMessage || it?.spawnSync?.name === "spawnSync" && !String(it.spawnSync).includes("refuse")).length`,
    got: 0,
  },
  "setters that are there before it is made": {
    act: `const seen = []; for (const name of ["spawn", "Worker", "promises", "constants", "code", "default"]) Object.defineProperty(Object.prototype, name, { configurable: true, set(value) { seen.push(String(value)); }, get: () => undefined }); try { require("child_process"); require("worker_threads"); } finally { for (const name of ["spawn", "Worker", "promises", "constants", "code", "default"]) delete Object.prototype[name]; } return seen.filter((text) => !text.includes("refuse")).length`,
    got: 0,
  },
  "its modules by what CommonJS keeps": {
    act: `require("child_process"); return Object.keys(require.cache).filter((key) => !key.includes("package-") && !key.includes("flow") && !key.includes("look.cjs")).length`,
    got: 0,
  },
  "the same past the hooks": {
    act: `const got = []; for (const options of [undefined, {}, { resolved: { url: "node:child_process", filename: "child_process", format: "builtin" } }, { shouldSkipModuleHooks: true }]) try { got.push(String(module.constructor._load("child_process", module, false, options).execSync).includes("refuse")); } catch (error) { got.push(error.message); } return got.every((it) => it === true || /Cannot import/.test(it))`,
    got: true,
  },
  "a loader by the module of modules": {
    act: `const all = require("module"); return [all === module.constructor, all.registerHooks, all.register, all.syncBuiltinESMExports, all.runMain, Object.isFrozen(all)].map(String).join()`,
    got: "true,undefined,undefined,undefined,undefined,true",
  },
  "what the module of modules gives by name": {
    act: `return import("node:module").then((all) => [all.registerHooks, all.register, all.syncBuiltinESMExports, all.enableCompileCache, all.findPackageJSON, all.default === module.constructor].map(String).join())`,
    got: "undefined,undefined,undefined,undefined,undefined,true",
  },
  "another file by createRequire": {
    act: `const got = []; for (const from of ["/etc/a.js", "file:///etc/a.js", "/"]) for (const name of ["./passwd", "/etc/passwd", "../../../../../../etc/passwd", "child_process", "fs"]) try { const it = require("module").createRequire(from)(name); got.push(String(it.execSync ?? it.readFileSync).includes("refuse") ? "refused" : name); } catch (error) { got.push("refused"); } const tell = (name) => { try { return require("module").createRequire("/etc/a.js").resolve(name); } catch (error) { return error.message.replaceAll(name, ""); } }; if (tell("./passwd") === tell("./nothing")) got.push("refused"); else got.push("told"); return [...new Set(got)]`,
    got: ["refused"],
  },
  "the program's own module by its place": {
    act: `const [, path] = new Error().stack.match(/\\((\\/\\S+?thread-program\\.js)/); const got = []; for (const place of [path, path.replace("-program.js", ".cjs"), path.replace("thread-program", "worker"), "thread-program.js", "./thread-program.js", __dirname + "/../../../../.." + path, __dirname + "/..", "flowhook-substitute:/../thread-program.js", "flowhook-substitute:fs/../../thread-program.js"]) try { const own = new module.constructor("x"); own._compile("", place, "module"); got.push(typeof own.exports.default); } catch (error) { got.push(error.message); } return [...new Set(got)]`,
    got: ["A module lies in the folder of the flow, or of its packages"],
  },
  "whether a file is there by a way up": {
    act: `return new Set(["passwd", "nothing-at-all"].map((name) => { try { return String(module.constructor._findPath(__dirname + "/..".repeat(20) + "/etc/" + name, [])); } catch (error) { return error.code; } })).size`,
    got: 1,
  },
  "a module by another kind of name": {
    act: `return [["child_process"], { toString: () => "child_process" }, new String("child_process"), "node:node:child_process", "child_process/", "CHILD_PROCESS", "internal/bootstrap/realm", "node:internal/child_process", "sqlite", "node:sqlite"].map((name) => typeof process.getBuiltinModule(name)).join()`,
    got: Array.from({ length: 10 }, () => "undefined").join(),
  },
  "what one has that its stand-in lacks": {
    act: `return [process.getBuiltinModule("fs").writeSync, process.getBuiltinModule("worker_threads").parentPort, process.getBuiltinModule("worker_threads").workerData, process.getBuiltinModule("os").setPriority, process.getBuiltinModule("process").kill === process.kill, process.getBuiltinModule("async_hooks").createHook].map((it) => String(it).includes("refuse") || it === true || it == null)`,
    got: [true, true, true, true, true, true],
  },
};

/** Where it is not the same for both: what a file of the flow gets that says it is a package's. */
const FROM_FLOW: Readonly<Record<string, unknown>> = {
  "what the module of modules gives by name": `Cannot import "node:module" in a flow: it reaches beyond the flow's own thread ("look.cjs" imports it)`,
};

for (const [name, { act, got }] of Object.entries(TRIES))
  test(`a package that tries to get ${name} gets nothing`, async () => {
    const text = `module.exports = async () => { ${act} };`;
    assert.deepEqual(await runOf("a.cjs", text), got);
    const path = join(bench.folder, "plugins/node_modules/x/a.cjs");
    const code = `import look from "./look.cjs"; export default () => look();`;
    const files = { "look.cjs": `module.filename = ${JSON.stringify(path)}; ${text}` };
    const { output_value, status_message } = await bench.run(bench.flow(code, { files }));
    const forged: unknown = output_value === null ? status_message : JSON.parse(output_value);
    assert.deepEqual(forged, FROM_FLOW[name] ?? got, "a file that says it is one");
  });

test("packages patch the process, ask for its mask and know the errors of the system", async () => {
  // As graceful-fs does.
  const patch = `if (typeof process.chdir === "function") { var chdir = process.chdir; process.chdir = function (d) { chdir.call(process, d); }; Object.setPrototypeOf(process.chdir, chdir); }`;
  const code = `${patch} const { constants } = require("os"); const { EBADF } = constants.errno;
    module.exports = () => { try { process.chdir("/"); } catch (error) { return [error.message, EBADF, Object.isFrozen(constants.signals), process.umask()]; } };`;
  assert.deepEqual(await runOf("a.cjs", code), [
    `"process.chdir" is not available in a flow: return a value or throw an error`,
    constants.errno.EBADF,
    true,
    0o022,
  ]);
});

test("a package that a run imports may patch the process, for that run alone", async () => {
  const patch = addPackage(
    "a.cjs",
    `const { cwd, chdir } = process; process.cwd = () => cwd() + "patched"; process.chdir = (to) => chdir(to); Object.setPrototypeOf(process.chdir, chdir); process.exitCode = 0; process.title = "x"; process.emitWarning = () => {};`,
  );
  const code = `let runs = 0; export default async ({ input_value }) => { const found = [process.cwd(), process.exitCode ?? null]; if (input_value.json) await import("${patch}"); return [(runs += 1), found, process.cwd()]; };`;
  const spec = bench.flow(code);
  const run = async (json: boolean): Promise<[output: unknown, log: string]> => {
    const { id, ending } = bench.start(spec, { input_value: JSON.stringify({ json }) });
    const { status_message, output_value } = await ending;
    return [status_message ?? JSON.parse(output_value ?? "null"), bench.log(id)];
  };
  assert.deepEqual(await run(false), [[1, ["/", null], "/"], ""]);
  const [output, log] = await run(true);
  assert.deepEqual(output, [2, ["/", null], "/patched"]);
  assert.match(log, /^warn The run changed process\.\w+, which all runs share: its thread is not/);
  assert.deepEqual(await run(false), [[1, ["/", null], "/"], ""]);
});

test("an error of what is imported names its file and line", async () => {
  const thrower = addPackage("a.cjs", `\n\nthrow new TypeError("no luck");`);
  const place = `node_modules/${thrower}/a.cjs:3:7: no luck`;
  const spec = bench.flow(`import "${thrower}"; export default () => 1;`);
  assert.equal((await bench.run(spec)).status_message, place);
  const inspection = await bench.runners.inspect(spec);
  assert.equal(inspection.kind === "broken" && inspection.message, place);
  const own = bench.flow(`throw new TypeError("no luck");`);
  assert.equal((await bench.run(own)).status_message, "flow.ts:1:7: no luck");
});

test("a package that lacks its native addon says that none is loaded", async () => {
  const search = `try { require("./build.node"); } catch { throw new Error("Could not load the build"); }`;
  const name = addPackage("a.cjs", search);
  const found = await bench.runners.inspect(
    bench.flow(`import "${name}"; export default () => 1;`),
  );
  const message = found.kind === "broken" ? found.message : "";
  const place = `node_modules/${name}/a.cjs:1:48: `;
  assert.ok(
    message.startsWith(`${place}Could not load the build. It asks for a native addon`),
    message,
  );

  const optional = addPackage("a.cjs", `try { require("./build.node"); } catch {}`);
  const code = `import "${optional}"; throw new Error("no luck");`;
  const own = await bench.runners.inspect(bench.flow(code));
  assert.match(own.kind === "broken" ? own.message : "", /^flow\.ts:1:\d+: no luck$/);
});
