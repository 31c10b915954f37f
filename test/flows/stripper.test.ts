import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { KnownSources } from "../../src/runner/known-sources.ts";
import { Stripper } from "../../src/server/flows/stripper.ts";
import { strippedPath } from "../../src/shared/stripped-file.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-stripper-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const stripper = new Stripper();

function write(version: string, contents: Readonly<Record<string, string>>): string {
  const directory = join(folder, version);
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

/** What a runner knows of a version that it has not seen before, by the path of the file. */
function read(directory: string): Record<string, string> {
  const start = pathToFileURL(`${directory}/`).href.length;
  const sources = new KnownSources().of(directory);
  return Object.fromEntries([...sources].map(([url, text]) => [url.slice(start), text]));
}

async function strip(version: string, contents: Readonly<Record<string, string>>) {
  const directory = write(version, contents);
  await stripper.strip(directory);
  return read(directory);
}

describe("stripper", () => {
  it("takes the types out of files that have some, and leaves all else at its place", async () => {
    const found = await strip("whole", {
      "order.ts": "const a: number = 1;\nexport { a };",
      "lib/more.mts": "export let b!: string;",
      "plain.js": "export let c",
      "data.json": "{}",
    });
    assert.deepEqual(found, {
      "order.ts": "const a         = 1;\nexport { a };",
      "lib/more.mts": "export let b         ;",
    });
  });

  it("leaves a file with a fault to the thread that loads it", async () => {
    const found = await strip("faults", {
      "enum.ts": "enum Color { red }",
      "wrong.ts": "let a: = 1",
      "good.ts": "let c: 1",
    });
    assert.deepEqual(Object.keys(found), ["good.ts"]);
  });

  it("leaves what is too large, and a folder without types, as they are", async () => {
    const large = { "a.ts": `let a: 1;\n${"//\n".repeat(400_000)}` };
    assert.deepEqual(await strip("large", large), {});
    assert.deepEqual(await strip("plain", { "a.js": "let a" }), {});
  });

  it("goes on after a text that its thread does not survive", async () => {
    const [deep, next] = await Promise.all([
      strip("deep", { "a.ts": `let a = ${"(".repeat(500_000)}` }),
      strip("next", { "a.ts": "let a: 1" }),
    ]);
    assert.deepEqual(deep, {});
    assert.deepEqual(Object.keys(next), ["a.ts"]);
  });

  it("writes what is there once, and anew where it was altered or cut", async () => {
    const directory = write("again", { "a.ts": "let a: 1" });
    await stripper.strip(directory);
    const path = strippedPath(directory);
    const { mtimeMs } = statSync(path);
    await stripper.strip(directory);
    assert.equal(statSync(path).mtimeMs, mtimeMs);
    const whole = readFileSync(path, "utf8");
    for (const damaged of [whole.replace("let a", "evil "), whole.slice(0, -1), ""]) {
      writeFileSync(path, damaged);
      assert.deepEqual(read(directory), {});
      await stripper.strip(directory);
      assert.equal(readFileSync(path, "utf8"), whole);
    }
  });
});
