import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as v from "valibot";
import { draftSchema } from "../../src/cli/flow-schema.ts";
import { parseDigits } from "../../src/shared/json-exact.ts";
import { openTarget } from "../blackbox/target.ts";
import { all, openSession, type Session } from "./session.ts";

const INPUTS: Readonly<Record<string, unknown>> = {
  scalars: { json: { text: "a", count: 1, price: 1.5, isPaid: true, note: null } },
  names: {
    json: { "two words": 1, "9": 2, class: 3, "": 4, 'a"b\n': 5, "grün\u202e": 6, $ok_1: 7 },
  },
  items: { json: [{ id: 1, tag: "a" }, { id: "x", more: { deep: [] } }, { id: null }] },
  mixed: { json: [1, "a", null, [true, [null]], { a: {} }, []] },
  long: {
    json: { list: ["a", 1, true, ["b", 2, [{ a: 1 }]], { one: [1], two: [[["a", false]]] }] },
  },
  query: { method: "GET", path: null, headers: { "x-a": "1" }, query: { page: "1" } },
  both: { json: "text", query: { "a[]": "1" } },
  bare: { method: "GET", query: {} },
  nothing: { json: null },
  other: [5, "of no call"],
  text: { query: "select 1" },
  own: { query: "select 1", limit: 5 },
  page: { query: { page: "1" }, limit: 5 },
  more: { json: { a: 1 }, extra: 2 },
};

/** Those that are of no call. */
const WHOLE = ["other", "text", "own", "page", "more"];

test("a draft is of the members that there are, and says nothing of their values", () => {
  assert.equal(draftSchema({ json: {}, query: {} }), "v.object({\n  json: v.object({}),\n})");
  assert.equal(
    draftSchema({
      json: [
        { id: 1, "a-b": "canary" },
        { id: null, list: [1, "a"] },
      ],
      headers: { authorization: "canary" },
      query: { page: "1" },
    }),
    `v.object({
  json: v.array(
    v.object({
      id: v.nullable(v.number()),
      "a-b": v.optional(v.string()),
      list: v.optional(v.array(v.union([v.string(), v.number()]))),
    }),
  ),
  query: v.object({
    page: v.string(),
  }),
})`,
  );
  const exact = parseDigits('{"json": {"id": 12345678901234567890, "__proto__": 1}}');
  assert.equal(
    draftSchema(exact),
    "v.object({\n  json: v.object({\n    id: v.number(),\n  }),\n})",
  );
});

test("a draft type-checks, and its input fits it as it is", async () => {
  const build = join(import.meta.dirname, "../../build");
  await mkdir(build, { recursive: true });
  const folder = await mkdtemp(join(build, "drafts-"));
  try {
    const lines = Object.entries(INPUTS).map(
      ([name, input]) => `export const ${name} = ${draftSchema(input)};\n`,
    );
    const file = join(folder, "drafts.ts");
    await writeFile(file, `import * as v from "valibot";\n${lines.join("")}`);
    const tsc = join(import.meta.dirname, "../../node_modules/.bin/tsc");
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext"];
    execFileSync(process.execPath, [tsc, "--ignoreConfig", "--skipLibCheck", ...options, file]);
    const drafts = (await import(pathToFileURL(file).href)) as Record<string, v.GenericSchema>;
    for (const [name, input] of Object.entries(INPUTS)) {
      const parsed = v.parse(drafts[name] as v.GenericSchema, input);
      const { json, query } = input as { json?: unknown; query?: unknown };
      const expected = { json, ...(name === "query" || name === "both" ? { query } : {}) };
      assert.deepEqual(
        { json: undefined, ...(parsed as object) },
        WHOLE.includes(name) ? { json: undefined, ...(input as object) } : expected,
      );
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("flow schema", { skip: openTarget().skip ?? false }, () => {
  let session: Session;
  before(async () => {
    session = await openSession({ "echo.ts": "export default (flow) => flow.input_value;\n" });
  });
  after(() => session[Symbol.asyncDispose]());

  test("prints a draft of an execution's input; an execution is needed", async () => {
    const input = '{"json": {"item": "lamp"}, "query": {}}';
    const run = await session.run(["flow", "run", "echo", "--json", "--input", "-"], { input });
    const { id } = JSON.parse(run.stdout) as { id: string };
    const made = await session.run(["flow", "schema", "--execution", id]);
    assert.equal(made.code, 0, all(made));
    const draft = "v.object({\n  json: v.object({\n    item: v.string(),\n  }),\n})\n";
    assert.deepEqual([made.stdout, made.stderr], [draft, ""]);
    const none = await session.run(["flow", "schema", "--execution", "nothing"]);
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /^There is no execution "nothing"/);
    assert.equal((await session.run(["flow", "schema"])).code, 2);
  });
});
