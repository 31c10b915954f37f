import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Inspection } from "../../src/shared/wire/protocol.ts";
import { openBench, until, type Bench } from "../runner/runners-fixture.ts";

/**
 * Descriptors belong to the process: another flow has a file open while these try all of them, by
 * whatever object the runtime takes one from.
 */

let bench: Bench;
before(async () => {
  // The attempts of an inspection take seconds, and more on a busy machine.
  bench = await openBench({ max_log_lines: 10_000, inspect_ms: 60_000 });
});
after(() => bench[Symbol.asyncDispose]());

const GRANTS = { grants: { read: ["/etc/hostname"] } };
const CANARY = "CANARY-of-another-flow";
/** Its own file is what another must not read: it is open as long as it runs. */
const HOLDS = `import fs from "node:fs"; // ${CANARY}
  export default async (flow) => { const fd = fs.openSync(import.meta.filename); console.log("open", fd); while (await flow.setting("free") !== true) await new Promise((r) => setTimeout(r, 10)); fs.closeSync(fd); }`;

/** Each gets \`fs\`, a path that it may read, a descriptor, and what takes what it has found. */
const WAYS: Readonly<Record<string, string>> = {
  "own fd": `const h = await open(path); Object.defineProperty(h, "fd", { value: fd, configurable: true }); await all(h)`,
  "own symbols": `const h = await open(path); for (const name of Object.getOwnPropertySymbols(h)) { const was = h[name]; try { Object.defineProperty(h, name, { value: typeof was === "object" ? { fd, close() {}, getAsyncId() {} } : fd, configurable: true }); } catch {} try { h[name] = typeof was === "object" ? { fd } : fd; } catch {} } await all(h)`,
  inherited: `const h = await open(path); await all(Object.create(h, { fd: { value: fd } })); const { fd: of } = Object.getOwnPropertyDescriptors(h); await all(Object.setPrototypeOf({ fd, emit() {}, on() {} }, h))`,
  "a proxy": `const h = await open(path); await all(new Proxy(h, { get: (_, name) => name === "fd" || String(name) === "Symbol(kFd)" ? fd : h[name] }))`,
  "a patched prototype": `const h = await open(path); Object.defineProperty(Object.getPrototypeOf(h), "fd", { get: () => fd, configurable: true }); await all(h)`,
  "a native handle": `const h = await open(path); for (const name of Object.getOwnPropertySymbols(h)) { const native = h[name]; if (typeof native !== "object" || native === null) continue;
    for (let from = native; from && from !== Object.prototype; from = Object.getPrototypeOf(from)) if (typeof from.constructor === "function" && from.constructor !== Object) { const made = new from.constructor(fd); if (made.fd === fd) found("made " + made.fd); made.onread = (bytes) => found(bytes); made.readStart(); } }`,
  "a deserialized handle": `const h = await open(path); const names = []; for (let from = h; from; from = Object.getPrototypeOf(from)) names.push(...Object.getOwnPropertySymbols(from)); for (const name of names) if (typeof h[name] === "function") try { h[name]({ handle: { fd, close() {} } }); } catch {} await all(h)`,
  "a cloned handle": `const h = await open(path); const copy = structuredClone({ h }, { transfer: [h] }).h; Object.defineProperty(copy, "fd", { value: fd }); await all(copy)`,
  "EventEmitter.init": `const made = []; const { init } = EventEmitter; EventEmitter.init = function (...args) { made.push(this); Object.defineProperty(this, "fd", { value: fd }); return init.apply(this, args); }; try { const h = await open(path); await all(h); await fs.promises.readFile(path).then(found); for (const each of made) await all(each); } finally { EventEmitter.init = init; }`,
  "Symbol.hasInstance": `Object.defineProperty(EventEmitter, Symbol.hasInstance, { value: () => true, configurable: true }); try { const h = { __proto__: await open(path), fd, on() {} }; await all(h); await fs.promises.readFile(h).then(found); } finally { delete EventEmitter[Symbol.hasInstance]; }`,
  "Object.prototype.fd": `const given = { get: () => fd, set() {}, configurable: true }; Object.defineProperty(Object.prototype, "fd", given); try { await new Promise((done) => fs.readFile(path, (_, bytes) => { found(bytes); done(); })); await fs.promises.readFile(path).then(found); const own = fs.openSync(path); await new Promise((done) => fs.readFile(own, (_, bytes) => { found(bytes); done(); })); fs.closeSync(own); } finally { delete Object.prototype.fd; }`,
  "Object.prototype.context": `Object.defineProperty(Object.prototype, "context", { configurable: true, set(context) { Object.defineProperty(this, "context", { value: context }); Object.defineProperty(context, "fd", { get: () => fd, set() {} }); } }); try { await new Promise((done) => fs.readFile(path, (_, bytes) => { found(bytes); done(); })); } finally { delete Object.prototype.context; }`,
  "Object.prototype.then": `Object.defineProperty(Object.prototype, "then", { configurable: true, get() { if (Reflect.has(this, "readLines") || Reflect.has(this, "releaseFD")) return (settle) => settle({ __proto__: null, fd, close() {}, getAsyncId() {} }); } }); try { await fs.promises.readFile(path).then(found); } finally { delete Object.prototype.then; }`,
  "Object.prototype.oncomplete": `let told; Object.defineProperty(Object.prototype, "oncomplete", { configurable: true, set(value) { Object.defineProperty(this, "oncomplete", { configurable: true, get: () => { told = value; return value; } }); try { value(null, fd); } catch {} } }); try { fs.open(path, () => {}); } finally { delete Object.prototype.oncomplete; } numbers()`,
  "a patched fs.open": `const { open: was } = fs; const patch = (value) => { try { fs.open = value; } catch {} }; patch((...args) => args.at(-1)(null, fd)); await new Promise((done) => { setTimeout(done, 100); try { fs.truncate(path, 0, (error) => { if (error === null) found("truncated"); done(); }); } catch { done(); } }); patch(was)`,
  numbers: `numbers()`,
  streams: `for (const given of [fd, { fd }, { __proto__: await open(path), fd, on() {} }]) await new Promise((done) => { setTimeout(done, 100); try { fs.createReadStream(null, { fd: given, autoClose: false, start: 0 }).on("data", found).on("error", done).on("close", done); } catch { done(); } })`,
  "a native handle that is closed": `const h = await open(path); const native = h[Object.getOwnPropertySymbols(h).find((name) => name.description === "kHandle")]; try { await native.close(); } catch {} const left = []; for (let i = 0; i < 50; i++) left.push(fs.openSync(path)); if (h.fd >= 0) found("still " + h.fd); await h.stat().then(() => found("stat of a closed one")).catch(() => {}); left.forEach((each) => fs.closeSync(each))`,
};

const ATTEMPT = `// the file of the attacker
import fs from "node:fs"; import { EventEmitter } from "node:events";
const FDS = [0];
export async function attempt(tell, path) {
  for (const [name, way] of Object.entries(WAYS)) for (const fd of FDS) {
    const opened = []; const open = async () => { const h = await fs.promises.open(path); opened.push(h, h.close); return h; };
    const found = (bytes) => { const text = String(bytes); if (text !== "" && !text.includes("the file of the attacker")) tell(name + " " + fd + ": " + text.slice(0, 60)); };
    const swallow = async (act) => { try { return await act(); } catch {} };
    const all = async (h) => { for (const act of Object.values({
      read: async () => { const bytes = Buffer.alloc(200); const { bytesRead } = await h.read(bytes, 0, 200, 0); found(bytes.subarray(0, bytesRead)); },
      readv: async () => { const bytes = Buffer.alloc(200); const { bytesRead } = await h.readv([bytes], 0); found(bytes.subarray(0, bytesRead)); },
      readFile: async () => found(await h.readFile()),
      byPromises: async () => found(await fs.promises.readFile(h)),
      stat: async () => { const own = await fs.promises.stat(path); const seen = await h.stat(); if (seen.ino !== own.ino) found("stat of " + seen.ino); },
      stream: () => new Promise((done) => { setTimeout(done, 20); try { h.createReadStream({ start: 0, autoClose: false }).on("data", found).on("error", done).on("end", done); } catch { done(); } }),
      web: async () => { const reader = h.readableWebStream().getReader(); const { value } = await reader.read(); found(Buffer.from(value)); },
    })) await swallow(act); };
    const numbers = () => { for (const act of [() => { const bytes = Buffer.alloc(100); fs.readSync(fd, bytes, 0, 100, 0); found(bytes); }, () => found(fs.readFileSync(fd)), () => found("stat " + fs.fstatSync(fd).ino)]) try { act(); } catch {} };
    await swallow(() => way({ fs, EventEmitter, open, path, fd, found, all, numbers }));
    for (let at = 0; at < opened.length; at += 2) await swallow(() => opened[at + 1].call(opened[at]));
  }
}
const WAYS = {`;

const CODE = `${ATTEMPT}${Object.entries(WAYS)
  .map(
    ([name, way]) =>
      `${JSON.stringify(name)}: async ({ fs, EventEmitter, open, path, fd, found, all, numbers }) => { ${way}; },`,
  )
  .join("\n")}};\n`;

async function besideAnother(act: (files: Record<string, string>) => Promise<void>): Promise<void> {
  bench.answer = () => ({ ok: true, value: "false" });
  const held = bench.start(bench.flow(HOLDS, GRANTS));
  await until(() => bench.log(held.id).includes("open"));
  const fd = /open (\d+)/.exec(bench.log(held.id))?.[1] ?? "";
  await act({ "attempt.mjs": CODE.replace("FDS = [0]", `FDS = [${fd}]`) });
  bench.answer = () => ({ ok: true, value: "true" });
  assert.equal((await held.ending).status, "ENDED_SUCCESS");
}

test("C3: no object of the runtime leads a flow to a descriptor that it has not opened", async () => {
  await besideAnother(async (files) => {
    const code = `import { attempt } from "./attempt.mjs"; const path = import.meta.dirname + "/attempt.mjs";
      export default async () => { await attempt((text) => console.log(text), path); return "tried"; }`;
    const { id, ending } = bench.start(bench.flow(code, { ...GRANTS, files }));
    const { status_message, output_value } = await ending;
    assert.equal(bench.log(id), "");
    assert.equal(output_value, '"tried"', status_message ?? "");
  });
});

test("C3: nor in an inspection, where modules of files are only noted", async () => {
  await besideAnother(async (files) => {
    const code = `import { attempt } from "./attempt.mjs"; const told = [];
      await attempt((text) => told.push(text), import.meta.dirname + "/attempt.mjs"); throw new Error("told " + JSON.stringify(told));`;
    const spec = bench.flow(code, { files });
    const { message } = (await bench.runners.inspect(spec)) as Inspection & { message: string };
    assert.match(message, /told \[\]/);
  });
});

test("C3: what a flow opens itself it can read, write, stream and close", async () => {
  const code = `import fs from "node:fs"; import { promisify } from "node:util";
    export default async () => {
      const path = import.meta.filename; const text = fs.readFileSync(path, "utf8"); const read = [];
      const h = await fs.promises.open(path);
      const bytes = Buffer.alloc(10_000);
      read.push(String(bytes.subarray(0, (await h.read(bytes, 0, 10_000, 0)).bytesRead)), await h.readFile("utf8"));
      read.push(text.length === (await h.stat()).size ? text : "size");
      const same = h.fd; if (same < 3) throw new Error("descriptor " + same);
      await h.close(); if (h.fd !== -1) throw new Error("open");
      for await (const chunk of (await fs.promises.open(path)).createReadStream({ encoding: "utf8" })) read.push(chunk);
      const lines = []; { await using lined = await fs.promises.open(path); for await (const line of lined.readLines()) lines.push(line); } read.push(lines.join("\\n"));
      read.push(await fs.promises.readFile(path, "utf8"), await promisify(fs.readFile)(path, "utf8"), await promisify(fs.readFile)(path, { encoding: "utf8" }));
      const web = await fs.promises.open(path); let all = ""; for await (const chunk of web.readableWebStream()) all += Buffer.from(chunk); read.push(all); await web.close();
      const fd = await promisify(fs.open)(path, "r"); read.push(await promisify(fs.readFile)(fd, "utf8")); await promisify(fs.close)(fd);
      for await (const chunk of fs.createReadStream(path, { encoding: "utf8" })) read.push(chunk);
      const codes = []; for (const act of [() => promisify(fs.open)(path + "x"), () => promisify(fs.readFile)(path + "x"), () => fs.promises.open(path + "x")]) await act().catch(({ code }) => codes.push(code));
      return [...read.map((each) => each === text), ...codes];
    }`;
  const { status_message, output_value } = await bench.run(bench.flow(code, GRANTS));
  const expected = [...Array.from({ length: 11 }, () => true), "ENOENT", "ENOENT", "ENOENT"];
  assert.deepEqual(JSON.parse(output_value ?? "null"), expected, status_message ?? "");
});

test("L10: the real path of what a flow may read is told, and of nothing else", async () => {
  const code = `import fs from "node:fs"; import { promisify } from "node:util";
    const path = import.meta.dirname + "/../" + import.meta.dirname.split("/").at(-1) + "/flow.ts";
    const ways = [promisify(fs.realpath), promisify(fs.realpath.native), fs.promises.realpath, async (of) => fs.realpathSync(of), async (of) => fs.realpathSync.native(of), async (of) => String(await promisify(fs.realpath)(of, "buffer"))];
    export default async () => [
      (await Promise.all(ways.map((way) => way(path)))).every((found) => found === import.meta.filename),
      ...new Set(await Promise.all(ways.flatMap((way) => ["/etc/passwd", "/etc/nothing"].map((of) => way(of).catch(({ code }) => code))))),
    ]`;
  const { status_message, output_value } = await bench.run(bench.flow(code, GRANTS));
  assert.equal(output_value, '[true,"ERR_ACCESS_DENIED"]', status_message ?? "");
});
