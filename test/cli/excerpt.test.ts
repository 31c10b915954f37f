import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findExcerpt } from "../../src/cli/excerpt.ts";

let folder = "";
before(() => {
  folder = mkdtempSync(join(tmpdir(), "flowhook-excerpt-"));
});
after(() => rmSync(folder, { recursive: true }));

test("the file is the one that is named, whatever letters its name has", () => {
  writeFileSync(join(folder, "e.ts"), "another file\n");
  for (const file of ["a+e.ts", "my e.ts", "größe e.ts", "a (e.ts"]) {
    const texts = [
      `Flow is broken, nothing serves it: ${file}:1:5: no luck`,
      `${file}:1:5: no luck`,
      `no luck at ${file}:1:5`,
      `Error: no luck\n    at run (${file}:1:5)\n    at e.ts:1:1`,
      `Error: no luck\n    at async ${file}:1:5\n    at e.ts:1:1`,
    ];
    writeFileSync(join(folder, file), "the very file\n");
    for (const text of texts)
      assert.match(findExcerpt(folder, text) ?? "none", /\.ts:1\n> 1 \| the very file\n/, text);
    rmSync(join(folder, file));
    for (const text of texts.slice(0, 2)) assert.equal(findExcerpt(folder, text), null, text);
  }
});

for (const [name, source] of [
  ["tabs", "\t\tcall(;"],
  ["letters of two columns", 'f("日本", ;'],
])
  test(`the sign stands below the column: ${name}`, () => {
    writeFileSync(join(folder, "broken.ts"), `if (true)\n${source}\n`);
    const column = source!.indexOf(";") + 1;
    const shown = findExcerpt(folder, `broken.ts:2:${column}: Unexpected ";"`)!.split("\n");
    assert.match(shown.at(-1)!, /\^$/);
    const columns = (line: string) => line.replaceAll(/[日本]/g, "xx");
    assert.equal(columns(shown.at(-2)!).indexOf(";"), shown.at(-1)!.indexOf("^"), shown.join("\n"));
  });
