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
