import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand } from "../blackbox/command.ts";
import { faultsTarget, openTestService } from "./test-service.ts";

/** What the binary carries as compiled code is of use to the runtime within it. */

const target = faultsTarget();

/** In a runner's process, as a thread compiles its program (sandbox/entry.ts). */
const PROBE = `
const { Script, constants } = require("node:vm");
const { readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");
const folder = readFileSync(join(__dirname, "folder.txt"), "utf8");
const text = readFileSync(join(folder, "thread-program.js"), "latin1");
const cachedData = readFileSync(join(folder, "thread.cache"));
const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
for (const code of [text, text + " "])
  console.log(new Script(code, { cachedData, importModuleDynamically }).cachedDataRejected);
`;

if (target.name === "binary")
  describe("compiled code in the binary", () => {
    let folder = "";
    before(async () => void (folder = await mkdtemp(join(tmpdir(), "flowhook-compiled-"))));
    after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

    test("that of a flow's threads is taken by a runner", async () => {
      await using service = await openTestService({ flows: ["echo"] });
      const [name = ""] = await readdir(join(service.data, "runtime"));
      const runtime = join(service.data, "runtime", name);
      const program = await stat(join(runtime, "thread-program.js"));
      const cache = await stat(join(runtime, "thread.cache"));
      assert.ok(cache.size > program.size / 2, `${cache.size} bytes of ${program.size} of text`);
      await writeFile(join(folder, "folder.txt"), runtime);
      await writeFile(join(folder, "probe.cjs"), PROBE);
      const args = ["--node-options=--zero-fill-buffers", "__runner", join(folder, "probe.cjs")];
      const { code, stdout, stderr } = await runCommand(target, args, { cwd: folder });
      assert.equal(stdout, "false\ntrue\n", stderr);
      assert.equal(code, 0);
    });
  });
