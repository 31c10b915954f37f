import assert from "node:assert/strict";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { closureOf, type Closure } from "../../src/server/flows/closure.ts";
import { Sources } from "../../src/server/flows/sources.ts";

interface Folder {
  readonly root: string;
  closure(entry: string): Promise<Closure | null>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function openFolder(files: Readonly<Record<string, string>>): Promise<Folder> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "flowhook-closure-")));
  const root = join(folder, "plugins");
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const sources = new Sources();
  return {
    root,
    closure: (entry) => closureOf(sources, { root, own: join(folder, "data") }, entry),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const paths = (closure: Closure | null) => closure?.files.map((file) => file.path).toSorted();

suite("closure", () => {
  test("has what string literals name, transitively and once", async () => {
    await using folder = await openFolder({
      "a/flow.ts": `
        import one from './one.ts';
        export * from "../b/two.mjs";
        const three = await import(\`./three.js\`);
        const page = new URL("./page%20one.html?v=1#top", import.meta.url);
        import data from "./data.json" with { type: "json" };
        import "./missing.ts"; import "valibot"; import "/etc/hostname"; import "../../outside.ts";
        import "../node_modules/x/index.js"; import "./folder"; import \`./\${three}.ts\`;`,
      "a/one.ts": `import "./flow.ts"; import './one.ts';`,
      "b/two.mjs": `import "../c.cjs"`,
      "c.cjs": `require("./d.ts")`,
      "d.ts": "",
      "a/three.js": "",
      "a/page one.html": `<link href="./style.css">`,
      "a/style.css": "",
      "a/data.json": `["./one.ts", "../e.ts"]`,
      "e.ts": "",
      "a/folder/x.ts": "",
      "a/unnamed.ts": "",
      "node_modules/x/index.js": "",
      "../outside.ts": "",
    });
    assert.deepEqual(paths(await folder.closure("a/flow.ts")), [
      "a/data.json",
      "a/flow.ts",
      "a/one.ts",
      "a/page one.html",
      "a/three.js",
      "b/two.mjs",
      "c.cjs",
      "d.ts",
    ]);
    assert.equal(await folder.closure("a/none.ts"), null);
    assert.equal(await folder.closure("a/folder"), null);
  });

  test("has data where code imports it or looks beside itself, and not where it names it alone", async () => {
    const permissions = `const p = { read: ["./calls.csv"], write: ["./state.json", "./plain"] };`;
    await using folder = await openFolder({
      "named.ts": `${permissions} readFileSync("./calls.csv"); import("./b.ts"); const b = "./c.ts";`,
      "imported.ts": `import s from\n"./state.json"; await import("./calls.csv"); require( './plain' )`,
      "beside.ts": `for (const n of ["./calls.csv"]) read(new URL(n, import.meta.url));`,
      "beside.cjs": `read(join(__dirname, "./calls.csv"))`,
      "bare.ts": `read(join(import.meta.dirname, "calls.csv"))`,
      "helped.ts": `import { text } from "./helper.ts"; export const page = text("./calls.csv");`,
      "helper.ts": `export const text = (name) => readFileSync(new URL(name, import.meta.url), "utf8");`,
      "table.ts": `const all = { a: "./state.json" }; await import(all[name], { with: { type: "json" } })`,
      "resolved.cjs": `require.resolve("./plain"); import(/* of the table */ "./state.json");`,
      "b.ts": "",
      "c.ts": "",
      "calls.csv": "1",
      "state.json": "{}",
      plain: "",
    });
    for (const [entry, ...others] of [
      ["named.ts", "b.ts", "c.ts"],
      ["imported.ts", "calls.csv", "plain", "state.json"],
      ["beside.ts", "calls.csv"],
      ["beside.cjs", "calls.csv"],
      ["bare.ts"],
      ["helped.ts", "calls.csv", "helper.ts"],
      ["table.ts", "state.json"],
      ["resolved.cjs", "plain", "state.json"],
    ] as const)
      assert.deepEqual(paths(await folder.closure(entry)), [entry, ...others].toSorted());
  });

  test("has files and folders with names of any kind, each by one path", async () => {
    await using folder = await openFolder({
      "a/index.ts": `import "./it's.ts"; import './it\\'s.ts'; const a = '"./q.ts'; import "./q.ts";
        import "./$lib/x.ts"; import "./50%25.ts"; import "./n%231.ts"; import "./%zz.ts";
        new URL("./", import.meta.url); new URL("./sub/", import.meta.url); import "./..";
        import "./\0.ts"; const text = "./${"x/".repeat(3000)}"; const more = "./${"y".repeat(300)}";`,
      "a/it's.ts": "",
      "a/q.ts": "",
      "a/$lib/x.ts": "",
      "a/50%.ts": "",
      "a/n#1.ts": "",
      "a/sub/index.ts": "",
      "index.ts": `import "./"; import "./.."`,
      "../index.ts": "",
    });
    assert.deepEqual(paths(await folder.closure("a/index.ts")), [
      "a/$lib/x.ts",
      "a/50%.ts",
      "a/index.ts",
      "a/it's.ts",
      "a/n#1.ts",
      "a/q.ts",
      "a/sub/index.ts",
      "index.ts",
    ]);
    assert.deepEqual(paths(await folder.closure("index.ts")), ["index.ts"]);
  });

  test("names a version by contents and paths alone", async () => {
    const files = { "a.ts": `import "./b.ts"; export default 1;`, "b.ts": "1" };
    await using one = await openFolder(files);
    await using two = await openFolder({ ...files, "c.ts": "1" });
    await using three = await openFolder({ ...files, "b.ts": "2" });
    const [first, second, third] = [one, two, three].map((folder) => folder.closure("a.ts"));
    assert.match((await first)?.version ?? "", /^[0-9a-f]{16}$/);
    assert.equal((await first)?.version, (await second)?.version);
    assert.notEqual((await first)?.version, (await third)?.version);
    assert.equal((await first)?.isModule, false);
    assert.equal((await one.closure("b.ts"))?.isModule, true);
  });

  test("refuses a link that leads out, and follows one that does not", async () => {
    await using folder = await openFolder({
      "a.ts": `import "./in.ts"`,
      "b.ts": `import "./out/secret.ts"`,
      "lib/x.ts": "",
      "../other/secret.ts": "",
    });
    await symlink("lib/x.ts", join(folder.root, "in.ts"));
    await symlink("../other", join(folder.root, "out"));
    assert.deepEqual(paths(await folder.closure("a.ts")), ["a.ts", "in.ts"]);
    await assert.rejects(folder.closure("b.ts"), /'out\/secret.ts' is a link that leads out/);
  });

  test("bears links in circles", async () => {
    await using folder = await openFolder({ "a.ts": `import "./loop.ts"; import "./self/a.ts"` });
    await symlink("loop.ts", join(folder.root, "loop.ts"));
    await symlink(".", join(folder.root, "self"));
    assert.ok(paths(await folder.closure("a.ts"))?.includes("self/a.ts"));
  });

  test("refuses more than a flow can sensibly be", async () => {
    const links = Array.from({ length: 1001 }, (_, n) => `import "./m${n}.ts";`).join("");
    const modules = Array.from({ length: 1001 }, (_, n) => [`m${n}.ts`, ""] as const);
    await using folder = await openFolder({ "a.ts": links, ...Object.fromEntries(modules) });
    await assert.rejects(folder.closure("a.ts"), /more than 1000 files/);
  });
});
