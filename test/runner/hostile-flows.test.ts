import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Ending, FlowSpec } from "../../src/shared/wire/protocol.ts";
import { openBench, until, type Bench, type FlowOptions } from "./runners-fixture.ts";

/**
 * Flows that harm, by mistake or on purpose: each must end as the row says, and another flow
 * must be answered meanwhile.
 */

interface Row {
  readonly name: string;
  readonly code: string;
  readonly options?: FlowOptions;
  /** Aborted so long after its start. */
  readonly abort_ms?: number;
  /** The time counts from its first log line, so that the abort meets it where the row says. */
  readonly from_line?: true;
  readonly status?: Ending["status"];
  readonly message?: RegExp;
  readonly output?: string;
  readonly log?: RegExp;
  readonly forbidden?: RegExp;
  /** Its runner is expected to be lost. */
  readonly lost?: true;
}

const LOST = /^Lost with its runner, /;
const READ: FlowOptions = { grants: { read: ["/nowhere"] } };

const ROWS: readonly Row[] = [
  {
    name: "loops without end",
    code: `export default () => { for (;;); }`,
    abort_ms: 50,
    message: /^stop$/,
  },
  {
    name: "logs before it loops without end",
    code: `export default () => { console.log("before the loop"); for (;;); }`,
    abort_ms: 50,
    from_line: true,
    message: /^stop$/,
    log: /before the loop/,
  },
  {
    name: "loops without end in microtasks",
    code: `export default async () => { for (;;) await null; }`,
    abort_ms: 50,
    message: /^stop$/,
  },
  {
    name: "never settles",
    code: `export default () => new Promise(() => {})`,
    abort_ms: 50,
    message: /^stop$/,
  },
  {
    name: "waits for a lock that nobody opens",
    code: `export default () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`,
    abort_ms: 50,
    message: /^stop$/,
  },
  {
    name: "heeds the signal",
    code: `export default ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))`,
    abort_ms: 50,
    message: /^stop$/,
  },
  {
    name: "heeds the signal, though it has replaced how that is given",
    code: `AbortController.prototype.abort = () => { throw new Error("replaced"); }; export default ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => { console.log("heeded"); reject(signal.reason); }, console.log("waits")))`,
    abort_ms: 50,
    from_line: true,
    message: /^stop$/,
    log: /heeded/,
    forbidden: /replaced/,
  },
  {
    name: "matches a catastrophic regular expression",
    code: `export default () => /^(a+)+$/.test("a".repeat(40) + "b")`,
    abort_ms: 50,
    message: /^stop$/,
  },
  {
    name: "is held by a native call",
    code: `import { pbkdf2Sync } from "node:crypto"; export default () => console.log("starts") ?? pbkdf2Sync("a", "b", 2 ** 31 - 1, 64, "sha512").length`,
    abort_ms: 50,
    from_line: true,
    message: /^stop$/,
    lost: true,
  },
  {
    name: "grows an array",
    code: `export default () => { const all = []; for (;;) all.push({}); }`,
    message: /^(Out of memory|Lost with its runner)/,
    lost: true,
  },
  {
    name: "grows a map",
    code: `export default () => { const all = new Map(); for (let i = 0; ; i++) all.set(i, i); }`,
    message: /^(Out of memory|Lost with its runner)/,
    lost: true,
  },
  {
    name: "grows strings",
    code: `export default () => { const all = []; for (let i = 0; ; i++) all.push(String(i).repeat(1000) + i); }`,
    message: /^(Out of memory|Lost with its runner)/,
    lost: true,
  },
  {
    name: "parses a large text",
    code: `export default () => JSON.parse("[" + "1.5,".repeat(12_000_000) + "1]").length`,
    options: { memory_mb: 32 },
    message: /^(Out of memory|Lost with its runner)/,
    lost: true,
  },
  {
    name: "fills buffers",
    // It keeps two gigabytes until that is seen, however late: more would be the machine's end.
    code: `export default async () => { const all = []; for (;;) { if (all.length < 100) all.push(Buffer.alloc(20_000_000, 1)); await new Promise((r) => setTimeout(r, 1)); } }`,
    message: /^Lost with its runner, which was ended because it used \d+ MB of memory$/,
    lost: true,
  },
  {
    name: "recurses without end",
    code: `export default function f() { return f() + 1; }`,
    message: /Maximum call stack/,
  },
  {
    name: "calls process.exit",
    code: `export default () => process.exit(3)`,
    message: /"process.exit" is not available/,
  },
  {
    name: "calls process.kill",
    code: `export default () => process.kill(process.ppid)`,
    message: /"process.kill" is not available/,
  },
  {
    name: "calls process.abort",
    code: `export default () => process.abort()`,
    message: /"process.abort" is not available/,
  },
  {
    name: "asks for a built-in past the hooks",
    code: `export default () => process.getBuiltinModule("fs").readFileSync("/etc/passwd", "utf8")`,
    message:
      /Cannot use "fs.readFileSync" without a permission: add permissions: \{ read: \["\/path"\] \}/,
  },
  {
    name: "looks at the environment",
    code: `export default () => [process.env, process.report, process.argv, globalThis.process.permission]`,
    output: `[{},null,[],null]`,
  },
  {
    name: "throws null",
    code: `export default () => { throw null; }`,
    message: /^The flow threw null$/,
  },
  {
    name: "throws undefined",
    code: `export default () => { throw undefined; }`,
    message: /^The flow threw undefined$/,
  },
  { name: "throws a text", code: `export default () => { throw "no"; }`, message: /^no$/ },
  {
    name: "throws a symbol",
    code: `export default () => { throw Symbol("s"); }`,
    message: /Symbol\(s\)/,
  },
  {
    name: "throws an object whose getters throw",
    code: `export default () => { throw { get message() { throw 1; }, get stack() { throw 2; }, toString() { throw 3; } }; }`,
    message: /^The flow threw /,
  },
  {
    name: "throws an error whose message throws",
    code: `export default () => { throw Object.defineProperty(new Error("x"), "message", { get() { throw 1; } }); }`,
    message: /./,
  },
  {
    name: "throws a proxy",
    code: `export default () => { throw new Proxy({}, { get() { throw 1; } }); }`,
    message: /^The flow threw a proxy$/,
  },
  {
    name: "throws a proxy that throws itself where its prototype is asked for",
    code: `export default () => { const own = new Proxy({}, { getPrototypeOf() { throw own; } }); throw own; }`,
    message: /^The flow threw a proxy$/,
  },
  {
    name: "throws an error whose prototype is such a proxy",
    code: `export default () => { const own = new Proxy({}, { getPrototypeOf() { throw own; } }); throw Object.setPrototypeOf(new Error("said"), own); }`,
    message: /^said$/,
  },
  {
    name: "throws a proxy that was revoked",
    code: `export default () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy; }`,
    message: /revoked|a proxy/,
  },
  {
    name: "throws a proxy that throws what cannot be told",
    code: `export default () => { throw new Proxy({}, { getPrototypeOf() { throw () => {}; } }); }`,
    message: /^The flow threw /,
  },
  {
    name: "throws a megabyte",
    code: `export default () => { throw new Error("x".repeat(1e6)); }`,
    message: /^x{4000}.* … \(cut\)$/,
  },
  {
    name: "rejects with null elsewhere",
    code: `export default async () => { Promise.reject(null); await new Promise(() => {}); }`,
    message: /^The flow threw null$/,
  },
  {
    name: "throws in a timer",
    code: `export default () => new Promise(() => setTimeout(() => { throw new Error("late"); }, 5))`,
    message: /^late$/,
  },
  {
    name: "throws at import",
    code: `throw new Error("at import"); export default () => 1`,
    message: /^flow\.ts:1:7: at import$/,
  },
  {
    name: "returns a BigInt",
    code: `export default () => ({ a: 1n })`,
    message: /cannot be written as JSON: .*BigInt/,
  },
  {
    name: "returns a cycle",
    code: `export default () => { const a = {}; a.a = a; return a; }`,
    message: /cannot be written as JSON: .*circular/,
  },
  {
    name: "returns a function",
    code: `export default () => () => 1`,
    message: /cannot be written as JSON: it is \[Function/,
  },
  {
    name: "returns a symbol",
    code: `export default () => Symbol("a")`,
    message: /cannot be written as JSON: it is Symbol/,
  },
  { name: "returns undefined", code: `export default () => {}`, output: "null" },
  {
    name: "returns a throwing toJSON",
    code: `export default () => ({ toJSON() { throw null; } })`,
    message: /cannot be written as JSON: a toJSON method threw/,
  },
  {
    name: "returns a throwing getter",
    code: `export default () => ({ get a() { throw new Error("no"); } })`,
    message: /cannot be written as JSON: no/,
  },
  {
    name: "returns too much",
    code: `export default () => "x".repeat(2_000_000)`,
    message: /output has 2000002 bytes, at most 1000000/,
  },
  {
    name: "returns a thenable that throws",
    code: `export default () => ({ get then() { throw new Error("then"); } })`,
    message: /^then$/,
  },
  {
    name: "returns what nests as deep as it may",
    code: `export default () => { let a = []; for (let i = 1; i < 1000; i++) a = [a]; return a; }`,
    output: "[".repeat(1000) + "]".repeat(1000),
  },
  {
    name: "returns what nests one level deeper",
    code: `export default () => { let a = {}; for (let i = 0; i < 1000; i++) a = i % 2 ? [a] : { a }; return a; }`,
    message: /^The flow's result nests deeper than 1000 levels$/,
  },
  {
    name: "returns what nests much deeper",
    code: `export default () => { let a = []; for (let i = 0; i < 50_000; i++) a = [a]; return a; }`,
    message: /^The flow's result nests deeper than 1000 levels$/,
  },
  {
    name: "returns brackets that are text",
    code: `export default () => ["[".repeat(3000), '\\\\"{'.repeat(3000)].length`,
    output: "2",
  },
  {
    name: "returns what nests without end by its toJSON",
    code: `export default () => { const a = { toJSON: () => ({ a: { toJSON: a.toJSON } }) }; return a; }`,
    message: /cannot be written as JSON: it nests too deep \(Maximum call stack size exceeded\)$/,
  },
  {
    name: "answers JSON that nests too deep",
    code: `export default (flow) => { let a = []; for (let i = 0; i < 1000; i++) a = [a]; flow.webhook_json_response(a); }`,
    message: /^The flow's JSON response nests deeper than 1000 levels$/,
  },
  {
    name: "patches what the harness uses",
    code: `JSON.stringify = () => "forged"; JSON.parse = () => "forged"; Promise.prototype.then = () => {};
      Map.prototype.get = () => { throw 1; }; Object.freeze = () => { throw 1; };
      Array.prototype.push = () => { throw 1; };
      export default () => {
        Object.prototype.toJSON = () => "forged"; delete Object.prototype.toJSON;
        return { fine: true };
      }`,
    output: '{"fine":true}',
  },
  {
    name: "patches how ports post",
    code: `export default () => { MessagePort.prototype.postMessage = () => {}; return 1; }`,
    message: /Cannot assign to read only property 'postMessage'/,
  },
  {
    name: "pollutes Object.prototype",
    code: `export default () => { Object.prototype.status = "ENDED_SUCCESS"; Object.prototype.type = "log"; Object.prototype.signal = 1; return 2; }`,
    output: "2",
  },
  {
    name: "forges over the thread's channel",
    code: `import { parentPort } from "node:worker_threads"; export default () => parentPort.postMessage(1)`,
    message: /Cannot import "node:worker_threads" in a flow/,
  },
  {
    name: "catches ports as they post and forges another's ending",
    code: `export default () => {
      const post = MessagePort.prototype.postMessage;
      MessagePort.prototype.postMessage = function (message, list) {
        post.call(this, { type: "ended", id: "run-1", ending: { status: "ENDED_SUCCESS", status_message: "forged", output_value: "1", response: null } });
        post.call(this, 7); post.call(this, null); post.call(this, { taskId: 99, result: 1, error: null });
        return post.call(this, message, list);
      };
      return 3;
    }`,
    message: /Cannot assign to read only property 'postMessage'/,
  },
  {
    name: "waits for a port to be handed to its listener",
    code: `export default () => { EventTarget.prototype.dispatchEvent = function () { this.postMessage(null); }; return 4; }`,
    message: /Cannot assign to read only property 'dispatchEvent'/,
  },
  {
    name: "catches the process as it emits",
    code: `import { EventEmitter } from "node:events";
    export default async () => {
      const seen = []; const emit = EventEmitter.prototype.emit;
      EventEmitter.prototype.emit = function (...args) { seen.push(typeof this.kill); return emit.apply(this, args); };
      new EventEmitter().on("error", () => {}).emit("error");
      Promise.reject(new Error("own")).catch(() => {});
      process.emitWarning("w"); await new Promise((r) => setTimeout(r, 5));
      return seen;
    }`,
    output: '["undefined"]',
  },
  {
    name: "broadcasts to other threads",
    code: `export default () => typeof BroadcastChannel`,
    output: '"undefined"',
  },
  {
    name: "prints without end",
    code: `export default () => { for (let i = 0; i < 200_000; i++) console.log("line " + i); return "done"; }`,
    output: '"done"',
    log: /line 39\nwarn 199950 lines were left out here\ninfo line 199990\n[^]*line 199999$/,
    forbidden: /line (40|199989)$/m,
  },
  {
    name: "prints a huge line",
    code: `export default () => { console.log("x".repeat(50_000_000)); console.log({ a: "y".repeat(1e6) }); process.stdout.write("raw"); }`,
    output: "null",
    log: /info x{4000}.*\(cut\)[^]*info raw/,
    forbidden: /.{5000}/,
  },
  {
    name: "C3: reads a descriptor though it says that it has opened all",
    code: `import { readSync, writeSync, closeSync } from "node:fs";
      Set.prototype.has = () => true; Map.prototype.has = () => true; Array.prototype.includes = () => true;
      export default () => { const reached = [];
      for (const act of [() => readSync(3, Buffer.alloc(10)), () => writeSync(3, Buffer.from("x")), () => closeSync(3)]) try { reached.push(String(act())); } catch {}
      return reached;
    }`,
    options: READ,
    output: "[]",
  },
  {
    name: "C3: asks for what the runtime's modules have more",
    code: `import * as os from "node:os"; import * as hooks from "node:async_hooks"; import * as tty from "node:tty"; import * as http2 from "node:http2"; import * as self from "node:process";
    const call = (member) => { try { return typeof member === "function" ? typeof member() : typeof member; } catch (error) { return error.code ?? error.message; } };
    export default () => [os.setPriority, os.userInfo, os.networkInterfaces, tty.ReadStream, hooks.createHook, hooks.executionAsyncResource, http2.createServer, http2.performServerHandshake, self.reallyExit, self.report, self._linkedBinding, self.kill, self.binding, self.getBuiltinModule]
      .map(call)`,
    options: { grants: { net: true } },
    output: JSON.stringify([
      ...Array.from({ length: 4 }, () => "ERR_ACCESS_DENIED"),
      ...Array.from({ length: 7 }, () => "undefined"),
      ...["kill", "binding"].map(
        (name) => `"process.${name}" is not available in a flow: return a value or throw an error`,
      ),
      "undefined",
    ]),
  },
  {
    name: "C3: makes a socket of a descriptor without the network",
    code: `import { EventEmitter } from "node:events";
    export default async () => {
      const seen = []; const { emit } = EventEmitter.prototype;
      EventEmitter.prototype.emit = function (...args) { seen.push(this.constructor.name); return emit.apply(this, args); };
      for (let i = 0; i < 5; i++) await new Promise((done) => setTimeout(done, 1));
      EventEmitter.prototype.emit = emit;
      return seen.filter((name) => name !== "EventEmitter");
    }`,
    output: "[]",
  },
  {
    name: "L10: asks whether a file is there by what an import says",
    code: `import { createHash } from "node:crypto"; import { look } from "./look.cjs";
    export default async () => {
      const told = new Set();
      for (const path of ["passwd", "nothing-at-all"]) {
        const words = []; const strip = (error) => error.message.replaceAll(path, "");
        for (const name of ["file:///etc/" + path, "/etc/" + path, "../../../../../../../../etc/" + path, "./%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/" + path, "./a?/../../../../../../../../../etc/" + path])
          words.push(await import(name).then(() => "there", strip));
        words.push(...look("/etc/" + path, strip));
        told.add(words.join());
      }
      return [...told].length;
    }`,
    options: {
      files: {
        "look.cjs": `exports.look = (path, strip) => [() => require(path), () => require.resolve(path), () => module.constructor._findPath(path, []), () => module.constructor._findPath(path.slice(5), ["/etc"]), () => module.constructor._resolveFilename(path, module), () => module.constructor._stat(path), () => module.constructor.findPackageJSON(path), () => require.resolve(path.slice(5), { paths: ["/etc"] })]
          .map((act) => { try { return String(act()); } catch (error) { return strip(error); } });`,
      },
    },
    output: "1",
  },
  {
    name: "L10: asks whether a file is there by its real path",
    code: `import fs from "node:fs"; export default () => new Set(["passwd", "nothing-at-all"].map((name) => { try { return fs.realpathSync("/etc/" + name); } catch (error) { return error.message.replaceAll(name, ""); } })).size`,
    options: READ,
    output: "1",
  },
  {
    name: "H3: looks at memory that others have used",
    code: `export default () => { for (let i = 0; i < 200; i++) for (const make of [Buffer.allocUnsafe, Buffer.allocUnsafeSlow]) { const bytes = make(20_000); for (let at = 0; at < bytes.length; at++) if (bytes[at] !== 0) return "dirty"; } return "clean"; }`,
    output: '"clean"',
  },
  {
    name: "M8: keeps a lock that another flow waits for",
    code: `export default () => [typeof navigator.locks, typeof Object.getOwnPropertyDescriptor(Object.getPrototypeOf(navigator), "locks"), typeof globalThis.LockManager]`,
    output: '["undefined","undefined","undefined"]',
  },
  {
    name: "L3: logs at a time that is none",
    code: `Date.now = () => 1e300; performance.now = () => NaN; export default () => { console.log("late"); console.time("a"); console.timeEnd("a"); return 1; }`,
    output: "1",
    log: /info late/,
  },
  {
    name: "reads files without a permission",
    code: `import { readFileSync } from "node:fs"; export default () => readFileSync("/etc/passwd", "utf8")`,
    message:
      /Cannot import "node:fs" without a permission: add permissions: \{ read: \["\/path"\] \}/,
  },
  {
    name: "reads files that it was not granted",
    code: `import { readFileSync } from "node:fs"; export default () => readFileSync("/etc/passwd", "utf8")`,
    options: READ,
    message: /Cannot read a file without a permission: add permissions: \{ read/,
  },
  {
    name: "writes into its own folder",
    code: `import { writeFileSync } from "node:fs"; export default () => writeFileSync(import.meta.filename, "x")`,
    options: READ,
    message: /Cannot write a file without a permission: add permissions: \{ write/,
  },
  {
    name: "writes to the channel of its runner",
    code: `import { writeSync } from "node:fs"; export default () => writeSync(3, Buffer.from("\\0\\0\\0\\x08garbage!"))`,
    options: READ,
    message: /Cannot use "writeSync" with descriptor 3: the flow has not opened it/,
  },
  {
    name: "streams to the channel of its runner",
    code: `import fs from "node:fs"; export default () => new Promise((done, failed) => fs.createWriteStream(null, { fd: 3 }).on("error", failed).on("close", done).end("x"))`,
    options: READ,
    message: /Cannot use "write" with descriptor 3/,
  },
  {
    name: "makes a handle of the channel of its runner",
    code: `import fs from "node:fs/promises"; export default async () => { const handle = await fs.open(import.meta.filename); return new handle.constructor({ fd: 3 }); }`,
    options: READ,
    message: /handle.constructor is not a constructor/,
  },
  {
    name: "closes what it has closed before",
    code: `import fs from "node:fs"; export default () => { const fd = fs.openSync(import.meta.filename); fs.closeSync(fd); fs.closeSync(fd); }`,
    options: READ,
    message: /Cannot use "closeSync" with descriptor \d+: the flow has not opened it/,
  },
  {
    name: "makes a socket of the channel of its runner",
    code: `import net from "node:net"; export default () => new Promise((done, failed) => new net.Socket({ fd: 3 }).on("error", failed).write("x", done))`,
    options: { grants: { net: true } },
    message: /Flows use sockets of the network that they open themselves/,
  },
  {
    name: "makes a handle out of the class of another",
    code: `import net from "node:net"; export default () => new Promise((done, failed) => {
      const server = net.createServer().listen(0, "127.0.0.1", () => { try { new server._handle.constructor(0).open(3); done(1); } catch (error) { failed(error); } });
    })`,
    options: { grants: { net: true } },
    message: /Flows use sockets of the network that they open themselves/,
  },
  {
    name: "connects to a Unix socket",
    code: `import net from "node:net"; export default () => new Promise((done, failed) => net.connect("/run/docker.sock").on("error", failed).on("connect", done))`,
    options: { grants: { net: true } },
    message: /Flows use sockets of the network that they open themselves/,
  },
  {
    name: "starts a program",
    code: `import { execSync } from "node:child_process"; export default () => String(execSync("id"))`,
    message: /Cannot import "node:child_process" in a flow/,
  },
  {
    name: "starts a thread",
    code: `export default async () => new (await import("node:worker_threads")).Worker("1", { eval: true })`,
    message: /Cannot import "node:worker_threads" in a flow/,
  },
  {
    name: "opens a database",
    code: `export default async () => new (await import("node:sqlite")).DatabaseSync("/etc/passwd")`,
    message: /"node:sqlite"/,
  },
  {
    name: "sets engine flags",
    code: `import "node:v8"; export default () => 1`,
    message: /Cannot import "node:v8" in a flow/,
  },
  {
    name: "debugs",
    code: `import "node:inspector"; export default () => 1`,
    message: /Cannot import "node:inspector" in a flow/,
  },
  {
    name: "makes a require",
    code: `import { createRequire } from "node:module"; export default () => 1`,
    message: /Cannot import "node:module" in a flow/,
  },
  {
    name: "imports from made code",
    code: `export default () => new Function("return import('node:child_process')")()`,
    message: /Cannot import "node:child_process" in a flow/,
  },
  {
    name: "imports from indirect eval",
    code: `export default () => (0, eval)("import('node:worker_threads')")`,
    message: /Cannot import "node:worker_threads" in a flow/,
  },
  {
    name: "imports a data URL",
    code: `export default () => import("data:text/javascript,export default 1")`,
    message: /flows import files and packages, not URLs/,
  },
  {
    name: "imports over HTTP",
    code: `export default () => import("https://example.com/x.js")`,
    message: /flows import files and packages, not URLs/,
  },
  {
    name: "imports outside its folder",
    code: `export default () => import("../outside.js")`,
    message: /outside the folder of the flow|Cannot find module/,
  },
  {
    name: "imports by an absolute path",
    code: `export default () => import("/etc/passwd")`,
    message: /outside the folder of the flow/,
  },
  {
    name: "imports the program",
    code: `export default () => import("${join(import.meta.dirname, "../../src/runner/runner.ts")}")`,
    message: /outside the folder of the flow/,
  },
  {
    name: "imports the program's packages",
    code: `export default () => import("piscina")`,
    message: /Cannot find package|outside/,
  },
  {
    name: "fetches without a permission",
    code: `export default () => fetch("http://127.0.0.1:9/")`,
    message: /Cannot use "fetch" without a permission: add permissions: \{ net: true \}/,
  },
  {
    name: "connects without a permission",
    code: `import "node:net"; export default () => 1`,
    message: /add permissions: \{ net: true \}/,
  },
  {
    name: "resolves names without a permission",
    code: `import "node:dns"; export default () => 1`,
    message: /add permissions: \{ net: true \}/,
  },
  {
    name: "sends datagrams without a permission",
    code: `import "node:dgram"; export default () => 1`,
    message: /add permissions: \{ net: true \}/,
  },
  {
    name: "opens a WebSocket without a permission",
    code: `export default () => new WebSocket("ws://127.0.0.1:9")`,
    message: /add permissions: \{ net: true \}/,
  },
];

let bench: Bench;
let other: FlowSpec;

before(async () => {
  bench = await openBench();
  other = bench.flow(`export default () => "here"`);
  await bench.run(other);
});
after(() => bench[Symbol.asyncDispose]());

for (const row of ROWS) {
  test(`a flow that ${row.name}`, async () => {
    const spec = bench.flow(row.code, row.options);
    const { id, ending } = bench.start(spec);
    const meanwhile = bystander(row);
    if (row.from_line) await until(() => bench.log(id) !== "");
    if (row.abort_ms !== undefined) setTimeout(() => bench.abort(id, "stop"), row.abort_ms);
    check(row, id, await ending);
    await meanwhile;
    await bystander({ ...row, lost: undefined });
  });
}

/** Another flow is answered; where the runner is lost, it may be lost with it, once. */
async function bystander(row: { lost?: true | undefined }): Promise<void> {
  const { status_message, output_value } = await bench.run(other);
  if (row.lost && LOST.test(status_message ?? "")) return;
  assert.equal(output_value, '"here"', status_message ?? "");
}

function check(row: Row, id: string, ending: Ending): void {
  const expected = row.status ?? (row.output === undefined ? "ENDED_ERROR" : "ENDED_SUCCESS");
  assert.equal(ending.status, expected, ending.status_message ?? "");
  if (row.message) assert.match(ending.status_message ?? "", row.message);
  if (row.output !== undefined) assert.equal(ending.output_value, row.output);
  if (row.abort_ms !== undefined) assert.equal(ending.status_message, "stop");
  if (row.log) assert.match(bench.log(id), row.log);
  if (row.forbidden) assert.doesNotMatch(bench.log(id), row.forbidden);
}

test("a symlink in the version folder is not followed by an import", async () => {
  const spec = bench.flow(`import secret from "./link.js"; export default () => secret`);
  writeFileSync(join(bench.folder, "secret.js"), "export default 'secret'");
  symlinkSync(join(bench.folder, "secret.js"), join(spec.directory, "link.js"));
  assert.match((await bench.run(spec)).status_message ?? "", /outside the folder of the flow/);
});
