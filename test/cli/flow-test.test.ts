import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { environment, openTarget } from "../blackbox/target.ts";
import { HUNG_MS } from "../hung.ts";
import { openWorkplace, type Workplace } from "./dev-session.ts";
import { all } from "./session.ts";

const FLOWS = {
  "plugins/order.ts": `import { defineFlow, v } from "flowhook";
import { total } from "./_prices.ts";

export default defineFlow({
  permissions: { secrets: ["SHOP"] },
  input: v.object({ json: v.object({ quantity: v.number() }) }),
  async run(flow) {
    flow.log.info("Ordered", flow.input_value.json.quantity);
    await flow.set_setting("last", flow.input_value.json.quantity);
    return {
      total: total(flow.input_value.json.quantity),
      secret: await flow.secret("SHOP"),
      setting: await flow.setting("discount"),
    };
  },
});
`,
  "plugins/_prices.ts": "export const total = (quantity: number) => quantity * 3;\n",
  "plugins/late.ts": `import { setTimeout as wait } from "node:timers/promises";

export default async () => {
  const begun = new Date().toISOString();
  await wait(3_600_000);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  return [begun, new Date().toISOString(), Date.now()];
};
`,
  "plugins/web.ts": `export default {
  async fetch(request: Request) {
    const url = new URL(request.url);
    return Response.json({ url: url.pathname + url.search, body: await request.text() }, { status: 202 });
  },
};
`,
  "plugins/raw.ts":
    "export default (flow) => ({ ...flow.input_value, raw: flow.raw_body ?? null });\n",
  "plugins/as-is.ts": "export default ({ input_value }) => input_value;\n",
  "plugins/fails.ts": "export default () => { throw new Error('no more lamps'); };\n",
  "plugins/stuck.ts": `import { defineFlow } from "flowhook";
export default defineFlow({ timeout_sec: 0.2, run: () => { for (;;); } });
`,
  "plugins/parent.ts": `import { defineFlow } from "flowhook";
export default defineFlow({
  async run(flow) {
    const child = await flow.start_execution("raw", { query: { n: "1" } }, { wait: true });
    const failed = await flow.start_execution("fails", {}, { wait: true });
    const id = await flow.start_execution("raw");
    return { child: child.output_value, failed: failed.status_message, id: typeof id };
  },
});
`,
  "plugins/walls.ts": `export default async () => {
  const refused = await import("node:fs").then(() => "", (error) => error.message);
  return { refused, env: Object.keys(process.env) };
};
`,
  "plugins/starter.ts": `export default async (flow) => {
  await flow.start_execution("wrong");
  const { status, status_message } = await flow.start_execution("wrong", {}, { wait: true });
  return { status, status_message };
};
`,
  "plugins/wrong.ts": "export const a = 1;\nexport default { run() {} };\n",
};

const TESTS = `import assert from "node:assert/strict";
import { test } from "node:test";
import { testFlow } from "flowhook/testing";
import order from "./order.ts";
import late from "./late.ts";
import web from "./web.ts";
import raw from "./raw.ts";
import as_is from "./as-is.ts";
import fails from "./fails.ts";
import stuck from "./stuck.ts";
import parent from "./parent.ts";
import starter from "./starter.ts";
import walls from "./walls.ts";
import wrong from "./wrong.ts";

test("secrets, settings and log", async () => {
  const result = await testFlow(order, { json: { quantity: 2 } }, {
    secrets: { SHOP: "hush" }, settings: { " discount": 0.1, last: null },
  });
  assert.deepEqual(result, {
    status: "ENDED_SUCCESS", status_message: null,
    output_value: { total: 6, secret: "hush", setting: 0.1 },
    response: null, log: [{ level: "info", text: "Ordered 2" }],
    settings: { discount: 0.1, last: 2 },
  });
});

test("an input that the schema refuses", async () => {
  const { status, status_message } = await testFlow(order, { json: { quantity: "two" } });
  assert.equal(status, "ENDED_ERROR");
  assert.match(status_message ?? "", /json\\.quantity/);
});

test("the clock stands, and timers take no time", async () => {
  const { output_value } = await testFlow(late, {}, { now: "2026-01-31T09:30:00Z" });
  assert.deepEqual(output_value, [
    "2026-01-31T09:30:00.000Z", "2026-01-31T10:31:00.000Z", Date.parse("2026-01-31T10:31:00Z"),
  ]);
});

test("a Request", async () => {
  const headers = { "content-type": "application/json" };
  const request = new Request("http://shop.test/items/7?colour=red", { method: "PUT", headers, body: '{"a":1}' });
  const { response } = await testFlow(web, request);
  assert.equal(response?.status, 202);
  assert.deepEqual(JSON.parse(response?.body ?? ""), {
    url: "/api/latest/webhook/web/call/items/7?colour=red", body: '{"a":1}',
  });
  const members = await testFlow(web, { path: "items/7", query: { colour: "dark red" } });
  assert.deepEqual(JSON.parse(members.response?.body ?? ""), {
    url: "/api/latest/webhook/web/call/items/7?colour=dark%20red", body: "",
  });
  const posted = new Request("http://x/call/sub?q=1&q=2", { method: "POST", headers, body: '{"a": 1}' });
  const { output_value } = await testFlow(raw, posted);
  assert.deepEqual(output_value, {
    method: "POST", path: "sub", headers, query: { q: "1" }, json: { a: 1 }, raw: '{"a": 1}',
  });
});

test("what is not given is as in a call", async () => {
  const empty = await testFlow(raw);
  assert.deepEqual(empty.output_value, { method: "GET", path: null, headers: {}, query: {}, raw: null });
  const json = await testFlow(raw, { json: [1] });
  assert.deepEqual(json.output_value, {
    method: "POST", path: null, headers: { "content-type": "application/json" }, query: {}, json: [1], raw: "[1]",
  });
});

test("what is no request is input_value as it is", async () => {
  const given = [{ order: 7, json: 1 }, { data: [] }, { query: "select 1" }, { author: "Ada", title: "x" }];
  for (const input of given) assert.deepEqual((await testFlow(raw, input)).output_value, { ...input, raw: null });
  for (const input of ["text", 5, null, [1]]) assert.deepEqual((await testFlow(as_is, input)).output_value, input);
});

test("failures are results", async () => {
  const failed = await testFlow(fails);
  assert.deepEqual([failed.status, failed.status_message], ["ENDED_ERROR", "no more lamps"]);
  assert.match(failed.log[0]?.text ?? "", /fails\\.ts:1:/);
  const late = await testFlow(stuck);
  assert.deepEqual([late.status, late.status_message], ["ENDED_TIMEOUT", "It ran longer than its limit of 0.2 s"]);
});

test("other flows are started, and waited for", async () => {
  const { output_value } = await testFlow(parent);
  // What is started is given the rest of a request as what is tested is.
  const { output_value: child } = await testFlow(raw, { query: { n: "1" } });
  assert.deepEqual(output_value, { child, failed: "no more lamps", id: "string" });
});

test("a broken flow that is started ends with an error", async () => {
  const { status, output_value } = await testFlow(starter);
  assert.equal(status, "ENDED_SUCCESS");
  assert.equal(output_value.status, "ENDED_ERROR");
  assert.match(output_value.status_message, /^Flow "wrong" is broken: The default export has 'run'/);
});

test("the sandbox is the real one", async () => {
  const { output_value } = await testFlow(walls);
  assert.match(output_value.refused, /node:fs.* without a permission/);
  assert.deepEqual(output_value.env, []);
});

test("mistakes of a test say what was meant", async () => {
  await assert.rejects(testFlow(order, { path: "a", qurey: {} }), /Unknown member "qurey" of the input: did you mean "query"/);
  await assert.rejects(testFlow(raw, { raw_body: "a", order: 7 }), /Unknown member "order" of the input: known are/);
  await assert.rejects(testFlow(raw, {}, { sercets: {} }), /Unknown member "sercets" of the options: did you mean "secrets"/);
  const { log } = await testFlow(order, { json: { quantity: 1 } });
  assert.match(log[1]?.text ?? "", /no secret "SHOP"[^]*a test gives it in options\\.secrets/);
  await assert.rejects(testFlow({ run() {} }), /default export of no flow/);
  await assert.rejects(testFlow(wrong), /Flow "wrong" is broken: The default export has 'run'/);
  await assert.rejects(testFlow(order, {}, { now: "soon" }), /expected a time/);
  await assert.rejects(testFlow(order, {}, { secrets: { SHOP: 1234 } }),
    /^TypeError: Found a value of the type number for options\\.secrets\\.SHOP, expected a text$/);
  await assert.rejects(testFlow(raw, { raw_body: Buffer.from("hi") }),
    /^TypeError: Found bytes for raw_body, expected a text$/);
  const text = new Request("http://x/", { method: "POST", body: "hi" });
  await assert.rejects(testFlow(order, text), /type "text\\/plain[^]*expected application\\/json or a form/);
});
`;

describe("flow test", { skip: openTarget().skip ?? false }, () => {
  let place: Workplace;
  const isDeno = openTarget().name === "deno";
  before(async () => {
    place = await openWorkplace({ ...FLOWS, "plugins/all.test.ts": TESTS });
  });
  after(() => place[Symbol.asyncDispose]());

  test("testFlow runs flows in the sandbox", async () => {
    const finished = await place.run(["flow", "test", "--reporter", "tap"]);
    assert.equal(finished.code, 0, all(finished));
    assert.equal(finished.stdout.match(/^ok \d+ - /gm)?.length, 11, finished.stdout);
    assert.match(finished.stdout, /^1\.\.11$/m);
    assert.ok(!existsSync(join(place.folder, "data")));
    assert.ok(!existsSync(join(place.folder, ".flowhook")));
  });

  test("a test that fails is shown, and the exit code is 1", async () => {
    await using other = await openWorkplace({
      "hello.ts": "export default () => 1;\n",
      "hello.test.ts":
        'import { test } from "node:test";\nimport assert from "node:assert/strict";\n' +
        'import { testFlow } from "flowhook/testing";\nimport hello from "./hello.ts";\n' +
        'test("right", async () => assert.equal((await testFlow(hello)).output_value, 1));\n' +
        'test("wrong", async () => assert.equal((await testFlow(hello)).output_value, 2));\n',
    });
    const finished = await other.run(["flow", "test"]);
    assert.equal(finished.code, 1, all(finished));
    assert.match(finished.stdout, isDeno ? /^right \.\.\. .*ok/m : /✔ right/);
    assert.match(all(finished), isDeno ? /wrong[^]*1 !== 2/ : /✖ wrong[^]*1 !== 2/);
    const named = await other.run(["flow", "test", "--name", "right"]);
    assert.equal(named.code, 0, all(named));
    for (const pattern of ["(", "/(/", "/right/x"]) {
      const refused = await other.run(["flow", "test", "--name", pattern]);
      assert.equal(refused.code, 2, all(refused));
      const says = `Found "${pattern}", expected a regular expression: Invalid `;
      assert.ok(refused.stderr.startsWith(says), all(refused));
      assert.match(refused.stderr, /^[^\n]+\n$/);
    }
  });

  test("a name that no test has is a failure", { skip: isDeno }, async () => {
    const { code, stderr } = await place.run(["flow", "test", "--name", "no such"]);
    assert.deepEqual([code, stderr], [1, 'No test fits --name "no such"\n']);
  });

  test(
    "a reader that closes its end is no error, and the tests go on",
    { skip: isDeno },
    async () => {
      await using many = await openWorkplace({
        "many.ts": "export default () => 1;\n",
        "many.test.ts":
          'import { test } from "node:test";\nimport { writeFileSync } from "node:fs";\n' +
          "const wait = (ms) => new Promise((done) => setTimeout(done, ms));\n" +
          'for (let at = 0; at < 2000; at += 1) test("x".repeat(1000), () => wait(at === 0 ? 100 : 0));\n' +
          'test("last", () => writeFileSync("last", ""));\n',
      });
      const [program, ...leading] = openTarget().command;
      const args = [...leading, "flow", "test", "--reporter", "tap"];
      const child = spawn(program, args, { cwd: many.folder, env: environment({}) });
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
      child.stdout.once("data", () => child.stdout.destroy());
      const [code] = (await once(child, "close")) as [number | null];
      assert.deepEqual([code, said], [0, ""]);
      assert.ok(existsSync(join(many.folder, "last")));
    },
  );

  test("tests end with the command that runs them", async () => {
    await using hung = await openWorkplace({
      "hung.ts": "export default () => 1;\n",
      "hung.test.ts":
        'import { test } from "node:test";\n' +
        'test("hung", () => new Promise(() => setInterval(() => console.error(process.pid), 10)));\n',
    });
    const [program, ...leading] = openTarget().command;
    const args = [...leading, "flow", "test"];
    const env = environment({ TMPDIR: hung.folder });
    const child = spawn(program, args, { cwd: hung.folder, env });
    child.stdout.resume();
    const [pid] = (await once(child.stderr.setEncoding("utf8"), "data")) as [string];
    child.stderr.resume();
    child.kill("SIGKILL");
    try {
      // The tests write to the same streams, which close with the last of their writers.
      await once(child, "close", { signal: AbortSignal.timeout(HUNG_MS) });
    } catch (error) {
      process.kill(parseInt(pid, 10));
      throw error;
    }
  });

  test("a folder without tests says how to write one", async () => {
    await using empty = await openWorkplace({ "plugins/hello.ts": "export default () => 1;\n" });
    const finished = await empty.run(["flow", "test"]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /There are no tests in "[^"]+"\. .*flow new NAME --test/);
    const made = await empty.run(["flow", "new", "greet", "--test"]);
    assert.match(made.stdout, /^Wrote plugins\/greet\.test\.ts$/m);
    const passed = await empty.run(["flow", "test"]);
    assert.equal(passed.code, 0, all(passed));
    assert.match(passed.stdout, isDeno ? /^greets by name \.\.\. .*ok/m : /✔ greets by name/);
  });

  test("tests and what they import are no broken flows", async () => {
    const checked = await place.run(["check", "--json"]);
    const { flows } = JSON.parse(checked.stdout) as { flows: { name: string; state: string }[] };
    const broken = flows.filter(({ state }) => state === "broken").map(({ name }) => name);
    assert.deepEqual(broken, ["wrong"]);
  });
});
