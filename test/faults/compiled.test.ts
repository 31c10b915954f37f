import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand } from "../blackbox/command.ts";
import { faultsTarget, openTestService } from "./test-service.ts";

/** What the binary carries as compiled code is of use to the runtime within it. */

const target = faultsTarget();

/** In a runner's process, what a thread's entry compiles; it goes no further outside of a thread. */
const PROBE = `
const vm = require("node:vm");
vm.Script = class extends vm.Script {
  constructor(text, options) {
    super(text, options);
    console.log("cache", options.cachedData?.length > 0, "rejected", this.cachedDataRejected);
  }
};
const { readFileSync } = require("node:fs");
const folder = readFileSync(require("node:path").join(__dirname, "folder.txt"), "utf8");
try {
  require(require("node:path").join(folder, "thread.cjs"));
} catch {}
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
      await writeFile(join(folder, "folder.txt"), runtime);
      await writeFile(join(folder, "probe.cjs"), PROBE);
      const args = ["--node-options=--zero-fill-buffers", "__runner", join(folder, "probe.cjs")];
      const { code, stdout, stderr } = await runCommand(target, args, { cwd: folder });
      assert.equal(stdout, "cache true rejected false\n", stderr);
      assert.equal(code, 0);
    });
  });
