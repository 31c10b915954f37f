import assert from "node:assert/strict";
import { chownSync, existsSync, readFileSync, statSync } from "node:fs";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openTarget } from "../blackbox/target.ts";
import { openWorkplace, type Dev, type Workplace } from "./dev-session.ts";
import { all } from "./session.ts";

const FLOWS = {
  "plugins/hello.ts": `export default async (flow) => {
  console.log("asked by", flow.input_value.query.name);
  return { hello: flow.input_value.query.name };
};
`,
  "plugins/fails.ts": `const NOTHING = null;
export default async () => {
  console.warn("before");
  return NOTHING.member;
};
`,
  "plugins/wrong.ts": "export default async () => {\n  const a = ;\n};\n",
  "plugins/page.ts":
    "export default { fetch: () => new Response('<b>no</b>', { status: 404 }) };\n",
};

describe("dev", { skip: openTarget().skip ?? false }, () => {
  let place: Workplace;
  let dev: Dev;
  before(async () => {
    place = await openWorkplace(FLOWS);
    dev = await place.dev("--host", "Tunnel.example");
  });
  after(() => place[Symbol.asyncDispose]());

  const call = (path: string): Promise<Response> =>
    fetch(`${dev.url}/api/latest/webhook/${path}`, { method: "POST" });

  test("it greets with each flow: how it is called, or why it cannot run", () => {
    assert.match(
      dev.shown(),
      /^ {2}hello +curl -L 'http:\/\/127\.0\.0\.1:\d+\/api\/.*hello\/call'$/m,
    );
    assert.match(dev.shown(), /^ {2}wrong +broken: wrong\.ts:2:13: \S/m);
    assert.match(dev.shown(), /Log in +as "admin" with \w{20} \(until the next start\)/);
  });

  test("a call without a key is answered, and shown with the lines of its log below", async () => {
    const answer = await call("hello/call?name=Ada");
    assert.deepEqual(await answer.json(), { hello: "Ada" });
    await dev.until(
      /^\d\d:\d\d:\d\d {2}hello {2}ENDED_SUCCESS {2}\d+ ms {2}[\da-f-]{36}\n {10}info +asked by Ada$/m,
    );
  });

  test("a failure shows its stack and the line of the source", async () => {
    assert.equal((await call("fails/call")).status, 500);
    await dev.until(/fails {2}ENDED_ERROR: Cannot read properties of null[^\n]*\n +warn +before\n/);
    await dev.until(/> 4 \| {3}return NOTHING\.member;\n +\| +\^\n/);
  });

  test("a failure shows the line that ran, whatever the file has now", async () => {
    await place.write("plugins/old.ts", 'export default () => { throw new Error("old"); };\n');
    await dev.until(/old {2}ready/);
    await place.write("plugins/old.ts", "// another line\nconst = ;\n");
    await dev.until(/old {2}Flow is broken/);
    assert.equal((await call("old/call")).status, 500);
    await dev.until(/old {2}ENDED_ERROR: old[^]*> 1 \| export default [^\n]+\n +\| +\^\n/);
  });

  test("what wants the same data says that it runs, and what it has not where that is", async () => {
    const told = `flowhook dev runs for this folder already, at ${dev.url}. `;
    for (const args of [["dev"], ["flow", "run", "hello", "--local"]]) {
      const finished = await place.run(args);
      assert.equal(finished.code, 1, all(finished));
      assert.ok(finished.stderr.startsWith(told), all(finished));
    }
    const unknown = await place.run(["flow", "run", "other"]);
    assert.equal(unknown.code, 1);
    assert.ok(unknown.stderr.endsWith(`\nThat is what ${dev.url} says\n`), all(unknown));
  });

  test("what a run does not await and fails after its end is shown, with where it was", async () => {
    const save = 'async function save() {\n  throw new Error("not saved");\n}\n';
    await place.write("plugins/forgets.ts", `export default async () => void save();\n${save}`);
    await dev.until(/forgets {2}ready[^\n]*\n +curl -L/);
    assert.equal((await call("forgets/call")).status, 200);
    await dev.until(
      /forgets {2}Code that a run left behind failed after its end: await it: Error: not saved \(forgets\.ts:3:9\)\n/,
    );
  });

  test("what a run logs after its time is over is shown", async () => {
    const code = `import { defineFlow } from "flowhook";
export default defineFlow({
  timeout_sec: 0.2,
  async run(flow) {
    await new Promise((resolve) => flow.signal.addEventListener("abort", resolve));
    await new Promise((resolve) => setTimeout(resolve, 300));
    console.log("tidied up");
  },
});
`;
    await place.write("plugins/late.ts", code);
    await dev.until(/late {2}ready[^\n]*\n +curl -L/);
    assert.equal((await call("late/call")).status, 500);
    await dev.until(
      /late {2}ENDED_TIMEOUT: [^\n]*\n[^\n]*late {2}logged after its end {2}[\da-f-]{36}\n {10}info +tidied up\n/,
    );
  });

  test("the status of a custom response is shown", async () => {
    assert.equal((await call("page/call")).status, 404);
    await dev.until(/page {2}ENDED_SUCCESS {2}\d+ ms {2}response 404 {2}/);
  });

  test("a call that is refused says why", async () => {
    await call("helo/call");
    await dev.until(/helo {2}refused, not_found: There is no enabled webhook "helo"/);
  });

  test("a call of a flow that is broken says why, of one that came later too", async () => {
    const text = await (await call("wrong/call")).text();
    assert.match(text, /^ENDED_ERROR: Flow "wrong" is broken: wrong\.ts:2:13: /);
    await dev.until(/wrong {2}ENDED_ERROR: Flow "wrong" is broken: wrong\.ts:2:13: /);
    await place.write("plugins/lacks.ts", 'import "nothing";\nexport default () => 1;\n');
    await dev.until(/lacks {2}Flow is broken/);
    assert.match(await (await call("lacks/call")).text(), /broken: Cannot find package "nothing"/);
    await place.write("plugins/lacks.ts", "export default () => 1;\n");
    await dev.until(/lacks {2}ready[^\n]*\n +curl -L '[^']+lacks\/call'/);
  });

  test("what a flow or a replay has started says by what", async () => {
    const code =
      'export default (flow) => flow.start_execution("hello", { query: {} }, { wait: true });\n';
    await place.write("plugins/starts.ts", code);
    await dev.until(/starts {2}ready[^\n]*\n +curl -L/);
    assert.equal((await call("starts/call")).status, 200);
    const [, parent = ""] = await dev.until(/starts {2}ENDED_\w+ {2}\d+ ms {2}([\da-f-]{36})/);
    await dev.until(new RegExp(`hello \\(started by ${parent}\\) {2}ENDED_SUCCESS`));
    const replayed = await place.run(["execution", "replay", parent]);
    assert.equal(replayed.code, 0, all(replayed));
    await dev.until(new RegExp(`starts \\(replay of ${parent}\\) {2}ENDED_SUCCESS`));
  });

  test("a page whose site's name leads here (DNS rebinding) is not answered", async () => {
    const { port } = new URL(dev.url);
    const statusFor = async (host: string): Promise<number | undefined> => {
      const path = "/api/latest/webhook/hello/call";
      const [answer] = (await once(
        get({ host: "127.0.0.1", port, path, headers: { host } }),
        "response",
      )) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1.evil.example"])
      assert.equal(await statusFor(host), 400, host);
    for (const host of [
      "localhost",
      `LOCALHOST:${port}`,
      "a.localhost",
      "[::1]",
      "10.0.0.7:80",
      "tunnel.example",
    ])
      assert.equal(await statusFor(host), 303, host);
  });

  test("a new flow is called at once; its reload tells its time, and a break the source", async () => {
    await place.write("plugins/later.ts", "export default async () => 1;\n");
    await dev.until(/later {2}ready, \d+ ms after its change\n +curl -L '[^']+later\/call'/);
    assert.equal(await (await call("later/call")).text(), "1");
    await place.write("plugins/later.ts", "export default async () => 2;\nconst b = ];\n");
    await dev.until(/later {2}Flow is broken[^\n]+\n[^]*> 2 \| const b = \];\n +\| +\^/);
    assert.equal(await (await call("later/call")).text(), "1");
    await place.write("plugins/later.ts", "export default async () => 3;\n");
    await dev.until(/later {2}ready[^]*later {2}ready, \d+ ms/);
    assert.equal(await (await call("later/call")).text(), "3");
  });

  test("a port that was asked for and is taken is told as serve tells it", async () => {
    await using other = await openWorkplace(FLOWS);
    const finished = await other.run(["dev", "--port", new URL(dev.url).port]);
    assert.equal(finished.code, 1, all(finished));
    assert.match(
      finished.stderr,
      /^Cannot listen on 127\.0\.0\.1:\d+: .+\. Name another port with --port: 0 takes any free port\n$/,
    );
  });

  test("other commands of the folder speak to it without a login", async () => {
    const listed = await place.run(["flow", "list"]);
    assert.match(listed.stdout, /^hello +ready/m, all(listed));
    const ran = await place.run(["flow", "run", "hello", "--input", '{"query":{"name":"Bob"}}']);
    assert.deepEqual(JSON.parse(ran.stdout), { hello: "Bob" });
    assert.equal(ran.stderr, `It ran on ${dev.url}\n`);
    await dev.until(/hello \(flow run\) {2}ENDED_SUCCESS/);
  });

  test("commands below the folder speak to it too, and say where they wrote", async () => {
    const listed = await place.run(["flow", "list"], { below: "plugins" });
    assert.match(listed.stdout, /^hello +ready/m, all(listed));
    const set = await place.run(["setting", "set", "a", "1"], { below: "plugins" });
    assert.deepEqual([set.code, set.stderr], [0, `Service: ${dev.url}\n`], all(set));
    const named = await place.run(["setting", "set", "a", "2", "--url", dev.url]);
    assert.match(named.stderr, /^Not logged in to /, "a service that is named is the one meant");
  });

  test("what it keeps is the author's alone, and no file of a repository", async () => {
    const data = join(place.folder, ".flowhook");
    assert.equal(readFileSync(join(data, ".gitignore"), "utf8"), "*\n");
    assert.equal(statSync(join(data, "service.json")).mode & 0o077, 0);
    assert.equal(await dev.stop(), 0);
    assert.ok(!existsSync(join(data, "service.json")));
    assert.ok(!existsSync(join(place.folder, "data")));
  });
});

describe("below a flowhook.yaml", { skip: openTarget().skip ?? false }, () => {
  let place: Workplace;
  before(async () => {
    place = await openWorkplace({ ...FLOWS, "flowhook.yaml": "LISTEN_PORT: 9\n" });
  });
  after(() => place[Symbol.asyncDispose]());
  const below = "plugins";

  test("commands of an author act for the folder that has it", async () => {
    const listed = await place.run(["flow", "list"], { below });
    assert.match(listed.stderr, /^Cannot reach http:\/\/127\.0\.0\.1:9: /, all(listed));
    const made = await place.run(["flow", "new", "made"], { below });
    assert.match(made.stdout, /^Wrote made\.ts\n/, all(made));
    const ran = await place.run(["flow", "run", "made"], { below });
    assert.deepEqual(JSON.parse(ran.stdout), { hello: "world" }, all(ran));
    assert.ok(existsSync(join(place.folder, ".flowhook")));
    assert.ok(!existsSync(join(place.folder, "plugins", ".flowhook")));
  });

  test("a service takes no configuration from there, and says so", async () => {
    const said = 'Found no flowhook.yaml in "[^"]+plugins", and one in "[^"]+" that is not read: ';
    const { code, stderr } = await place.run(["check"], { below });
    assert.equal(code, 0, stderr);
    assert.match(stderr, new RegExp(`^${said}.+ --config \\.\\./flowhook\\.yaml$`, "m"));
  });

  const isRoot = process.getuid?.() === 0;
  test("one of another user above names no service", { skip: !isRoot }, async () => {
    chownSync(join(place.folder, "flowhook.yaml"), 12_345, 12_345);
    const { stderr } = await place.run(["flow", "list"], { below });
    assert.doesNotMatch(stderr, /127\.0\.0\.1:9:/);
    assert.doesNotMatch((await place.run(["check"], { below })).stderr, /that is not read/);
  });
});

describe("flow run without a service", { skip: openTarget().skip ?? false }, () => {
  let place: Workplace;
  before(async () => {
    place = await openWorkplace(FLOWS);
  });
  after(() => place[Symbol.asyncDispose]());

  test("a folder with flows is enough", async () => {
    const { code, stdout, stderr } = await place.run([
      "flow",
      "run",
      "hello",
      "--log",
      "--input",
      '{"query":{"name":"Ada"}}',
    ]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { hello: "Ada" });
    assert.match(stderr, /info +asked by Ada\n/);
    const where = "It ran here, without a service: there is no login to http://127.0.0.1:";
    assert.ok(stderr.includes(where), stderr);
  });

  test("in a folder of flows alone, new, check and run are about the same flows", async () => {
    await using plain = await openWorkplace({ "hello.ts": "export default () => 'hi';\n" });
    const written = await plain.run(["flow", "new", "second"]);
    assert.match(written.stdout, /^Wrote second\.ts\n/, all(written));
    const checked = await plain.run(["check"]);
    assert.equal(checked.code, 0, all(checked));
    assert.match(checked.stdout, /^hello +ready\nsecond +ready\n/m);
    assert.match(checked.stderr, /flowhook serve looks for flows in ".*\/plugins" \(PLUGINS_DIR\)/);
    const ran = await plain.run(["flow", "run", "hello"]);
    assert.equal(ran.stdout, '"hi"\n', all(ran));
    await plain.write("second.ts", "export default () => {\n");
    assert.equal((await plain.run(["check"])).code, 1);
  });

  test("a failure is the status and its message, exit code 1", async () => {
    const finished = await place.run(["flow", "run", "fails"]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^ENDED_ERROR: Cannot read properties of null/);
  });

  test("a flow that is broken says where; one that is not there, which are", async () => {
    const wrong = await place.run(["flow", "run", "wrong"]);
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.stderr,
      /^Flow "wrong" is broken: wrong\.ts:2:13: [^]*> 2 \| {3}const a = ;/,
    );
    const none = await place.run(["flow", "run", "helo"]);
    assert.match(
      none.stderr,
      /^There is no flow "helo", did you mean "hello"\? Known: fails, hello/,
    );
  });

  test("an input that is neither JSON nor a file", async () => {
    const text = await place.run(["flow", "run", "hello", "--input", "{name}"]);
    assert.match(text.stderr, /^Expected JSON in --input: .+\n$/);
    const file = await place.run(["flow", "run", "hello", "--input", "none.json"]);
    assert.match(file.stderr, /^Cannot read "none\.json": /);
  });

  test("a service that is named is not replaced by the folder", async () => {
    const finished = await place.run(["flow", "run", "hello", "--url", "http://127.0.0.1:9"]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^Cannot reach http:\/\/127\.0\.0\.1:9: /);
  });

  test("a folder without flows says how to name a service", async () => {
    await using empty = await openWorkplace();
    const finished = await empty.run(["flow", "run", "hello"]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^(Cannot reach|Not logged in|Found) /);
    if (finished.stderr.startsWith("Cannot reach"))
      assert.match(finished.stderr, /^[^\n]+ To run a flow of a folder, go there: [^\n]+\n$/);
  });
});
