import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { runProgram } from "../blackbox/command.ts";
import { ROOT } from "../../scripts/targets.ts";

/** What is printed by a program that has a log for people. */
async function print(calls: string): Promise<string[]> {
  const code = `import { openLog } from "./src/shared/log.ts";
    const log = openLog({ level: "info", format: "pretty" });
    ${calls}`;
  const args = ["--import", "tsx", "--input-type=module", "-e", code];
  const { stdout, stderr } = await runProgram(process.execPath, args, { cwd: ROOT });
  assert.equal(stderr, "");
  return stdout.trimEnd().split("\n");
}

test("for people an entry is one line, without members that are null", async () => {
  const lines = await print(
    `log.warn({ flow: "a", user: null, error: "two\\nlines" }, "Cannot"); log.info({ stack: null }, "Done");`,
  );
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /^\[[\d:.]+\] WARN: Cannot \{"flow":"a","error":"two\\nlines"\}$/);
  assert.match(lines[1]!, /^\[[\d:.]+\] INFO: Done$/);
});

test("stacks are lines, which act on no terminal", async () => {
  const [first, ...lines] = await print(
    `log.error({ flow: "a", stack: "a.ts:1\\n  x\\u001b[31m\\n    ^" }, "Flow is broken");`,
  );
  assert.match(first!, /ERROR: Flow is broken \{"flow":"a"\}$/);
  assert.deepEqual(lines, ["    stack: a.ts:1", "      x\\u001b[31m", "        ^"]);
  const thrown = await print(`log.error({ err: new TypeError("no") }, "Cannot answer");`);
  assert.ok(
    thrown.some((line) => /^\s+at .*eval/.test(line)),
    thrown.join("\n"),
  );
});

const FULL = "/dev/full";

for (const format of ["json", "pretty"])
  test(`a full disk ends nobody who logs (${format})`, { skip: !existsSync(FULL) }, async () => {
    const code = `import { openLog } from "./src/shared/log.ts";
      const log = openLog({ level: "info", format: "${format}" });
      for (let n = 0; n < 3; n += 1) log.error({ err: new Error("no") }, "Cannot answer");
      console.error("goes on");`;
    const full = openSync(FULL, "w");
    const args = ["--import", "tsx", "--input-type=module", "-e", code];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", full, "pipe"] });
    closeSync(full);
    const [stderr, [exitCode]] = await Promise.all([text(child.stderr!), once(child, "exit")]);
    assert.deepEqual([stderr, exitCode], ["goes on\n", 0]);
  });
