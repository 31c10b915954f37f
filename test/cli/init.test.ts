import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { makeDeclarations } from "../../scripts/declarations.ts";
import { loadConfig } from "../../src/server/config/load.ts";
import { sampleConfig } from "../../src/server/config/sample.ts";
import { CONFIG_KEYS } from "../../src/server/config/schema.ts";
import { runCommand, runProgram, type Finished } from "../blackbox/command.ts";
import { environment, NODE, openTarget, ROOT } from "../blackbox/target.ts";
import { all } from "./session.ts";

const target = openTarget();

const isWindows = process.platform === "win32";

test("the declarations in types/ are those of the source: run npm run docs", async () => {
  for (const [path, text] of makeDeclarations()) assert.equal(await readFile(path, "utf8"), text);
});

describe("init and types", { skip: target.skip ?? false }, () => {
  let folder = "";
  beforeEach(async () => {
    if (folder !== "") await rm(folder, { recursive: true });
    folder = await mkdtemp(join(tmpdir(), "flowhook-init-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  function run(args: readonly string[]): Promise<Finished> {
    return runCommand(target, args, { cwd: folder });
  }

  /** What an editor would underline. */
  function compile(): Promise<Finished> {
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    return runProgram(NODE, [tsc, "-p", folder], { cwd: folder, env: environment() });
  }

  test("a folder whose name has a blank is a word of the lines that it prints", async () => {
    const finished = await run(["init", "my flows"]);
    assert.match(finished.stdout, /^Write flows with: cd 'my flows' && flowhook dev$/m);
    assert.match(finished.stdout, /^Serve them with: cd 'my flows' && flowhook serve$/m);
  });

  test("an empty folder gets all that serving takes", async () => {
    const finished = await run(["init"]);
    assert.equal(finished.code, 0, all(finished));
    const names = (await readdir(folder)).sort();
    assert.deepEqual(names, [".gitignore", "flowhook.yaml", "plugins", "tsconfig.json", "types"]);
    assert.match(finished.stdout, /^Wrote plugins\/hello\.ts$/m);
    assert.match(
      finished.stdout,
      /^Write flows with: flowhook dev\nServe them with: flowhook serve$/m,
    );
    const checked = await run(["check"]);
    assert.equal(checked.code, 0, all(checked));
    assert.match(checked.stdout, /^hello +ready$/m);
  });

  /** @param blocks that one file may have, each of 512 bytes or 1 KiB */
  function runWithin(blocks: number, words: readonly string[]): Promise<Finished> {
    const script = `trap '' XFSZ; ulimit -f ${blocks}; exec "$0" "$@"`;
    const args = ["-c", script, ...target.command, ...words];
    return runProgram("/bin/sh", args, { cwd: folder, env: environment() });
  }

  test("a file that the disk takes a part of is not left there", { skip: isWindows }, async () => {
    const begun = await runWithin(1, ["init"]);
    assert.equal(begun.code, 1, all(begun));
    assert.match(begun.stderr, /^Cannot set up "\.": EFBIG\b/);
    assert.deepEqual(await readdir(folder), []);
    assert.equal((await run(["init"])).code, 0);
    assert.equal(await readFile(join(folder, "flowhook.yaml"), "utf8"), sampleConfig());
    const flow = await runWithin(0, ["flow", "new", "greet", "--test"]);
    assert.match(flow.stderr, /^Cannot go on: EFBIG\b/, all(flow));
    assert.deepEqual(await readdir(join(folder, "plugins")), ["hello.ts"]);
    const declared = join(folder, "types/flowhook.d.ts");
    const kept = await Promise.all([readFile(declared, "utf8"), readdir(join(folder, "types"))]);
    const renewed = await runWithin(1, ["types"]);
    assert.match(renewed.stderr, /^Cannot write the declarations: EFBIG\b/, all(renewed));
    const now = await Promise.all([readFile(declared, "utf8"), readdir(join(folder, "types"))]);
    assert.deepEqual(now, kept);
    await rm(declared);
    const types = await runWithin(1, ["init"]);
    assert.match(types.stderr, /^Cannot write the declarations: EFBIG\b/, all(types));
    assert.ok(!existsSync(declared));
  });

  test("a place that takes no folders is named", async () => {
    for (const args of [
      ["init", "/proc/flowhook/new"],
      ["types", "/proc/flowhook/new"],
    ]) {
      const finished = await run(args);
      assert.equal(finished.code, 1, all(finished));
      assert.match(finished.stderr, /^Cannot .*\/proc\/flowhook.*\n$/);
    }
  });

  test("nothing that is there is overwritten", async () => {
    await mkdir(join(folder, "sub/plugins"), { recursive: true });
    await writeFile(join(folder, "sub/flowhook.yaml"), "LISTEN_PORT: 1\n");
    await writeFile(join(folder, "sub/plugins/mine.ts"), "export default () => 1;\n");
    const finished = await run(["init", "sub"]);
    assert.equal(finished.code, 0, all(finished));
    assert.match(finished.stdout, /^Left sub\/flowhook\.yaml as it is$/m);
    assert.match(finished.stdout, /^Left sub\/plugins as it is$/m);
    assert.match(finished.stdout, /^Wrote sub\/tsconfig\.json$/m);
    assert.equal(await readFile(join(folder, "sub/flowhook.yaml"), "utf8"), "LISTEN_PORT: 1\n");
    assert.deepEqual(await readdir(join(folder, "sub/plugins")), ["mine.ts"]);
    assert.doesNotMatch(finished.stdout, /^Renew/m);
    const own = ["sub/types/testing.d.ts", "sub/types/node/fs.d.ts"];
    for (const name of own) await writeFile(join(folder, name), "export {};\n");
    await rm(join(folder, "sub/types/flowhook.d.ts"));
    const again = await run(["init", "sub"]);
    assert.match(again.stdout, /^Wrote sub\/types\/flowhook\.d\.ts$/m);
    assert.match(again.stdout, /^Left sub\/types\/testing\.d\.ts as it is$/m);
    assert.match(again.stdout, /^Left sub\/types\/node\/ as it is$/m);
    assert.match(again.stdout, /^Renew the declarations with: cd sub && flowhook types$/m);
    for (const name of own)
      assert.equal(await readFile(join(folder, name), "utf8"), "export {};\n");
  });

  test("a folder that cannot be made", async () => {
    await writeFile(join(folder, "file"), "");
    const finished = await run(["init", "file/sub"]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^Cannot set up "file\/sub": .+\n$/);
  });

  test("editors understand a flow: valibot's types reach its input", async () => {
    await run(["init"]);
    const right = await compile();
    assert.equal(right.code, 0, all(right));
    await writeFile(
      join(folder, "plugins/typed.ts"),
      `import { defineFlow, v } from "flowhook";
export default defineFlow({
  input: v.object({ json: v.object({ name: v.string() }) }),
  run(flow) {
    const right: string = flow.input_value.json.name;
    const wrong: number = flow.input_value.json.name;
    return { right, wrong };
  },
});
`,
    );
    const wrong = await compile();
    assert.notEqual(wrong.code, 0);
    assert.match(wrong.stdout, /typed\.ts\(6,11\): error TS2322/);
    assert.equal(wrong.stdout.split("error TS").length, 2, wrong.stdout);
  });

  test("editors understand modules of Node, tests and every example, without npm", async () => {
    await run(["init"]);
    await run(["flow", "new", "greet", "--test"]);
    for (const name of await readdir(join(ROOT, "plugins")))
      await copyFile(join(ROOT, "plugins", name), join(folder, "plugins", name));
    const right = await compile();
    assert.equal(right.code, 0, all(right));
    const source =
      'import { spawn } from "node:child_process";\nimport { createHash } from "node:crypto";\n' +
      'const wrong: number = createHash("sha256").digest("hex");\n' +
      "export default () => [spawn, wrong];\n";
    await writeFile(join(folder, "plugins/wrong.ts"), source);
    const wrong = await compile();
    assert.match(wrong.stdout, /wrong\.ts\(1,23\): error TS\d+: .*node:child_process/);
    assert.match(wrong.stdout, /wrong\.ts\(3,7\): error TS2322: .*'string'/);
    assert.equal(wrong.stdout.split("error TS").length, 3, wrong.stdout);
  });

  test("types: writes the declarations anew, and says how editors find them", async () => {
    const first = await run(["types"]);
    assert.equal(first.code, 0, all(first));
    const [, told = ""] = /tsconfig\.json:\n( +"allow[^]*)$/.exec(first.stdout) ?? [];
    await writeFile(join(folder, "types/flowhook.d.ts"), "old");
    await writeFile(join(folder, "tsconfig.json"), '{ "compilerOptions": { "strict": true } }');
    for (const command of ["types", "init"]) {
      const again = await run([command]);
      assert.match(again.stdout, /compilerOptions of your tsconfig\.json:\n +"allow/, command);
    }
    // Someone's own, with what they were told.
    const own = `{ "compilerOptions": { "strict": true, "module": "esnext",\n${told}\n} }`;
    await writeFile(join(folder, "tsconfig.json"), own);
    await run(["flow", "new", "greet", "--test"]);
    const compiled = await compile();
    assert.equal(compiled.code, 0, all(compiled));
    for (const command of ["types", "init"])
      assert.doesNotMatch((await run([command])).stdout, /compilerOptions/, command);
    const text = await readFile(join(folder, "types/flowhook.d.ts"), "utf8");
    const source = join(ROOT, "src/assets/types/flowhook.d.ts");
    assert.equal(text, await readFile(source, "utf8"));
  });

  test("the configuration file has every key with its default", async () => {
    const file = join(folder, "flowhook.yaml");
    await writeFile(file, sampleConfig());
    const commented = loadConfig({ env: {}, cwd: folder }).config;
    const shown = sampleConfig().replace(/^#(?=[A-Z])/gm, "");
    assert.deepEqual(
      [...shown.matchAll(/^([A-Z_]+): /gm)].map(([, key]) => key),
      CONFIG_KEYS,
    );
    await writeFile(file, shown);
    assert.deepEqual(loadConfig({ env: {}, cwd: folder }).config, commented);
  });
});
