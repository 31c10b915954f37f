import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, suite, test } from "node:test";
import { pino } from "pino";
import { openCatalog, type Catalog } from "../../src/server/flows/catalog.ts";
import type { Ending, Job } from "../../src/shared/wire/protocol.ts";
import { openBench, type Bench } from "../runner/runners-fixture.ts";

const PLUGINS = resolve(import.meta.dirname, "../../plugins");
const RELEASES = ["api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"];

interface Input {
  readonly method?: string;
  readonly path?: string | null;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

interface Told {
  readonly ending: Ending;
  readonly output: unknown;
  readonly response: {
    readonly status: number;
    readonly headers: object;
    readonly body: string;
  } | null;
}

suite("example flows", () => {
  let data: string;
  let bench: Bench;
  let catalog: Catalog;
  let runs = 0;

  before(async () => {
    data = await mkdtemp(join(tmpdir(), "flowhook-examples-"));
    // Longer than any import takes, on however busy a machine.
    bench = await openBench({ inspect_ms: 60_000 });
    catalog = await openCatalog({
      plugins_dir: PLUGINS,
      dataDir: data,
      allow: { net: false, read: [], write: [] },
      timeoutMs: 300_000,
      timeoutMaxMs: 3_600_000,
      memory_mb: 128,
      log: pino({ level: "silent" }),
      inspect: (spec) => bench.runners.inspect(spec),
      retire: (key) => bench.runners.retire(key),
      retireAll: () => bench.runners.retireAll(),
    });
  });

  after(async () => {
    await catalog[Symbol.asyncDispose]();
    await bench[Symbol.asyncDispose]();
    await rm(data, { recursive: true, force: true });
  });

  /** Calls a flow as a webhook would. */
  async function call(flow: string, input: Input, more: Partial<Job> = {}): Promise<Told> {
    const spec = catalog.find(flow)?.spec;
    assert.ok(spec, `'${flow}' is ready`);
    const json = input.json === undefined ? {} : { json: input.json };
    const ending = await bench.run(spec, {
      id: `${flow}-${(runs += 1)}`,
      input_value: JSON.stringify({
        method: "POST",
        path: null,
        headers: {},
        query: {},
        ...input,
        ...json,
      }),
      raw_body: input.json === undefined ? null : JSON.stringify(input.json),
      ...more,
    });
    return {
      ending,
      output: parsed(ending.output_value),
      response: parsed(ending.response) as Told["response"],
    };
  }

  test("all are ready and ask for no more than secrets", () => {
    assert.deepEqual(
      catalog.list().map((flow) => [flow.name, flow.state, flow.error]),
      [
        "callback",
        "failing",
        "fetch-handler",
        "github-push",
        "hello",
        "notification",
        "public-form",
        "slow",
        "status-page",
      ].map((name) => [name, "ready", null]),
    );
    for (const { name, description, manifest } of catalog.list()) {
      assert.ok(description, name);
      assert.deepEqual(manifest?.permissions, {
        net: false,
        read: [],
        write: [],
        secrets: name === "github-push" ? ["GITHUB_WEBHOOK_SECRET"] : [],
      });
    }
  });

  test("hello greets by body, by query, and anybody", async () => {
    assert.deepEqual((await call("hello", { json: { name: "Ada" } })).output, { hello: "Ada" });
    assert.deepEqual((await call("hello", { query: { name: "Bob" } })).output, { hello: "Bob" });
    for (const json of [undefined, null, 7, "x", [], { name: 7 }]) {
      assert.deepEqual((await call("hello", { json })).output, { hello: "world" });
    }
  });

  test("slow waits, and says what is wrong with the query", async () => {
    assert.deepEqual((await call("slow", { query: { seconds: "0.05" } })).output, {
      waited_seconds: 0.05,
    });
    for (const seconds of ["x", "-1", "121", "Infinity"]) {
      const { ending } = await call("slow", { query: { seconds } });
      assert.equal(ending.status, "ENDED_ERROR");
      assert.match(ending.status_message ?? "", /query.seconds/);
    }
  });

  test("slow stops when it is cancelled", async () => {
    const spec = catalog.find("slow")?.spec;
    assert.ok(spec);
    const input_value = JSON.stringify({
      method: "GET",
      path: null,
      headers: {},
      query: { seconds: "100" },
    });
    const { id, ending } = bench.start(spec, { id: "cancelled", input_value });
    const waiting = setInterval(() => {
      if (bench.log(id).includes("Waiting")) bench.abort(id, "cancelled");
    }, 10);
    const { status, status_message } = await ending;
    clearInterval(waiting);
    assert.deepEqual([status, status_message], ["ENDED_ERROR", "The operation was aborted"]);
  });

  test("failing fails with its message", async () => {
    const { ending } = await call("failing", { query: { item: "chair" } });
    assert.equal(ending.status, "ENDED_ERROR");
    assert.equal(ending.status_message, "No stock left of 'chair'");
  });

  test("github-push sums up every example payload", async () => {
    const secrets: Record<string, string> = {};
    bench.answer = ({ name }) => ({
      ok: true,
      value: JSON.stringify(secrets[name] ?? null),
    });
    let posted = 0;
    for (const { event, json } of examples()) {
      const { ending, output } = await push(event, json, "flowhook-demo");
      assert.equal(ending.status, "ENDED_SUCCESS", `${event}: ${ending.status_message}`);
      const summary = ending.status_message ?? "";
      assert.ok(
        summary.startsWith(event) && summary.length < 2000 && !summary.includes("undefined"),
        summary,
      );
      assert.deepEqual(output, { accepted: true, event, summary });
      posted++;
    }
    assert.ok(posted >= 726, String(posted));
  });

  test("github-push refuses a wrong signature, and the demo's once the secret is set", async () => {
    const json = { ref: "refs/heads/main", commits: [], pusher: { name: "ada" } };
    bench.answer = () => ({ ok: true, value: "null" });
    for (const signature of [
      undefined,
      "",
      "sha256=",
      `sha256=${"0".repeat(64)}`,
      "\u00fc".repeat(71),
    ]) {
      const headers = signature === undefined ? {} : { "x-hub-signature-256": signature };
      const { response, output } = await call("github-push", { headers, json });
      assert.equal(response?.status, 401);
      assert.deepEqual(output, { accepted: false });
    }
    bench.answer = () => ({ ok: true, value: '"s3cret"' });
    assert.equal((await push("push", json, "flowhook-demo")).response?.status, 401);
    const { ending } = await push("push", json, "s3cret");
    assert.equal(ending.status_message, "push by ada: refs/heads/main");
  });

  test("github-push bears any body", async () => {
    bench.answer = () => ({ ok: true, value: "null" });
    for (const json of [null, 7, "x", [], {}, { repository: null }, { commits: "x", sender: [] }]) {
      for (const event of ["push", "issues", "__proto__"]) {
        assert.equal((await push(event, json, "flowhook-demo")).ending.status, "ENDED_SUCCESS");
      }
    }
  });

  function push(event: string, json: unknown, secret: string): Promise<Told> {
    const hmac = createHmac("sha256", secret).update(JSON.stringify(json)).digest("hex");
    return call("github-push", {
      headers: { "x-github-event": event, "x-hub-signature-256": `sha256=${hmac}` },
      json,
    });
  }

  test("notification logs by severity and answers 204", async () => {
    const { ending, response } = await call("notification", {
      json: { severity: "error", text: " Disk is full " },
    });
    assert.equal(response?.status, 204);
    assert.equal(ending.status_message, "error: Disk is full");
    assert.match(bench.log(`notification-${runs}`), /^error unknown source: Disk is full/m);
    const refused = await call("notification", { json: { severity: "loud", text: "x" } });
    assert.match(refused.ending.status_message ?? "", /json.severity/);
  });

  test("callback answers by the job's state", async () => {
    const running = await call("callback", {
      path: "job-7",
      json: { state: "running", percent: 40 },
    });
    assert.equal(running.response?.status, 202);
    const done = await call("callback", {
      path: "job-7",
      json: { state: "done", result: { pages: 12 } },
    });
    assert.deepEqual(done.output, { job: "job-7", state: "done", result: { pages: 12 } });
    const failed = await call("callback", {
      path: "job-7",
      json: { state: "failed", reason: "no paper" },
    });
    assert.equal(failed.ending.status, "ENDED_SUCCESS");
    for (const path of [null, "", "a/b", "<x>"]) {
      assert.match(
        (await call("callback", { path, json: { state: "done" } })).ending.status_message ?? "",
        /path/,
      );
    }
  });

  test("status-page escapes what came from outside", async () => {
    const evil = `"'><script>alert(1)</script>&`;
    const { response } = await call("status-page", { json: { note: evil, service: evil } });
    assert.equal(response?.status, 200);
    assert.ok(!response.body.includes("<script"));
    assert.ok(response.body.includes("&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;"));
    assert.match(response.body, /<link rel="stylesheet" href="\/default-styling.css">/);
    for (const json of [undefined, null, [], "x", { note: 7 }]) {
      assert.equal((await call("status-page", { json })).response?.status, 200);
    }
  });

  test("public-form calculates, and answers 422 with each wrong field", async () => {
    const order = { item: "lamp", quantity: "2", email: "ada@example.com" };
    assert.deepEqual((await call("public-form", { json: order })).output, {
      item: "lamp",
      quantity: 2,
      net_cents: 9800,
      vat_cents: 1862,
      total_cents: 11662,
    });
    const wrong = await call("public-form", { json: { item: "bed", quantity: 0, email: "ada" } });
    assert.equal(wrong.ending.status, "ENDED_SUCCESS");
    assert.equal(wrong.response?.status, 422);
    assert.deepEqual(JSON.parse(wrong.response.body), {
      errors: {
        item: ["There are lamps, chairs and tables"],
        quantity: ["Order at least 1"],
        email: ["That is no e-mail address"],
      },
    });
    const hostile = [
      undefined,
      null,
      [],
      "x",
      { ...order, quantity: 1e9 },
      { ...order, item: "__proto__" },
      { ...order, admin: true },
    ];
    for (const json of hostile)
      assert.equal((await call("public-form", { json })).response?.status, 422);
  });

  test("fetch-handler answers as a web-standard handler does", async () => {
    const target = "/api/latest/webhook/fetch-handler/call/items/7?colour=red";
    const { response } = await call("fetch-handler", { json: { a: 1 } }, { target });
    assert.deepEqual(JSON.parse(response?.body ?? ""), {
      method: "POST",
      path: "items/7",
      query: { colour: "red" },
      bytes: 7,
    });
    const teapot = await call(
      "fetch-handler",
      { method: "GET" },
      { target: "/api/latest/webhook/x/call/teapot" },
    );
    assert.equal(teapot.response?.status, 418);
  });
});

/** Every payload of the package of GitHub's examples. */
function* examples(): Generator<{ event: string; json: unknown }> {
  const require = createRequire(import.meta.url);
  for (const release of RELEASES) {
    const events: { name: string; examples: unknown[] }[] = require(
      `@octokit/webhooks-examples/${release}/index.json`,
    );
    for (const { name, examples: payloads } of events) {
      for (const json of payloads) yield { event: name, json };
    }
  }
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}
