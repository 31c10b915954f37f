import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { sha256 } from "../../src/server/flows/sources.ts";
import { Stripper } from "../../src/server/flows/stripper.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-stripper-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const stripper = new Stripper();

type Contents = Readonly<Record<string, string>>;

/** The folder of a version and what its closure tells of it. */
function write(version: string, contents: Contents) {
  const directory = join(folder, version);
  for (const [path, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  const files = Object.entries(contents).map(([path, text]) => ({ path, hash: sha256(text) }));
  return { directory, files };
}

/** What is known of a version, by the path of the file. */
function read(directory: string): Contents {
  const start = pathToFileURL(`${directory}/`).href.length;
  const texts = Object.entries(stripper.of(directory));
  return Object.fromEntries(texts.map(([url, text]) => [url.slice(start), text]));
}

/** What takes this long, in milliseconds, is left to the thread that loads it. */
const MOST_MS = 2000;

type Files = ReturnType<typeof write>["files"];

/** Once more where the machine paused for as long as it may take. */
async function stripIn(directory: string, files: Files, by = stripper): Promise<void> {
  for (;;) {
    const begun = performance.now();
    await by.strip(directory, { files });
    if (performance.now() - begun < MOST_MS) return;
    by.forget(directory);
  }
}

async function strip(version: string, contents: Contents): Promise<Contents> {
  const { directory, files } = write(version, contents);
  await stripIn(directory, files);
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

  it("takes them out as well where its thread was started before", async () => {
    const { directory, files } = write("prepared", { "order.ts": "let a: 1" });
    const prepared = new Stripper();
    prepared.prepare(directory);
    await stripIn(directory, files, prepared);
    assert.deepEqual(Object.values(prepared.of(directory)), ["let a   "]);
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

  it("leaves a file that was altered since it was copied", async () => {
    const { directory, files } = write("altered", { "a.ts": "let a: 1", "b.ts": "let b: 1" });
    writeFileSync(join(directory, "a.ts"), "evil()");
    await stripIn(directory, files);
    assert.deepEqual(Object.keys(read(directory)), ["b.ts"]);
  });

  it("knows nothing of a version that it forgot, and may be asked for it again", async () => {
    const { directory, files } = write("again", { "a.ts": "let a: 1" });
    await stripIn(directory, files);
    stripper.forget(directory);
    assert.deepEqual(read(directory), {});
    await stripIn(directory, files);
    assert.deepEqual(Object.keys(read(directory)), ["a.ts"]);
  });
});
