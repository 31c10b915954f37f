import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { flowName, nameError } from "../../src/server/flows/names.ts";

suite("flow names", () => {
  const rows: [string, string | null][] = [
    ["hello.ts", "hello"],
    ["hello.mts", "hello"],
    ["hello.js", "hello"],
    ["hello.mjs", "hello"],
    ["hello.cjs", null],
    ["hello.tsx", null],
    ["hello", null],
    ["hello.json", null],
    ["billing/invoice.ts", "billing.invoice"],
    ["billing/index.ts", "billing"],
    ["index.ts", "index"],
    ["a/b/index.mjs", "a.b"],
    ["a/index/index.ts", "a.index"],
    ["v1.2/sync.ts", "v1.2.sync"],
    ["types.d.ts", null],
    ["types.d.mts", null],
    ["page.d.html.ts", null],
    ["hello.test.ts", null],
    ["hello.test.mjs", null],
    ["test.ts", "test"],
    ["contest.ts", "contest"],
    ["_draft.ts", null],
    ["_lib/x.ts", null],
    ["a/.b/x.ts", null],
    ["a/_b.ts", null],
    [".x.ts", null],
    ["node_modules/x/index.js", null],
    ["a/node_modules/x.js", null],
    ["cafe\u0301.ts", "caf\u00e9"],
  ];
  for (const [path, name] of rows) {
    test(`${path} is ${name ?? "no flow"}`, () => assert.equal(flowName(path), name));
  }

  test("a name follows the rules of resource names", () => {
    for (const name of ["hello", "a b", "grüße", "x".repeat(128), "👩\u200d💻"])
      assert.equal(nameError(name), null);
    for (const name of [" a", "a ", "a?b", "a#b", "a%b", "a\\b", "a\nb", "x".repeat(129)]) {
      assert.notEqual(nameError(name), null, name);
    }
    for (const [name, named] of [
      ["a\u200bb", /U\+200B/],
      ["a\u202eb", /U\+202E/],
    ] as const)
      assert.match(nameError(name) ?? "none", named);
  });
});
