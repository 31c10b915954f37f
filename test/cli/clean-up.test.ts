import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { poll } from "../blackbox/scenario.ts";
import { environment, findProgram, openTarget } from "../blackbox/target.ts";
import { cleanUpAtSignals } from "../../src/cli/clean-up.ts";

const MODULE = new URL("../../src/cli/clean-up.ts", import.meta.url).href;

for (const signal of ["SIGINT", "SIGTERM"] as const)
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

test("SIGHUP ends nothing without a terminal, as nohup asks", () => {
  const program = `
    const { cleanUpAtSignals } = await import(${JSON.stringify(MODULE)});
    cleanUpAtSignals(() => console.log("cleaned"));
    process.once("SIGHUP", () => setImmediate(() => process.exit(7)));
    process.kill(process.pid, "SIGHUP");
    setInterval(() => {}, 1000);
  `;
  const args = ["--input-type=module", "--eval", program];
  const ended = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
  assert.deepEqual([ended.stdout, ended.status], ["", 7], ended.stderr);
});

const python = findProgram("python3");
const noTerminal = python === null && "no python3 on this machine";

test("a terminal that is closed cleans up, and ends the command", { skip: noTerminal }, () => {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-closed-"));
  try {
    const program = `
      const { cleanUpAtSignals } = await import(${JSON.stringify(MODULE)});
      const { writeFileSync } = await import("node:fs");
      cleanUpAtSignals(() => writeFileSync("cleaned", ""));
      console.log("ready");
      setInterval(() => {}, 1000);
    `;
    const script = fileURLToPath(new URL("terminal.py", import.meta.url));
    const command = [process.execPath, "--input-type=module", "--eval", program];
    const args = [script, JSON.stringify([["ready", null]]), ...command];
    const ended = spawnSync(python!, args, { cwd: folder, encoding: "utf8", timeout: 20_000 });
    assert.equal(ended.status, 256 - constants.signals.SIGHUP, ended.stderr);
    assert.deepEqual(readdirSync(folder), ["cleaned"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
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
