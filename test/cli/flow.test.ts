import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openTarget, ROOT } from "../blackbox/target.ts";
import { openWorkplace } from "./dev-session.ts";
import { all, openSession, type Session } from "./session.ts";

const FLOWS = {
  "echo.ts": "export default async (flow) => flow.input_value;\n",
  "talk.ts":
    "export default async (flow) => { flow.log.info('one\\u001b[2J'); console.log('two'); return 7; };\n",
  "fail.ts": "export default async () => { throw new Error('no more lamps'); };\n",
  "page.ts": "export default async (flow) => { flow.webhook_html_response('<p>hi</p>'); };\n",
  "wrong.ts": "export default async () => {\n",
  "asks.ts":
    "import { defineFlow } from 'flowhook';\n" +
    "export default defineFlow({ description: 'Asks a lot', " +
    "permissions: { net: true, secrets: ['CRM'] }, run: () => 1 });\n",
};

describe("flow", { skip: openTarget().skip ?? false }, () => {
  let session: Session;
  before(async () => {
    session = await openSession(FLOWS);
  });
  after(() => session[Symbol.asyncDispose]());

  test("list: state, version, permissions and errors", async () => {
    const { code, stdout } = await session.run(["flow", "list"]);
    assert.equal(code, 0);
    assert.match(stdout, /^NAME +STATE +VERSION +BUNDLE +PERMISSIONS +DESCRIPTION$/m);
    assert.match(stdout, /^asks +ready +[0-9a-f]{12} +- +net, secrets: CRM +Asks a lot$/m);
    assert.match(stdout, /^wrong +broken/m);
    assert.match(stdout, /wrong is broken\n {2}wrong\.ts:1: ./);
  });

  test("list --broken --json: what the API says", async () => {
    const { code, stdout } = await session.run(["flow", "list", "--broken", "--json"]);
    assert.equal(code, 0);
    const flows = JSON.parse(stdout) as { name: string; state: string }[];
    assert.deepEqual(
      flows.map(({ name, state }) => [name, state]),
      [["wrong", "broken"]],
    );
  });

  test("run: prints output_value", async () => {
    const input = await session.write("input.json", '{"json": {"a": [1, null]}}');
    const finished = await session.run(["flow", "run", "echo", "--input", input]);
    assert.equal(finished.code, 0, all(finished));
    assert.deepEqual(JSON.parse(finished.stdout), {
      method: "POST",
      path: null,
      headers: { "content-type": "application/json" },
      query: {},
      json: { a: [1, null] },
    });
  });

  test("run: a request without a body has the rest as a call has it", async () => {
    const input = '{"query": {"name": "Ada"}}';
    for (const where of [[], ["--local"]]) {
      const args = ["flow", "run", "echo", "--input", input, ...where];
      const finished = await session.run(args);
      assert.deepEqual(JSON.parse(finished.stdout), {
        method: "GET",
        path: null,
        headers: {},
        query: { name: "Ada" },
      });
    }
  });

  test("run: an input from standard input", async () => {
    const finished = await session.run(["flow", "run", "echo", "--input", "-"], { input: "[7]" });
    assert.deepEqual(JSON.parse(finished.stdout), [7]);
  });

  test("run: names are as they are written, after others of the same shape", async () => {
    const input = String.raw`[{"x":0,"\\":1},{"x":0,"\n":2}]`;
    const finished = await session.run(["flow", "run", "echo", "--input", input]);
    assert.equal(finished.stdout.replaceAll(/\s/g, ""), input, all(finished));
  });

  test("9: run without an input gives the flow an empty request", async () => {
    const { stdout } = await session.run(["flow", "run", "echo"]);
    assert.deepEqual(JSON.parse(stdout), { method: "GET", path: null, headers: {}, query: {} });
  });

  test("run --log: log lines on standard error", async () => {
    const { code, stdout, stderr } = await session.run(["flow", "run", "talk", "--log"]);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "7\n");
    assert.match(stderr, /info +one \[2J\n.*two\n/);
  });

  test("run --json: the whole record", async () => {
    const { stdout } = await session.run(["flow", "run", "talk", "--json"]);
    const record = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal(record["status"], "ENDED_SUCCESS");
    assert.equal(record["output_value"], 7);
  });

  test("run: a failure is the status and its message, exit code 1", async () => {
    const finished = await session.run(["flow", "run", "fail"]);
    assert.equal(finished.code, 1);
    assert.equal(finished.stdout, "");
    assert.equal(finished.stderr, "ENDED_ERROR: no more lamps\n");
  });

  test("run: says where a custom response is", async () => {
    const { code, stdout, stderr } = await session.run(["flow", "run", "page"]);
    assert.equal(code, 0);
    assert.equal(stdout, "null\n");
    assert.match(stderr, /status 200: flowhook execution show [0-9a-f-]{36}/);
    const here = await session.run(["flow", "run", "page", "--local"]);
    assert.match(here.stderr, /status 200: --json shows it\n$/, "no service has it");
  });

  test("run: no such flow, no such file, no JSON", async () => {
    const unknown = await session.run(["flow", "run", "nothing"]);
    assert.deepEqual([unknown.code, unknown.stderr], [1, 'There is no flow "nothing"\n']);
    const missing = await session.run(["flow", "run", "echo", "--input", "none.json"]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /^Cannot read "none\.json": .+\n$/);
    const text = await session.run(["flow", "run", "echo", "--input", "-"], { input: "{a}" });
    assert.equal(text.code, 1);
    assert.match(text.stderr, /^Expected JSON in "-": .+\n$/);
  });

  test("new: a file that runs at once, and never another one in its place", async () => {
    await using place = await openWorkplace();
    const finished = await place.run(["flow", "new", "billing.invoice"]);
    assert.equal(finished.code, 0, all(finished));
    const file = join(place.folder, "plugins/billing/invoice.ts");
    assert.match(readFileSync(file, "utf8"), /defineFlow/);
    assert.match(finished.stdout, /flowhook flow run billing\.invoice\n.*: flowhook dev\n/);
    const again = await place.run(["flow", "new", "billing.invoice"]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /billing\/invoice\.ts/);
    const checked = await place.run(["check"]);
    assert.match(checked.stdout, /^billing\.invoice +ready$/m);
    const spaced = await place.run(["flow", "new", "the bill"]);
    assert.match(spaced.stdout, /flowhook webhook create --flow 'the bill' 'the bill'\n/);
  });

  test("new: a file in place of a name is told the name", async () => {
    await using place = await openWorkplace();
    const rows = [
      ["greet.ts", "greet"],
      ["billing/invoice", "billing.invoice"],
      ["billing/invoice.mjs", "billing.invoice"],
      ["plugins/billing/invoice.ts", "billing.invoice"],
    ] as const;
    for (const [given, name] of rows) {
      const refused = await place.run(["flow", "new", given]);
      assert.equal(refused.code, 2, all(refused));
      assert.match(
        refused.stderr,
        new RegExp(`by its name and not by its file: write "${name}"$`, "m"),
      );
    }
    const empty = await place.run(["flow", "new", ".ts"]);
    assert.equal(empty.code, 2, all(empty));
    assert.match(empty.stderr, /^No flow can be called "\.ts": /);
  });

  test("new: a test of a name with quotes parses", async () => {
    await using place = await openWorkplace();
    const finished = await place.run(["flow", "new", 'q"x', "--test"]);
    assert.equal(finished.code, 0, all(finished));
    const text = readFileSync(join(place.folder, 'plugins/q"x.test.ts'), "utf8");
    assert.ok(text.includes(String.raw`import flow from "./q\"x.ts";`), text);
  });

  test("new: what the page of flows shows, and its next commands do as it says", async () => {
    const page = readFileSync(join(ROOT, "src/assets/docs/flows.md"), "utf8");
    const blocks = [...page.matchAll(/^```\w*\n([^]*?)^```$/gm)].map(([, text]) => text ?? "");
    await using place = await openWorkplace();
    const made = await place.run(["flow", "new", "greet", "--test"]);
    assert.equal(made.code, 0, all(made));
    for (const file of ["greet.ts", "greet.test.ts"]) {
      const text = readFileSync(join(place.folder, "plugins", file), "utf8");
      assert.ok(blocks.includes(text), `The page has another ${file}`);
    }
    const [, name, input = ""] =
      /^flowhook flow run (\w+) --log --input '(.+)'$/m.exec(page) ?? assert.fail("no command");
    const ran = await place.run(["flow", "run", `${name}`, "--log", "--input", input]);
    const line = /^\S+ (info .*)\n/.exec(ran.stderr)?.[1] ?? "";
    const shown = blocks.some((text) => text.endsWith(` ${line}\n${ran.stdout}`));
    assert.ok(line !== "" && shown, all(ran));
  });

  test("new: a name that a file has in whatever form", async () => {
    await using place = await openWorkplace({
      "plugins/orders.v2.ts": "export default () => 1;\n",
      "plugins/shop/till.open/index.js": "export default () => 1;\n",
    });
    for (const [name, file] of [
      ["orders.v2", "orders.v2.ts"],
      ["shop.till.open", "shop/till.open/index.js"],
    ] as const) {
      const finished = await place.run(["flow", "new", name]);
      assert.equal(finished.code, 1, all(finished));
      assert.equal(finished.stderr, `There is a flow "${name}" already: "${file}"\n`);
    }
    assert.equal((await place.run(["flow", "new", "orders.v3"])).code, 0);
  });

  test("what a broken flow says acts on no terminal: check, flow run", async () => {
    await using place = await openWorkplace({
      "plugins/evil.ts":
        'throw new Error("bad \\x1b[2J\\x9b31m\\u202e");\nexport default () => 1;\n',
    });
    for (const args of [["check"], ["flow", "run", "evil"]]) {
      const finished = await place.run(args);
      assert.equal(finished.code, 1);
      assert.match(all(finished), /bad +\[2J +31m/);
      assert.doesNotMatch(all(finished), /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    }
  });

  test("reload: what was saved serves once it is done, and what is broken fails it", async () => {
    const plugins = join(session.service.directory, "plugins");
    writeFileSync(join(plugins, "fresh.ts"), "export default () => 'v1';\n");
    const reloaded = await session.run(["flow", "reload"]);
    assert.equal(reloaded.code, 1);
    assert.match(reloaded.stdout, /^fresh +ready/m);
    assert.match(reloaded.stdout, /wrong is broken\n {2}wrong\.ts:1: ./);
    assert.equal(reloaded.stderr, "Broken: wrong\n");
    rmSync(join(plugins, "wrong.ts"));
    writeFileSync(join(plugins, "fresh.ts"), "export default () => 'v2';\n");
    const right = await session.run(["flow", "reload", "--json"]);
    assert.deepEqual([right.code, right.stderr], [0, ""]);
    assert.match(right.stdout, /"name": "fresh"/);
    assert.equal((await session.run(["flow", "run", "fresh"])).stdout, '"v2"\n');
    writeFileSync(join(plugins, "fresh.ts"), "export default () => ;\n");
    const { stdout } = await session.run(["flow", "reload"]);
    const [, serving] = /^fresh +broken +([0-9a-f]{12}) /m.exec(stdout) ?? [];
    assert.ok(
      stdout.includes(`\nfresh is broken, version ${serving} serves\n  fresh.ts:1`),
      stdout,
    );
  });

  for (const name of ["a/b", "_a", "a..b", "../a", "node_modules.a", ".a", "a.index", ""]) {
    test(`new: no flow can be called "${name}"`, async () => {
      const finished = await session.run(["flow", "new", name]);
      assert.equal(finished.code, 2, all(finished));
      assert.ok(!existsSync(join(session.folder, "..", "a.ts")));
    });
  }
});
