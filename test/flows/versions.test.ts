import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { versionOf, type Closure } from "../../src/server/flows/closure.ts";
import { Loader } from "../../src/server/flows/loader.ts";
import { sha256 } from "../../src/server/flows/sources.ts";
import { KEPT_VERSIONS, Versions } from "../../src/server/flows/versions.ts";
import type { Inspection } from "../../src/shared/wire/protocol.ts";

/** The folders of versions on the disk, and what becomes of them. */

const LIMITS = {
  allow: { net: false, read: [], write: [] },
  timeoutMs: 1000,
  timeoutMaxMs: 1000,
  memory_mb: 64,
};

const PERMISSIONS = { net: false, read: [], write: [], secrets: [] };

const FLOW: Inspection = {
  kind: "flow",
  manifest: {
    form: "function",
    description: null,
    permissions: PERMISSIONS,
    timeout_sec: null,
    memory_mb: null,
    isolation: "flow",
    has_input_schema: false,
    schemas: { input: null, output: null },
  },
};

interface Bench extends AsyncDisposable {
  readonly data: string;
  readonly versions: Versions;
  /** Takes a text up as a flow's file, without serving it; gives its version. */
  take(text: string, flow?: string): Promise<string>;
}

async function openBench(): Promise<Bench> {
  const data = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-versions-")));
  const versions = await Versions.open(data);
  const loader = new Loader({ versions, limits: LIMITS, inspect: async () => FLOW });
  return {
    data,
    versions,
    async take(text, flow = "greet") {
      const closure = toClosure(text);
      const source = { closure, content: async () => Buffer.from(text) };
      const candidate = { key: text, since: 0, node: null, isImported: false };
      const taken = await loader.take(
        flow,
        { root: data, own: data },
        { ...candidate, read: async () => source },
      );
      assert.equal(taken.kind, "flow");
      return closure.version;
    },
    async [Symbol.asyncDispose]() {
      rmSync(data, { recursive: true, force: true });
    },
  };
}

function toClosure(text: string): Closure {
  const entry = "greet.js";
  const files = [{ path: entry, hash: sha256(Buffer.from(text)) }];
  const version = versionOf(entry, files);
  return { entry, version, files, isModule: false, cut: null, mistake: null, since: 0 };
}

const toText = (n: number): string => `export default () => ${n};`;

/** Takes up as many as are kept beside the one that serves, and that one. */
async function fill({ take, versions }: Bench): Promise<string[]> {
  const taken: string[] = [];
  for (let n = 0; n <= KEPT_VERSIONS; n += 1) {
    taken.push(await take(toText(n)));
    await versions.serve("greet", taken.at(-1) ?? null);
  }
  return taken;
}

function assertThere({ versions }: Bench, version: string): void {
  const kept = versions.find("greet", version);
  assert.ok(kept !== undefined && existsSync(join(kept.directory, kept.entry)));
}

test("a version that is taken up again keeps its files while a newer one is served", async () => {
  await using bench = await openBench();
  const [oldest = ""] = await fill(bench);
  const next = await bench.take(toText(-1));
  await bench.versions.hold("greet", oldest, () => bench.versions.serve("greet", next));
  assertThere(bench, oldest);
});

test("a version that is taken up while it is removed is made anew", async () => {
  await using bench = await openBench();
  const [oldest = ""] = await fill(bench);
  const removed = bench.versions.discard("greet", oldest);
  assert.equal(await bench.take(toText(0)), oldest);
  await removed;
  assertThere(bench, oldest);
});

test("a name that is too long for a folder has one, also after a start", async () => {
  await using bench = await openBench();
  const names = ["合".repeat(121), "合".repeat(120) + "a", ":".repeat(128), "a:b"];
  for (const name of names) await bench.versions.serve(name, await bench.take(toText(1), name));
  const found = (await Versions.open(bench.data)).names();
  assert.deepEqual(found.toSorted(), names.toSorted());
  for (const name of readdirSync(join(bench.data, "versions")))
    assert.ok(Buffer.byteLength(name) <= 255, name);
});

test("what is there and cannot be read costs no version: the error names it", async () => {
  for (const name of ["record", "serving"]) {
    await using bench = await openBench();
    const version = await bench.take(toText(1));
    await bench.versions.serve("greet", version);
    const folder = join(bench.data, "versions/greet");
    const path = join(folder, name === "record" ? `${version}.json` : "serving");
    // A folder is no text for anybody, root included.
    rmSync(path);
    mkdirSync(path);
    const before = readdirSync(folder);
    await assert.rejects(
      Versions.open(bench.data),
      (error) => error instanceof Error && error.message.includes(path),
    );
    assert.deepEqual(readdirSync(folder), before);
  }
});

test("a record that was cut, or is gone, is no version's", async () => {
  await using bench = await openBench();
  const [cut, gone, whole] = [await bench.take("1"), await bench.take("2"), await bench.take("3")];
  await bench.versions.serve("greet", whole);
  const folder = join(bench.data, "versions/greet");
  writeFileSync(join(folder, `${cut}.json`), "{");
  rmSync(join(folder, `${gone}.json`));
  await Versions.open(bench.data);
  assert.deepEqual(readdirSync(folder).toSorted(), [whole, `${whole}.json`, "serving"].toSorted());
});
