import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { environment, openTarget } from "../blackbox/target.ts";
import { cleanUpAtSignals } from "../../src/cli/clean-up.ts";

const MODULE = new URL("../../src/cli/clean-up.ts", import.meta.url).href;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  test(`${signal} cleans up, and ends the command all the same`, () => {
    const program = `
      const { cleanUpAtSignals } = await import(${JSON.stringify(MODULE)});
      cleanUpAtSignals(() => console.log("cleaned"));
      process.kill(process.pid, ${JSON.stringify(signal)});
      setInterval(() => {}, 1000);
    `;
    const args = ["--input-type=module", "--eval", program];
    const ended = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
    assert.deepEqual([ended.stdout, ended.signal], ["cleaned\n", signal], ended.stderr);
  });

test("what is done is not cleaned up any more", () => {
  const before = process.listenerCount("SIGHUP");
  {
    using _cleaning = cleanUpAtSignals(() => {});
    assert.equal(process.listenerCount("SIGHUP"), before + 1);
  }
  assert.equal(process.listenerCount("SIGHUP"), before);
});

const target = openTarget();

test("doctor leaves nothing where it is interrupted", { skip: target.skip ?? false }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-interrupted-"));
  try {
    const [program, ...leading] = target.command;
    const env = environment({ TMPDIR: folder });
    const child = spawn(program, [...leading, "doctor"], { cwd: folder, env, stdio: "ignore" });
    const ended = once(child, "close");
    const list = () => globSync("flowhook-doctor-*/*", { cwd: folder });
    await poll("files of the doctor", async () => (list().length > 0 ? true : null));
    child.kill("SIGINT");
    assert.deepEqual(await ended, [null, "SIGINT"]);
    assert.deepEqual(globSync("flowhook-doctor-*", { cwd: folder }), []);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
});
