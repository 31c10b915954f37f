import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openWorkplace, type Workplace } from "../cli/dev-session.ts";
import { all } from "../cli/session.ts";
import { openTarget } from "./target.ts";

/** What an author does with the program, in each way to run it. */

/** What each act with the files of the machine comes to; of Deno, which has a global for it. */
const REACHING = `export default async (flow) => {
  const [own, outside] = flow.input_value.query.at.split(" ");
  const acts = {
    key: () => Deno.readTextFileSync(own + "/.flowhook/secret.key"),
    source: () => Deno.readTextFileSync(own + "/plugins/greet.ts"),
    outside: () => [...Deno.readDirSync(outside)],
    write: () => Deno.writeTextFileSync(own + "/plugins/written.ts", ""),
    program: () => Deno.writeTextFileSync(import.meta.filename, ""),
    start: () => new Deno.Command("true").outputSync(),
  };
  return Object.keys(acts).filter((name) => {
    try {
      acts[name]();
      return true;
    } catch {
      return false;
    }
  });
};
`;

/** What one flow may change for all others; of Deno, whose environment is the process's. */
const CHANGING = `export default async () => {
  const acts = {
    environment: () => Deno.env.set("HTTP_PROXY", "http://127.0.0.1:1"),
    zone: () => Deno.env.set("TZ", "Asia/Tokyo"),
    umask: () => Deno.umask(0o777),
    signal: () => Deno.addSignalListener("SIGINT", () => {}),
    permission: () => Deno.permissions.revokeSync({ name: "read" }),
    every: () => Deno.Permissions.prototype.revokeSync.call(Deno.permissions, { name: "read" }),
  };
  const done = Object.keys(acts).filter((name) => {
    try {
      acts[name]();
      return true;
    } catch {
      return false;
    }
  });
  return { done, environment: [Deno.env.get("PATH"), Deno.env.has("HOME"), Deno.env.toObject()] };
};
`;

const FILES = {
  "plugins/greet.ts":
    "export default async (flow) => ({ hello: flow.input_value.query.name ?? 'nobody' });\n",
  "plugins/reaching.js": REACHING,
  "plugins/changing.js": CHANGING,
  "plugins/packed.ts": `import greetings from "greetings";
export default (flow) => greetings[flow.input_value.query.in];
`,
  "plugins/node_modules/greetings/index.js": `module.exports = require("./all.json");`,
  "plugins/node_modules/greetings/all.json": `{"en":"hello"}`,
  "plugins/greet.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { testFlow } from "flowhook/testing";
import greet from "./greet.ts";

test("greets by name", async () => {
  const { output_value } = await testFlow(greet, { query: { name: "Ada" } });
  assert.deepEqual(output_value, { hello: "Ada" });
});
`,
};

const target = openTarget();

describe(`an author (${target.name})`, { skip: target.skip ?? false }, () => {
  let place: Workplace;
  before(async () => {
    place = await openWorkplace(FILES);
  });
  after(() => place[Symbol.asyncDispose]());

  test("runs a flow without a service", async () => {
    const args = ["flow", "run", "greet", "--input", '{"query": {"name": "Ada"}}'];
    const finished = await place.run(args);
    assert.equal(finished.code, 0, all(finished));
    assert.deepEqual(JSON.parse(finished.stdout), { hello: "Ada" });
  });

  test("uses a package that requires JSON", async () => {
    const finished = await place.run(["flow", "run", "packed", "--input", '{"query":{"in":"en"}}']);
    assert.equal(finished.code, 0, all(finished));
    assert.equal(finished.stdout, '"hello"\n');
  });

  test("tests a flow", async () => {
    const finished = await place.run(["flow", "test", "--reporter", "tap"]);
    assert.equal(finished.code, 0, all(finished));
    assert.match(finished.stdout, /^ok 1 - greets by name$/m);
  });

  test("serves a folder for itself, and sees each call", async () => {
    const dev = await place.dev();
    const call = `${dev.url}/api/latest/webhook/greet/call?name=Ada`;
    const answer = await fetch(call, { method: "POST" });
    assert.deepEqual(await answer.json(), { hello: "Ada" });
    await dev.until(/greet {2}ENDED_SUCCESS/);
    assert.equal(await dev.stop(), 0);
  });

  test("is told the place of a fault, whatever letters a path has", async () => {
    const below = "a ü~b";
    const files = {
      "my größe.ts": "export default () => {\n  throw new Error('no luck');\n};\n",
      "zu früh (1).ts": "throw new Error('no luck');\nexport default 1;\n",
      "nicht ganz.ts": "export default 1;\nconst b = = 2;\n",
    };
    for (const [name, text] of Object.entries(files))
      await place.write(`${below}/plugins/${name}`, text);
    for (const [flow, told] of [
      ["my größe", /\n +at (?:default \(|run \()?my größe\.ts:2:9\)?\n/],
      ["zu früh (1)", /is broken: zu früh \(1\)\.ts:1:7: no luck\n/],
      ["nicht ganz", /is broken: nicht ganz\.ts:2:11: /],
    ] as const) {
      const finished = await place.run(["flow", "run", flow, "--log"], { below });
      assert.equal(finished.code, 1, all(finished));
      assert.match(finished.stderr, told);
    }
  });

  if (target.name === "deno") {
    test("writes a flow that reaches no file which nobody has granted", async () => {
      const at = encodeURIComponent(`${place.folder} /`);
      const dev = await place.dev();
      const answer = await fetch(`${dev.url}/api/latest/webhook/reaching/call?at=${at}`);
      assert.deepEqual(await answer.json(), []);
      assert.equal(await dev.stop(), 0);
    });

    test("writes a flow that changes nothing of the process, which other flows share", async () => {
      const finished = await place.run(["flow", "run", "changing"]);
      assert.deepEqual(JSON.parse(finished.stdout), { done: [], environment: [null, false, {}] });
    });

    test("is told what a debugger needs", async () => {
      const { code, stderr } = await place.run(["dev", "--port", "0", "--inspect", "greet"]);
      assert.equal(code, 2);
      assert.match(stderr, /^--inspect needs Node: use the binary/);
    });
  }
});
