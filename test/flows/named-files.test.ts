import assert from "node:assert/strict";
import { test } from "node:test";
import { namedBy } from "../../src/server/flows/named-files.ts";

test("what string literals of a file name is found, quotes and escapes in them as well", () => {
  const text = [
    `import "./b.ts"; import './c.ts'; const d = await import(\`./d.ts\`);`,
    `const e = "./a\\'b.ts" + "it's" + './e.ts';`,
    "const not = `./${name}.ts`;",
  ].join("\n");
  const found = namedBy("a/a.ts", text).names.filter((name) => name.endsWith(".ts"));
  for (const name of ["a/b.ts", "a/c.ts", "a/d.ts", "a/a'b.ts", "a/e.ts"])
    assert.ok(found.includes(name), name);
  assert.ok(!found.some((name) => name.includes("$")));
});

test("a line of escaped quotes is read in a moment", () => {
  const begun = performance.now();
  for (const quote of ["`", "'", '"']) namedBy("a.ts", `// "./${`\\${quote}./`.repeat(40_000)}\n`);
  assert.ok(performance.now() - begun < 5000);
});
