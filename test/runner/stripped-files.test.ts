import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { StrippedFiles } from "../../src/runner/stripped-files.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-stripped-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const files = new StrippedFiles();

function write(version: string, contents: Readonly<Record<string, string>>): string {
  const directory = join(folder, version);
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

function urlOf(directory: string, path: string): string {
  return pathToFileURL(join(directory, path)).href;
}

describe("stripped files", () => {
  it("are those with types, each at its place", async () => {
    const contents = {
      "order.ts": "const a: number = 1;\nexport { a };",
      "lib/b.mts": "let b!: string;",
    };
    const directory = write("whole", { ...contents, "plain.js": "let c", "data.json": "{}" });
    const sources = await files.get(directory);
    assert.deepEqual([...sources.keys()].toSorted(), [
      urlOf(directory, "lib/b.mts"),
      urlOf(directory, "order.ts"),
    ]);
    const text = sources.get(urlOf(directory, "order.ts"));
    assert.equal(text, "const a         = 1;\nexport { a };");
  });

  it("are there at once from the second time on", async () => {
    const directory = write("twice", { "order.ts": "let a: 1" });
    assert.equal(files.peek(directory).size, 0);
    await files.get(directory);
    assert.equal(files.peek(directory).size, 1);
  });

  it("lack what cannot be read, so that the thread that loads it says why", async () => {
    const directory = write("broken", {
      "a.ts": "enum Color { red }",
      "b.ts": "let a: = 1",
      "c.ts": "let c: 1",
    });
    assert.deepEqual([...(await files.get(directory)).keys()], [urlOf(directory, "c.ts")]);
  });

  it("are none of a folder that is too large, or not there", async () => {
    const large = write("large", { "a.ts": `let a: 1;\n${"//\n".repeat(400_000)}` });
    assert.equal((await files.get(large)).size, 0);
    assert.equal((await files.get(join(folder, "missing"))).size, 0);
  });

  it("go on after a text that their thread does not survive, or that takes too long", async () => {
    const deep = write("deep", { "a.ts": `let a = ${"(".repeat(500_000)}` });
    const [nested, next] = await Promise.all([
      files.get(deep),
      files.get(write("next", { "a.ts": "let a: 1" })),
    ]);
    assert.equal(nested.size, 0);
    assert.equal(next.size, 1);
  });
});
