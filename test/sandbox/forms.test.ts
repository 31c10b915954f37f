import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { Inspection, Job } from "../../src/shared/wire/protocol.ts";
import { openBench, type Bench, type FlowOptions } from "../runner/runners-fixture.ts";

let bench: Bench;

before(async () => {
  // Longer than anything takes that ends by itself, on however busy a machine.
  bench = await openBench({ inspect_ms: 60_000 });
  addPackage("tidy", {
    "index.js": `exports.shout = (text) => text.toUpperCase() + require("util").format("%s", "!");`,
  });
  addPackage(
    "esm-only",
    { "index.mjs": `export const pi = 3;` },
    { exports: "./index.mjs", type: "module" },
  );
  const type = "module";
  addPackage("reaching", { "index.js": `export * from "../../x.js";` }, { type });
  addPackage("rooted", { "index.js": `export * from "/etc/hosts.js";` }, { type });
  addPackage("greedy", { "index.js": `exports.read = require("fs").readFileSync;` });
  addPackage("climber", {
    "index.js": `exports.climb = () => { const Module = module.constructor; return Module._load("child_process", module).execSync("id"); };
      exports.hook = () => module.constructor.registerHooks({ resolve: () => ({ url: "node:worker_threads", shortCircuit: true }) });
      exports.main = () => Object.keys(require.cache).length + String(require.main?.filename);`,
  });
});
after(() => bench[Symbol.asyncDispose]());

function addPackage(name: string, files: Record<string, string>, more: object = {}): void {
  const folder = join(bench.folder, "plugins/node_modules", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.0.0", ...more }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
}

async function runOf(
  code: string,
  options: FlowOptions = {},
  job: Partial<Job> = {},
): Promise<unknown> {
  const { status_message, output_value, response } = await bench.run(
    bench.flow(code, options),
    job,
  );
  if (output_value === null) return status_message;
  return response === null ? JSON.parse(output_value) : JSON.parse(response);
}

function inspect(code: string, options?: FlowOptions): Promise<Inspection> {
  return bench.runners.inspect(bench.flow(code, options));
}

test("what a flow throws names its files from its own folder on", async () => {
  const missing = 'export default async () => await import("./rates.ts");';
  assert.match(
    String(await runOf(missing)),
    /^Cannot find module '\.\/rates\.ts' imported from flow\.ts$/,
  );
  assert.doesNotMatch(String(await runOf(missing)), new RegExp(bench.folder));
  const own =
    "export default () => { throw new Error(`Nothing at ${import.meta.dirname}/rates`); };";
  assert.equal(await runOf(own), "Nothing at rates");
});

test("a file that code does not name in one literal is told to be no part of the version", async () => {
  const told =
    /^warn A file was not found: of the flow's folder a version has .*, each in one literal that begins with \.\/ or \.\.\/,/m;
  const rows: [body: string, told: RegExp | null][] = [
    ["fs.readFileSync(path.join(import.meta.dirname, 'page.html'))", told],
    ["await import(`./handlers/${flow.execution.webhook}.ts`)", told],
    ["fs.readFileSync(path.join(import.meta.dirname, 'data', 'mail.txt'))", told],
    ["fs.readFileSync(new URL(`./data/${flow.execution.webhook}.txt`, import.meta.url))", told],
    ["fs.readdirSync(new URL('./data/', import.meta.url))", told],
    ["fs.readFileSync('/granted/none')", null],
    ["null.a", null],
  ];
  for (const [body, warned] of rows) {
    const code = `import fs from "node:fs"; import path from "node:path"; export default async (flow) => { ${body}; };`;
    const { id, ending } = bench.start(bench.flow(code, { grants: { read: ["/granted"] } }));
    assert.equal((await ending).status, "ENDED_ERROR", body);
    if (warned === null) assert.doesNotMatch(bench.log(id), told, body);
    else assert.match(bench.log(id), warned, body);
  }
  const early = `import fs from "node:fs"; fs.readFileSync(new URL("./data/" + "a.txt", import.meta.url)); export default () => 1;`;
  const { message } = (await inspect(early)) as { message: string };
  assert.match(
    message,
    /^flow\.ts:1:\d+: ENOENT: .*'data\/a\.txt'; of the flow's folder a version has/,
  );
});

test("a defined flow gets what the contract says", async () => {
  const code = `import { defineFlow } from "flowhook";
    export default defineFlow({ async run(flow) {
      flow.set_status_message("said");
      flow.log.debug("d", 1); flow.log.info("i"); flow.log.warn("w"); flow.log.error({ e: [1] });
      console.log("c %s", "x"); console.error(new Error("shown"));
      return [flow.input_value.json.name, flow.raw_body, flow.execution.webhook, flow.signal.aborted, await flow.start_execution("other", { a: 1 }), await flow.setting("s"), await flow.set_setting("s", [1]) ?? "void", await flow.secret("t")];
    } });`;
  const asked: string[] = [];
  bench.answer = ({ operation, name, value }) => {
    asked.push(`${operation} ${name} ${value}`);
    return operation === "secret"
      ? { ok: false, message: "Needs secret.use" }
      : { ok: true, value: '"answer"' };
  };
  const { id, ending } = bench.start(bench.flow(code.replace(', await flow.secret("t")', "")));
  assert.deepEqual(JSON.parse((await ending).output_value ?? "null"), [
    "Ada",
    '{"name":"Ada"}',
    "w",
    false,
    "answer",
    "answer",
    "void",
  ]);
  assert.equal((await ending).status_message, "said");
  assert.deepEqual(asked, ['start_execution other {"a":1}', "setting s null", "set_setting s [1]"]);
  assert.match(
    bench.log(id),
    /^debug d 1\ninfo i\nwarn w\nerror \{ e: \[ 1 \] \}\ninfo c x\nerror Error: shown\n    at Object\.run \(flow\.ts:5:\d+\)$/,
  );
  assert.equal((await bench.run(bench.flow(code))).status_message, "Needs secret.use");
});

test("operations that were not awaited are waited for", async () => {
  const asked: string[] = [];
  bench.answer = ({ operation }) => {
    asked.push(operation);
    return operation === "setting"
      ? { ok: false, message: "Needs setting.read" }
      : { ok: true, value: "null" };
  };
  const { id, ending } = bench.start(
    bench.flow(
      `export default (flow) => { flow.start_execution("a"); flow.set_setting("s", 1); flow.setting("s"); return 1; }`,
    ),
  );
  assert.equal((await ending).output_value, "1");
  assert.deepEqual(asked, ["start_execution", "set_setting", "setting"]);
  assert.match(bench.log(id), /error An operation that was not awaited failed: Needs setting.read/);
});

test("nor are those lost that follow one which was not awaited", async () => {
  const asked: string[] = [];
  bench.answer = ({ name }) => (asked.push(name), { ok: true, value: "null" });
  const code = `export default (flow) => { void (async () => { for (const name of ["a", "b", "c"]) { await flow.setting(name); await null; } })().then(() => flow.set_setting("d", 1)); return 1; }`;
  assert.equal(await runOf(code), 1);
  assert.deepEqual(asked, ["a", "b", "c", "d"]);
});

test("the clock of a test waits for operations, and all that tells the time tells it", async () => {
  const answered = Promise.withResolvers<void>();
  const delayed = setTimeout(answered.resolve, 50);
  bench.answer = async () => (await answered.promise, { ok: true, value: '"answered"' });
  const code = `export default async (flow) => {
    const late = new Promise((done) => setTimeout(done, 1000, "late"));
    const first = await Promise.race([flow.setting("s").then((one) => flow.setting(one)), late]);
    const clock = () => [Date.now(), Number(Temporal.Now.instant().epochMilliseconds), new Intl.DateTimeFormat("de", { timeZone: "UTC", timeStyle: "medium" }).format(), new Date().constructor === Date];
    const begun = clock(); await late;
    const ended = []; const timer = setTimeout(() => ended.push(Date.now()), 1000);
    await new Promise((done) => setTimeout(done, 600)); timer.refresh();
    await new Promise((done) => setTimeout(done, 5000)); clearTimeout(timer); timer.refresh();
    await new Promise((done) => setTimeout(done, 5000));
    return [first, begun, ended, String(Temporal.Now.plainTimeISO("UTC")), new Intl.DateTimeFormat("en", { timeZone: "UTC", year: "numeric" }).formatToParts()[0].value];
  }`;
  const spec = { ...bench.flow(code, { isolation: "execution" }), fake_time: 86_400_000 };
  const { output_value, status_message } = await bench.run(spec);
  clearTimeout(delayed);
  assert.equal(status_message, null);
  assert.deepEqual(JSON.parse(output_value ?? ""), [
    "answered",
    [86_400_000, 86_400_000, "00:00:00", true],
    [86_400_000 + 2600],
    "00:00:11.6",
    "1970",
  ]);
});

test("more operations at once than anybody needs are refused", async () => {
  bench.answer = () => ({ ok: true, value: "null" });
  const code = `export default async (flow) => { for (let i = 0; i < 1000; i++) await flow.setting("s"); await Promise.all(Array.from({ length: 101 }, () => flow.setting("s"))); }`;
  assert.match(
    String(await runOf(code)),
    /More than 100 operations wait for an answer: await some/,
  );
});

test("an input schema gives the flow what it makes of the input, or names each fault", async () => {
  const code = `import { defineFlow, v } from "flowhook";
    export default defineFlow({
      input: v.object({ json: v.object({ name: v.pipe(v.string(), v.toUpperCase()), age: v.optional(v.number(), 7) }) }),
      run: ({ input_value }) => input_value.json,
    });`;
  assert.deepEqual(await runOf(code), { name: "ADA", age: 7 });
  const error = await runOf(code, {}, { input_value: '{"json":{"name":1,"age":"x"}}' });
  assert.equal(
    error,
    'Input does not fit the flow\'s schema: json.name: Invalid type: Expected string but received 1; json.age: Invalid type: Expected number but received "x"',
  );
  const ofBody = `import { defineFlow, v } from "flowhook";
    export default defineFlow({ input: v.object({ name: v.string() }), run: ({ input_value }) => input_value });`;
  const fault =
    'Input does not fit the flow\'s schema: name: Invalid key: Expected "name" but received undefined';
  for (const [input_value, told] of [
    [
      '{"method":"POST","json":{"name":"Ada"}}',
      fault + '. The body is in "json": write v.object({ json: v.object({ ... }) })',
    ],
    ['{"method":"POST","json":{"nam":"Ada"}}', fault],
    ['{"method":"POST","json":["name"]}', fault],
  ] as const)
    assert.equal(await runOf(ofBody, {}, { input_value }), told);
});

test("the operations that shape the response check their arguments", async () => {
  const shaped = (call: string): Promise<unknown> =>
    runOf(`export default (flow) => { flow.${call}; }`);
  assert.deepEqual(
    await shaped(`webhook_response({ status: 201, headers: { "X-A": "1" }, body: "b" })`),
    { status: 201, headers: { "X-A": "1" }, body: "b" },
  );
  assert.deepEqual(await shaped(`webhook_response({ status: 204 })`), {
    status: 204,
    headers: {},
    body: "",
  });
  assert.deepEqual(await shaped(`webhook_html_response("<p>")`), {
    status: 200,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: "<p>",
  });
  assert.deepEqual(await shaped(`webhook_json_response({ a: [1] })`), {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: '{"a":[1]}',
  });
  assert.match(
    String(await shaped(`webhook_response({ status: null, body: "" })`)),
    /integer from 200 to 599 as status, not null/,
  );
  assert.match(String(await shaped(`webhook_response({ status: 199 })`)), /not 199/);
  assert.match(
    String(await shaped(`webhook_response(new Response("b"))`)),
    /not a Response: a fetch handler answers with one$/,
  );
  assert.match(
    String(await shaped(`webhook_response({ status: 200, headers: { a: 1 } })`)),
    /"a" is 1/,
  );
  const pairs = `[["X-A", "1"], ["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]]`;
  assert.deepEqual(
    await shaped(`webhook_response({ status: 200, headers: new Headers(${pairs}) })`),
    { status: 200, headers: { "x-a": "1", "set-cookie": ["a=1", "b=2"] }, body: "" },
  );
  assert.deepEqual(
    await shaped(`webhook_response({ status: 200, headers: { "Set-Cookie": ["a=1", "b=2"] } })`),
    { status: 200, headers: { "Set-Cookie": ["a=1", "b=2"] }, body: "" },
  );
  const refused: [headers: string, RegExp][] = [
    [`new Map(${pairs})`, /as headers, not a Map or another iterable: Object\.fromEntries makes/],
    [`{ "set-cookie": ["a=1", 2] }`, /"set-cookie" is a list with 2/],
    [`{ "x-a": ["1"] }`, /"x-a" is a list/],
  ];
  for (const [headers, says] of refused)
    assert.match(
      String(await shaped(`webhook_response({ status: 200, headers: ${headers} })`)),
      says,
    );
  for (const bytes of [`new Uint8Array([1])`, `new ArrayBuffer(1)`])
    assert.match(
      String(await shaped(`webhook_response({ status: 200, body: ${bytes} })`)),
      /a string as body, not bytes: a fetch handler answers with them, as new Response\(bytes\)/,
    );
  assert.match(
    String(await shaped(`webhook_response({ status: 200, body: { a: 1 } })`)),
    /takes a string as body, not an object/,
  );
  assert.match(
    String(await shaped(`webhook_response("x")`)),
    /takes \{status, headers, body\}, not "x"/,
  );
  assert.match(String(await shaped(`webhook_html_response(7)`)), /takes a string, not 7/);
  assert.match(
    String(await shaped(`webhook_json_response(undefined)`)),
    /^The flow's JSON response cannot be written as JSON: it is undefined$/,
  );
  assert.deepEqual(
    await shaped(
      `webhook_html_response("first"); flow.webhook_response({ status: 202, body: "last" })`,
    ),
    { status: 202, headers: {}, body: "last" },
  );
});

test("a package that npm has linked says that a copy is needed", async () => {
  const folder = join(bench.folder, "linked");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"name":"linked","main":"index.js"}');
  writeFileSync(join(folder, "index.js"), "");
  symlinkSync(folder, join(bench.folder, "plugins/node_modules/linked"));
  assert.match(
    String(await runOf(`import "linked"; export default () => 1`)),
    /"linked": it is outside PLUGINS_DIR\/node_modules; install a copy there, not a link$/,
  );
});

test("a package that lies above PLUGINS_DIR says how to put it in there", async () => {
  const folder = join(bench.folder, "node_modules/higher");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"name":"higher","main":"index.js"}');
  writeFileSync(join(folder, "index.js"), "");
  for (const specifier of ["higher", "higher/index.js"])
    assert.equal(
      await runOf(`import "${specifier}"; export default () => 1`),
      `Cannot import "${specifier}": it is installed in a folder above PLUGINS_DIR, which flows ` +
        "cannot read. Install it in PLUGINS_DIR/node_modules. " +
        'In the folder that has "plugins", run: npm install --prefix plugins higher',
    );
});

test("a trace has its stack, and a value that cannot be printed takes none of the others", async () => {
  const code = `import { inspect } from "node:util";
    const odd = { [inspect.custom]() { throw new Error("no"); } };
    export default (flow) => {
      console.trace("here %s", 1);
      flow.log.info("order 17 failed", odd, { a: 1 });
    };`;
  const { id, ending } = bench.start(bench.flow(code));
  assert.equal((await ending).status, "ENDED_SUCCESS");
  const log = bench.log(id);
  assert.match(log, /Trace: here 1\n +at default \(flow\.ts:4:\d+\)/);
  assert.match(log, /order 17 failed \(a value that cannot be printed\) \{ a: 1 \}/);
});

test("a response made before a failure is kept", async () => {
  const { status, response } = await bench.run(
    bench.flow(
      `export default (flow) => { flow.webhook_html_response("kept"); throw new Error("no"); }`,
    ),
  );
  assert.equal(status, "ENDED_ERROR");
  assert.match(response ?? "", /kept/);
});

test("a flow that uses what it declares before it runs is told when it may", async () => {
  const when =
    "at its top level a flow has no permissions yet, whatever it declares: do it when the flow runs, or on first use";
  for (const [act, told] of [
    [
      `readFileSync("/etc/hostname")`,
      'Cannot read a file without a permission: add permissions: { read: ["/path"] } to the flow, and the path to ALLOW_READ in the configuration; the log names the file; ',
    ],
    [`await fetch("http://localhost/")`, 'Cannot use "fetch" without a permission: '],
    [`new WebSocket("ws://localhost/")`, 'Cannot use "WebSocket" without a permission: '],
  ]) {
    const found = await inspect(
      `import { readFileSync } from "node:fs"; import { defineFlow } from "flowhook"; const found = ${act};
      export default defineFlow({ permissions: { net: true, read: ["/etc"] }, run: () => String(found) });`,
      { grants: { net: true, read: ["/etc"] } },
    );
    const message = found.kind === "broken" ? found.message : "";
    assert.equal(message.replace(/^flow\.ts:1:\d+: /, ""), `${told}${when}`);
  }
});

const TEXT = "a text of more than thirty-two bytes, as most are that somebody compresses";
const GZIPPED = gzipSync(TEXT);

/** Bodies of an upstream, by the path that is asked for. */
const UPSTREAM: Readonly<Record<string, { coding: string; bytes: Buffer; text: string }>> = {
  gzip: { coding: "gzip", bytes: GZIPPED, text: TEXT },
  "GZIP after br": { coding: "br, GZIP", bytes: gzipSync(brotliCompressSync(TEXT)), text: TEXT },
  br: { coding: "br", bytes: brotliCompressSync(TEXT), text: TEXT },
  zstd: { coding: "zstd", bytes: zstdCompressSync(TEXT), text: TEXT },
  deflate: { coding: "deflate", bytes: deflateSync(TEXT), text: TEXT },
  short: { coding: "gzip", bytes: gzipSync("short"), text: "short" },
  binary: { coding: "gzip", bytes: gzipSync(GZIPPED.subarray(2)), text: "" },
};

test("a fetch flow answers with what it has fetched, without the coding that fetch has undone", async () => {
  const server = createServer(({ url }, response) => {
    const { coding, bytes } = UPSTREAM[decodeURIComponent(url ?? "").slice(1)] ?? assert.fail(url);
    response.setHeader("content-encoding", coding).setHeader("x-kept", "1").end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  for (const [name, { text }] of Object.entries(UPSTREAM))
    for (const given of ["found", "new Response(found.body, found)"]) {
      const code = `export default { async fetch() { const found = await fetch("http://127.0.0.1:${port}/${encodeURIComponent(name)}"); return ${given}; } };`;
      const { id, ending } = bench.start(bench.flow(code, { grants: { net: true } }));
      const { headers, body } = JSON.parse((await ending).response ?? "{}");
      assert.equal(headers["content-encoding"], undefined, `${name}: ${given}`);
      assert.equal(headers["x-kept"], "1");
      if (text !== "") assert.equal(body, text);
      assert.match(bench.log(id), /^warn Header "content-encoding" was left out of the response:/);
    }
});

test("webhook_response passes on what was fetched without the coding that fetch has undone", async () => {
  const undone = /^warn Header "content-encoding" was left out of the response:/;
  const rows: [coding: string, body: string, isKept: boolean][] = [
    ["gzip", "short", false],
    ["br", TEXT, false],
    ["deflate", TEXT, false],
    ["br, zstd", "short", false],
    ["gzip", "", true],
    ["identity", TEXT, true],
  ];
  for (const [coding, body, isKept] of rows)
    for (const name of ["Content-Encoding", "content-encoding"]) {
      const given = JSON.stringify({
        status: 200,
        headers: { [name]: coding, "x-kept": "1" },
        body,
      });
      const code = `export default (flow) => flow.webhook_response(${given})`;
      const { id, ending } = bench.start(bench.flow(code));
      const { headers } = JSON.parse((await ending).response ?? "{}");
      assert.deepEqual(headers, { ...(isKept && { [name]: coding }), "x-kept": "1" }, given);
      assert.match(bench.log(id), isKept ? /^$/ : undone, given);
    }
});

test("a fetch flow that compresses its own answer says so", async () => {
  const own: [coding: string, made: string][] = [
    ["gzip", "zlib.gzipSync(text)"],
    ["x-gzip", "zlib.gzipSync('')"],
    ["br", "zlib.brotliCompressSync(text)"],
    ["br", "zlib.brotliCompressSync('')"],
    ["zstd", "zlib.zstdCompressSync(text)"],
    ["deflate", "zlib.deflateSync(text)"],
    ["deflate", "zlib.deflateRawSync('a')"],
    ["identity", "text"],
    ["own", "text"],
  ];
  for (const [coding, made] of own) {
    const code = `import zlib from "node:zlib"; const text = ${JSON.stringify(TEXT)};
      export default { fetch: () => new Response(${made}, { headers: { "content-encoding": "${coding}" } }) };`;
    const { headers } = (await runOf(code)) as { headers: Record<string, string> };
    assert.equal(headers["content-encoding"], coding, made);
  }
  const part = `import zlib from "node:zlib"; export default { fetch: () => new Response(zlib.gzipSync("${TEXT}").subarray(9), { status: 206, headers: { "content-encoding": "gzip" } }) };`;
  const { headers } = (await runOf(part)) as { headers: Record<string, string> };
  assert.equal(headers["content-encoding"], "gzip");
});

test("a fetch flow gets the request and gives its response", async () => {
  const code = `export default { async fetch(request) {
    const { method, url } = request;
    return Response.json({ method, url, a: request.headers.get("x-a"), body: await request.text() }, { status: 202, headers: [["set-cookie", "a=1"], ["set-cookie", "b=2"]] });
  } };`;
  const input_value = JSON.stringify({
    method: "PUT",
    headers: { "x-a": "1", "bad name": "x" },
    query: {},
    path: null,
    json: 1,
  });
  const job = {
    input_value,
    base_url: "https://example.org/prefix",
    target: "//evil.example/api?b=1",
    raw_body: "raw",
  };
  assert.deepEqual(await runOf(code, {}, job), {
    status: 202,
    headers: { "content-type": "application/json", "set-cookie": ["a=1", "b=2"] },
    body: '{"method":"PUT","url":"https://example.org//evil.example/api?b=1","a":"1","body":"raw"}',
  });
  const started = await bench.run(bench.flow(code), {
    input_value: "null",
    target: null,
    raw_body: null,
  });
  assert.equal(started.output_value, "null");
  assert.match(started.response ?? "", /GET.*http:\/\/flowhook\/api\/latest\/webhook\/w\/call\\"/);
});

test("a fetch flow that no call has started gets the URL of a call", async () => {
  const code = `export default { fetch: ({ method, url, headers }) => Response.json([method, url, headers.get("x-a")]) };`;
  const call = "http://flowhook/api/latest/webhook/w/call";
  const warned = /^warn A fetch handler sees of input_value what a request has, and nothing else/;
  const nothing = /^$/;
  const rows: [input: unknown, method: string, url: string, log: RegExp, header?: string][] = [
    [{ path: "items/7", query: { a: "1 &", b: "" } }, "GET", "/items/7?a=1%20%26&b=", nothing],
    [{ path: "" }, "GET", "/", nothing],
    [{ query: { "ä?": "x" }, json: {} }, "POST", "?%C3%A4%3F=x", nothing],
    [{ method: "PUT", path: null, headers: { "x-a": "1" }, query: {} }, "PUT", "", nothing, "1"],
    [{}, "GET", "", nothing],
    [null, "GET", "", nothing],
    ["text", "GET", "", warned],
    [5, "GET", "", warned],
    [[], "GET", "", warned],
    [{ order: 7 }, "GET", "", warned],
  ];
  for (const [input, method, end, log, header = null] of rows) {
    const input_value = JSON.stringify(input);
    const job = { input_value, target: null, raw_body: null };
    const { id, ending } = bench.start(bench.flow(code), job);
    const { body } = JSON.parse((await ending).response ?? "{}");
    assert.deepEqual(JSON.parse(body), [method, call + end, header], input_value);
    assert.match(bench.log(id), log, input_value);
  }
  const { response } = await bench.run(bench.flow(code), {
    input_value: '{"path":"a"}',
    target: null,
    base_url: "https://example.org/prefix",
    execution: '{"webhook":null,"flow":"a b"}',
  });
  const { body } = JSON.parse(response ?? "{}");
  const [, url] = JSON.parse(body);
  assert.equal(url, "https://example.org/prefix/api/latest/webhook/a%20b/call/a");
});

test("an application with a run of its own is a fetch flow", async () => {
  const code = `class App { run() { return "ran"; } fetch() { return new Response("fetched by " + this.constructor.name); } }
    export default new App();`;
  assert.deepEqual(await runOf(code), {
    status: 200,
    headers: { "content-type": "text/plain;charset=UTF-8" },
    body: "fetched by App",
  });
  const defined = `import { defineFlow } from "flowhook"; export default defineFlow({ run: () => "ran" });`;
  assert.equal(await runOf(defined), "ran");
});

test("a stream of a fetch flow is not read for HEAD, and let go where it is too long", async () => {
  const code = `const stream = (size) => new ReadableStream({
      pull: (controller) => size > 0 ? controller.enqueue(new Uint8Array(size)) : undefined,
      cancel() { console.log("cancelled"); return new Promise(() => {}); } });
    export default { fetch: ({ method }) => new Response(stream(method === "HEAD" ? 0 : 1e5), { headers: { "x-a": "1" } }) };`;
  const started = (method: string) =>
    bench.start(bench.flow(code), { input_value: JSON.stringify({ method }) });
  const head = started("HEAD");
  const { response } = await head.ending;
  assert.deepEqual(JSON.parse(response ?? ""), { status: 200, headers: { "x-a": "1" }, body: "" });
  assert.equal(bench.log(head.id), "info cancelled");
  const get = started("GET");
  assert.match((await get.ending).status_message ?? "", /longer than 1000000 bytes/);
  assert.match(bench.log(get.id), /info cancelled/);
});

test("a fetch flow answers bytes, nothing, and what is no response", async () => {
  const answered = (answer: string): Promise<unknown> =>
    runOf(`export default { fetch: () => ${answer} }`);
  assert.deepEqual(await answered(`new Response(new Uint8Array([255, 0, 1]))`), {
    status: 200,
    headers: {},
    body: "/wAB",
    body_encoding: "base64",
  });
  assert.deepEqual(await answered(`new Response(null, { status: 304 })`), {
    status: 304,
    headers: {},
    body: "",
  });
  assert.deepEqual(await answered(`new Response(new Uint8Array([239, 187, 191, 65]))`), {
    status: 200,
    headers: {},
    body: "\ufeffA",
  });
  assert.match(String(await answered(`"text"`)), /returned "text", expected a Response/);
  const chunk = (code: string) =>
    answered(`new Response(new ReadableStream({ start(c) { c.enqueue(${code}); c.close(); } }))`);
  for (const code of [`"text"`, "new ArrayBuffer(1)", "new Uint16Array(1)", "null"])
    assert.match(String(await chunk(code)), /no Uint8Array: pipe texts through/, code);
  assert.match(
    String(
      await runOf(`export default { fetch() { throw new Response(null, { status: 404 }); } }`),
    ),
    /^The flow threw a Response: a fetch handler returns it/,
  );
  assert.match(String(await answered(`Response.error()`)), /has status 0, expected 200 to 599/);
  assert.match(
    String(await answered(`new Response("x".repeat(2e6))`)),
    /longer than 1000000 bytes/,
  );
  assert.match(
    String(
      await answered(
        `new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1e5)); } }))`,
      ),
    ),
    /longer than 1000000 bytes/,
  );
});

test("flows import their folder, JSON and packages", async () => {
  const files = {
    "lib/deep.mts": `export const deep: string = "deep";`,
    "plain.js": `export default "plain";`,
    "data.json": `{"a":1}`,
    "old.cjs": `module.exports = { old: true };`,
  };
  const code = `import { deep } from "./lib/deep.mts"; import plain from "./plain.js"; import data from "./data.json" with { type: "json" };
    import old from "./old.cjs"; import { shout } from "tidy"; import { pi } from "esm-only"; import { createHash } from "node:crypto"; import path from "path";
    import process, { env } from "node:process"; import { AsyncLocalStorage } from "node:async_hooks"; import os from "node:os"; import console2 from "node:console";
    export default () => [deep, plain, data, old, shout("a"), pi, createHash("md5").update("").digest("hex").length, path.sep, typeof process.kill, env, typeof AsyncLocalStorage, os.hostname(), console2 === console, import.meta.url.slice(-7)];`;
  assert.deepEqual(await runOf(code, { files }), [
    "deep",
    "plain",
    { a: 1 },
    { old: true },
    "A!",
    3,
    32,
    "/",
    "function",
    {},
    "function",
    "flowhook",
    true,
    "flow.ts",
  ]);
});

test("packages obey the same rules", async () => {
  assert.match(
    String(
      await runOf(
        `import { read } from "greedy"; export default () => read("/etc/passwd", "utf8")`,
      ),
    ),
    /Cannot use "fs.readFileSync" without a permission/,
  );
  assert.match(
    String(await runOf(`import { climb } from "climber"; export default () => String(climb())`)),
    /^Cannot use "child_process.execSync" in a flow: it reaches beyond the flow's own thread$/,
  );
  assert.match(
    String(await runOf(`import { hook } from "climber"; export default () => String(hook())`)),
    /is not available|is not a function/,
  );
  assert.match(
    String(await runOf(`import { main } from "climber"; export default () => main()`)),
    /^\d(undefined|\/.*)$/,
  );
});

test("an inspection tells what a file is", async () => {
  assert.deepEqual(await inspect(`export const helper = 1;`), { kind: "module" });
  const flow = await inspect(
    `import { defineFlow, v } from "flowhook"; export default defineFlow({ description: "d", permissions: { net: true, read: ["a"] }, timeout_sec: 3, memory_mb: 64, input: v.any(), run() {} });`,
  );
  assert.deepEqual(flow, {
    kind: "flow",
    manifest: {
      form: "defined",
      description: "d",
      permissions: { net: true, read: ["a"], write: [], secrets: [] },
      timeout_sec: 3,
      memory_mb: 64,
      isolation: "flow",
      has_input_schema: true,
      schemas: {
        input: {
          json: '{"$schema":"https://json-schema.org/draft/2020-12/schema"}',
          reason: null,
        },
        output: null,
      },
    },
  });
  assert.equal(
    (
      await inspect(
        `import "node:net"; import { defineFlow } from "flowhook"; export default defineFlow({ permissions: { net: true }, run() {} });`,
      )
    ).kind,
    "flow",
  );
});

const BROKEN: readonly { name: string; code: string; options?: FlowOptions; message: RegExp }[] = [
  {
    name: "a syntax error in TypeScript",
    code: `let x = 1;\nexport default function f( { return 1 }`,
    message: /^flow\.ts:2:\d+: Expected/,
  },
  {
    name: "a syntax error in JavaScript",
    code: `let x = 1;\nexport default () => { return +; }`,
    options: { entry: "flow.js" },
    message: /^flow\.js:2:32: Unexpected token ';'$/,
  },
  {
    name: "a syntax error in a file that it imports",
    code: `import "./lib/b.mjs"; export default () => 1`,
    options: { files: { "lib/b.mjs": "\n\n  const a = ;" } },
    message: /^lib\/b\.mjs:3:13: Unexpected token ';'$/,
  },
  {
    name: "a syntax error that the engine alone knows",
    code: `import { b } from "./b.ts";\nexport const a = b;\nexport default (): number => a;\n  let a = 2;`,
    options: { files: { "b.ts": "export const b: number = 1;" } },
    message: /^flow\.ts:4:7: Identifier 'a' has already been declared$/,
  },
  {
    name: "a type that is exported as a value",
    code: `interface Input {}\nexport { Input };\nexport default () => 1;`,
    message: /^flow\.ts: Export 'Input' is not defined in module\. .*: export type \{ Input \}$/,
  },
  {
    name: "types that need a build",
    code: `enum A { B }\nexport default () => A.B`,
    message:
      /^flow\.ts:1:\d+: TypeScript enum is not supported.*: types are erased, and nothing else \(flowhook docs flows\)$/,
  },
  {
    name: "a namespace that is called a module",
    code: `module A { export const b = 1; }\nexport default () => A.b`,
    message:
      /^flow\.ts:1:\d+: `module` keyword is not supported: types are erased, and nothing else \(flowhook docs flows\)$/,
  },
  {
    name: "a decorator",
    code: `const mark = () => {};\nexport class A { @mark b() {} }\nexport default () => 1`,
    message:
      /^flow\.ts:2:18: Invalid or unexpected token\. Decorators are no part .* call the function/,
  },
  {
    name: "a missing export",
    code: `import { nothing } from "./a.ts"; export default () => 1`,
    options: { files: { "a.ts": "export const a = 1;" } },
    message:
      /does not provide an export named 'nothing'\. Where that is a type, write: import type/,
  },
  {
    name: "a missing export of flowhook",
    code: `import { z } from "flowhook"; export default () => 1`,
    message: /does not provide an export named 'z'\. It has defineFlow and v\./,
  },
  {
    name: "a misspelt export of flowhook",
    code: `import { defineFLow } from "flowhook"; export default defineFLow({ run: () => 1 })`,
    message: /does not provide an export named 'defineFLow'\. Did you mean defineFlow\?$/,
  },
  {
    name: "a missing file",
    code: `import "./missing.ts"; export default () => 1`,
    message: /^Cannot find module '\.\/missing\.ts' imported from flow\.ts$/,
  },
  {
    name: "a missing file without extension",
    code: `import "./prices"; export default () => 1`,
    message: /^Cannot find module '\.\/prices' imported from flow\.ts$/,
  },
  {
    name: "a folder",
    code: `import "./lib/"; export default () => 1`,
    options: { files: { "lib/index.ts": "" } },
    message: /^Cannot find "\.\/lib\/": imports name the whole file, write "\.\/lib\/index\.ts"$/,
  },
  {
    name: "a file of another host",
    code: `import "file://host/x.ts"; export default () => 1`,
    message: /^Cannot import "file:\/\/host\/x\.ts": it can be no file/,
  },
  {
    name: "a missing package",
    code: `import "nowhere-at-all"; export default () => 1`,
    message:
      /^Cannot find package "nowhere-at-all": install it in PLUGINS_DIR\/node_modules\. In the folder that has "plugins", run: npm install --prefix plugins nowhere-at-all$/,
  },
  {
    name: "a part of a missing package of a scope",
    code: `import "@nowhere/at-all/part"; export default () => 1`,
    message: /, run: npm install --prefix plugins @nowhere\/at-all$/,
  },
  {
    name: "what can be no package",
    code: `import "@/lib; ls"; export default () => 1`,
    message: /^Cannot find package "@\/lib; ls": install it in PLUGINS_DIR\/node_modules$/,
  },
  ...(
    [
      ["x.txt", "", /^Cannot import "x\.txt": .*; put what it holds into a \.ts or \.json file$/],
      ["x.cts", "", /^Cannot import "x\.cts": .*; put what it holds into a \.ts or \.json file$/],
      [
        "x.json",
        "{}",
        /"type: json"\. Write: import NAME from "\.\/FILE\.json" with \{ type: "json" \}$/,
      ],
    ] as const
  ).map(([file, text, message]) => ({
    name: `a file of another kind, ${file}`,
    code: `import x from "./${file}"; export default () => x`,
    options: { files: { [file]: text } },
    message,
  })),
  ...(
    [
      [
        "npm:lodash@4/x.js",
        /"npm:lodash@4\/x\.js": .*, not URLs; install its package in PLUGINS_DIR\/node_modules$/,
      ],
      ["https://a.example/x.js", /not URLs; install its package in PLUGINS_DIR\/node_modules$/],
      ["data:text/javascript,1", /, not URLs$/],
      ["bun:ffi", /, not URLs$/],
      ["c:/x/y.ts", /"c:\/x\/y\.ts": it is outside PLUGINS_DIR\/node_modules$/],
      ["reaching", /"\.\.\/\.\.\/x\.js": it is outside PLUGINS_DIR\/node_modules$/],
      ["rooted", /"\/etc\/hosts\.js": it is outside PLUGINS_DIR\/node_modules$/],
      [
        "node:crypt",
        /^Cannot import "node:crypt" in a flow: it is no module of Node that flows are/,
      ],
      ["../x.ts", /outside the folder of the flow; it imports what lies in PLUGINS_DIR, by a path/],
    ] as const
  ).map(([specifier, message]) => ({
    name: `what is no file of the flow, ${specifier}`,
    code: `import x from "${specifier}"; export default () => x`,
    message,
  })),
  {
    name: "a throw of a Response",
    code: `throw new Response("no", { status: 404 })`,
    message:
      /^The flow threw a Response: a fetch handler returns it, and run calls flow\.webhook_r/,
  },
  {
    name: "a throw",
    code: `throw new TypeError("at import")`,
    message: /^flow\.ts:1:7: at import$/,
  },
  { name: "a throw of null", code: `throw null`, message: /^The flow threw null$/ },
  {
    name: "an end of the process",
    code: `process.exit(0)`,
    message: /"process\.exit" is not available/,
  },
  {
    name: "too much memory",
    code: `const all = []; for (;;) all.push([1, 2, 3]);`,
    message: /(used more than 64 MB|Lost with its runner)/,
  },
  {
    name: "a built-in that needs a permission",
    code: `import "./a.ts"; export default () => 1`,
    options: { files: { "a.ts": `import "node:https";` } },
    message:
      /^"a\.ts" imports "node:https" without a permission: add permissions: \{ net: true \} to the flow$/,
  },
  {
    name: "a built-in that no flow gets",
    code: `import "node:worker_threads"; export default () => 1`,
    message: /^Cannot import "node:worker_threads" in a flow/,
  },
  {
    name: "a number as its export",
    code: `export default 7`,
    message: /^The default export is 7, which is no flow/,
  },
  {
    name: "an error at its top level",
    code: `const config = undefined;\nexport const url = config.url;\nexport default () => url;`,
    message: /^flow\.ts:2:27: Cannot read properties of undefined \(reading 'url'\)$/,
  },
  {
    name: "an import of what imports it",
    code: `import { b as later } from "./flow.ts";\nexport const a = later;\nexport const b = a;\nexport default () => a;`,
    message: /^flow\.ts:2:18: Cannot access 'later' before initialization\. .*put what both use/,
  },
];

test("an inspection names what is broken", { concurrency: 4 }, async (t) => {
  await Promise.all(
    BROKEN.map(({ name, code, options, message }) =>
      t.test(name, async () => {
        const found = await inspect(code, options);
        assert.equal(found.kind, "broken");
        assert.match(found.kind === "broken" ? found.message : "", message);
        assert.doesNotMatch(JSON.stringify(found), new RegExp(bench.folder));
      }),
    ),
  );
});

test("an inspection of what never ends has a limit", async () => {
  await using hurried = await openBench({ inspect_ms: 1500 });
  for (const code of [
    `for (;;) Math.sin(1);`,
    `await new Promise(() => {})`,
    `import { pbkdf2Sync } from "node:crypto"; pbkdf2Sync("a", "b", 2 ** 31 - 1, 64, "sha512");`,
  ]) {
    const found = await hurried.runners.inspect(hurried.flow(code));
    assert.equal(found.kind, "broken");
    assert.match(
      found.kind === "broken" ? found.message : "",
      /^Importing the flow took longer than 1\.5 s: at its top level it waits or loops$/,
    );
  }
});

test("with the permission a flow uses the network", async () => {
  const server = createServer((_, response) => response.end("served"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const grants = { net: true };
  assert.equal(
    await runOf(`export default async () => (await fetch("http://127.0.0.1:${port}/")).text()`, {
      grants,
    }),
    "served",
  );
  const code = `import http from "node:http"; export default () => new Promise((resolve, reject) => http.get("http://127.0.0.1:${port}/", (r) => r.setEncoding("utf8").on("data", resolve)).on("error", reject));`;
  assert.equal(await runOf(code, { grants }), "served");
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  assert.equal(
    await runOf(`export default () => fetch("http://127.0.0.1:${port}/")`, { grants }),
    `fetch failed: connect ECONNREFUSED 127.0.0.1:${port}`,
  );
  for (const [thrown, told] of [
    [`new TypeError("fetch failed")`, "fetch failed"],
    [
      `Object.defineProperty(new Error("fetch failed"), "cause", { get() { throw 1; } })`,
      "fetch failed",
    ],
    [
      `new TypeError("fetch failed", { cause: new AggregateError([new Error("one\\nline"), 2]) })`,
      "fetch failed: one",
    ],
    [
      `Object.defineProperty(new AggregateError([]), "errors", { value: Object.defineProperty([], 0, { get() { throw new Error("gotcha"); } }) })`,
      "AggregateError",
    ],
    [
      `{ code: "ERR_ACCESS_DENIED", permission: "FileSystemRead", message: {} }`,
      'Cannot read a file without a permission: add permissions: { read: ["/path"] } to the flow, and the path to ALLOW_READ in the configuration; the log names the file',
    ],
    [
      `Object.assign(new Error("mine"), { code: "ERR_ACCESS_DENIED", permission: { toString() { throw 1; } } })`,
      "mine",
    ],
    [`Object.assign(new AggregateError([]), { code: "ECONNRESET" })`, "AggregateError: ECONNRESET"],
  ] as const)
    assert.equal(await runOf(`export default () => { throw ${thrown}; }`), told);
});

test("with the permission a flow reads and writes what was granted", async () => {
  const folder = join(bench.folder, "granted");
  mkdirSync(folder);
  const code = `import fs from "node:fs/promises"; export default async () => { await fs.writeFile(${JSON.stringify(join(folder, "a"))}, "b"); return fs.readFile(${JSON.stringify(join(folder, "a"))}, "utf8"); }`;
  assert.equal(await runOf(code, { grants: { read: [folder], write: [folder] } }), "b");
  const { id, ending } = bench.start(bench.flow(code, { grants: { read: [folder] } }));
  assert.equal(
    (await ending).status_message,
    'Cannot write a file without a permission: add permissions: { write: ["/path"] } to the flow, and the path to ALLOW_WRITE in the configuration; the log names the file',
  );
  assert.match(bench.log(id), new RegExp(`resource: '${join(folder, "a")}'`));
});

test("a flow that was given a body has the rest of a request", async () => {
  const code = "export default ({ input_value: { method, query } }) => [method, query]";
  const job = (input: object) => ({ input_value: JSON.stringify(input) });
  assert.deepEqual(await runOf(code, {}, job({ json: { name: "Ada" } })), ["POST", {}]);
  assert.deepEqual(await runOf(code, {}, job({ query: { a: "1" } })), ["GET", { a: "1" }]);
  assert.deepEqual(await runOf(code, {}, job({ path: "/a" })), [null, null], "no request");
});

test("what JSON cannot say is named by its place", async () => {
  const cases: Readonly<Record<string, string>> = {
    "({ items: [{ total: 10n }] })": "'items.0.total' is a BigInt: give String() of it",
    "7n": "all of it is a BigInt: give String() of it",
    "(() => { const a = { list: [] }; a.list.push(a); return a; })()":
      "'list.0' leads back to a value that it is inside of (circular)",
    "({ date: new Date(0), twice: [a, a], n: 1n })": "'n' is a BigInt: give String() of it",
  };
  for (const [result, place] of Object.entries(cases))
    assert.equal(
      await runOf(`const a = {}; export default () => ${result}`),
      `The flow's result cannot be written as JSON: ${place}`,
    );
});

test("what JSON cannot say is named as well in what operations and responses take", async () => {
  const deep = "({ a: [{ b: 1n }] })";
  const cases: Readonly<Record<string, string>> = {
    [`webhook_json_response(${deep})`]: "flow's JSON response",
    [`start_execution("child", ${deep})`]: "input_value of start_execution",
    [`set_setting("name", ${deep})`]: "value of set_setting",
  };
  for (const [act, what] of Object.entries(cases))
    assert.equal(
      await runOf(`export default async (flow) => { await flow.${act}; }`),
      `The ${what} cannot be written as JSON: 'a.0.b' is a BigInt: give String() of it`,
    );
});

test("what is lost in what operations and responses take is a warning", async () => {
  const lost = "({ m: new Map([[1, 2]]) })";
  const cases: Readonly<Record<string, string>> = {
    [`webhook_json_response(${lost})`]: "flow's JSON response",
    [`start_execution("child", ${lost})`]: "input_value of start_execution",
    [`set_setting("name", ${lost})`]: "value of set_setting",
  };
  for (const [act, what] of Object.entries(cases)) {
    const { id, ending } = bench.start(
      bench.flow(`export default async (flow) => { await flow.${act}; }`),
    );
    assert.equal((await ending).status, "ENDED_SUCCESS", act);
    const warning = `warn Of the ${what}, 'm' is written as {} (Map): give Object.fromEntries()`;
    assert.ok(bench.log(id).includes(warning), `${act}: ${bench.log(id)}`);
  }
});

test("what JSON writes as {} is a warning, where it was hardly meant", async () => {
  const cases: Readonly<Record<string, string | null>> = {
    "({ a: 1, later: [flow.setting('x')] })": "'later.0' is written as {} (Promise): await it",
    "new Response('hi')": "all of it is written as {} (Response): answer with",
    "({ m: new Map([[1, 2]]) })": "'m' is written as {} (Map): give Object.fromEntries()",
    "({ first: new Map([[1, 2]]), second: new Set() })": "'first' is written as {} (Map)",
    "({ s: new Set([1]) })": "'s' is written as {} (Set): give Array.from() of it",
    "({ error: new TypeError('no') })": "'error' is written as {} (Error): give its message",
    "({ v: (function* () {})() })": "'v' is written as {} (Generator): give Array.from() of it",
    "({ v: (async function* () {})() })":
      "'v' is written as {} (AsyncGenerator): give await Array.fromAsync() of it",
    "({ v: [1].values() })": "'v' is written as {} (Array Iterator): give Array.from() of it",
    "({ v: new Blob(['a']) })": "'v' is written as {} (Blob): give await text() of it",
    "({ v: new File(['a'], 'a') })": "'v' is written as {} (File): give await text() of it",
    "({ v: new Request('http://a') })": "'v' is written as {} (Request): give await text() of it",
    "({ v: new ReadableStream() })": "'v' is written as {} (ReadableStream): give what",
    "({ v: new ArrayBuffer(2) })": "'v' is written as {} (ArrayBuffer): give Buffer.from() of it",
    "({ v: new WeakRef({}) })": "'v' is written as {} (WeakRef): give what",
    "({ v: new AbortController() })": "'v' is written as {} (AbortController): give what",
    "({ sum: [1, 0 / 0] })": "'sum.1' is written as null (NaN)",
    "({ json: JSON.parse('1e400') })": "'json' is written as null (Infinity)",
    "-1 / 0": "all of it is written as null (-Infinity)",
    "({ v: /a/ })": "'v' is written as {} (RegExp): give String() of it",
    "({ v: new Uint8Array([1, 2]) })":
      "'v' is written as an object of numbers (Uint8Array): give Buffer.from() of it",
    "({ v: new Float64Array(2) })":
      "'v' is written as an object of numbers (Float64Array): give Array.from() of it",
    "({ none: {}, v: Object.assign(new Error('no'), { code: 'E' }) })": null,
    "({ none: {}, v: new (class Point {})(), list: { 0: 1 }, bytes: Buffer.from('a') })": null,
    "({ none: null, text: 'null', gone: [undefined], when: new Date(NaN) })": null,
    "({ none: {}, text: '{}', date: new Date(0), list: [] })": null,
    "({ none: {}, get trap() { return new Map(); } })": null,
    "({ none: {}, map: { toJSON: () => 1, [Symbol.toStringTag]: 'Map' } })": null,
    "({ none: {}, hostile: { get [Symbol.toStringTag]() { throw new Error('no'); } } })": null,
  };
  for (const [result, warning] of Object.entries(cases)) {
    const { id, ending } = bench.start(bench.flow(`export default (flow) => (${result})`));
    assert.equal((await ending).status, "ENDED_SUCCESS", result);
    const log = bench.log(id);
    if (warning === null) assert.equal(log, "", result);
    else assert.ok(log.includes(`warn Of the flow's result, ${warning}`), `${result}: ${log}`);
  }
});
