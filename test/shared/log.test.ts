import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  createReadStream,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { runProgram } from "../blackbox/command.ts";
import { HUNG_MS } from "../hung.ts";
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

test("all logs of a program have one output, and their lines stay in order", async () => {
  const lines = await print(
    `for (let n = 1; n <= 15; n += 1) openLog({ level: "info", format: "pretty" }).info("Line " + n);`,
  );
  const expected = Array.from({ length: 15 }, (_, at) => `Line ${at + 1}`);
  assert.deepEqual(
    lines.map((line) => /Line \d+$/.exec(line)?.[0]),
    expected,
  );
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

/** More than a pipe holds, and less than what is kept. */
const LINES = 3000;

for (const format of ["json", "pretty"])
  test(
    `a socket that nobody reads holds up nobody who logs (${format})`,
    { skip: process.platform !== "linux", timeout: HUNG_MS },
    async (t) => {
      const code = `import { openLog } from "./src/shared/log.ts";
      const log = openLog({ level: "info", format: "${format}" });
      for (let n = 1; n <= ${LINES}; n += 1) log.info("Line " + n + "${".".repeat(50)}");
      console.error("goes on");
      process.stdin.resume();`;
      const args = ["--import", "tsx", "--input-type=module", "-e", code];
      // What the runtime gives a child as a pipe is a socket, as systemd's is.
      const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "pipe" });
      t.after(() => child.kill("SIGKILL"));
      const ended = once(child, "exit");
      const [told] = (await once(child.stderr, "data")) as [Buffer];
      assert.equal(String(told), "goes on\n");
      const numbers: number[] = [];
      for await (const line of createInterface(child.stdout)) {
        numbers.push(Number(/Line (\d+)/.exec(line)?.[1]));
        if (numbers.length === LINES) child.stdin.end();
      }
      assert.deepEqual(
        numbers,
        Array.from({ length: LINES }, (_, n) => n + 1),
      );
      assert.deepEqual(await ended, [0, null]);
    },
  );

for (const format of ["json", "pretty"])
  test(
    `a pipe that nobody reads holds up nobody who logs (${format})`,
    { skip: process.platform !== "linux", timeout: HUNG_MS },
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), "flowhook-log-"));
      t.after(() => rmSync(folder, { recursive: true }));
      const path = join(folder, "pipe");
      execFileSync("mkfifo", [path]);
      const code = `import { openLog } from "./src/shared/log.ts";
      const log = openLog({ level: "info", format: "${format}" });
      for (let n = 1; n <= ${LINES}; n += 1) log.info("Line " + n + "${".".repeat(50)}");
      console.error("goes on");
      process.stdin.resume();`;
      const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const writer = openSync(path, "w");
      const args = ["--import", "tsx", "--input-type=module", "-e", code];
      const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["pipe", writer, "pipe"] });
      t.after(() => child.kill("SIGKILL"));
      closeSync(writer);
      const ended = once(child, "exit");
      const [told] = (await once(child.stderr!, "data")) as [Buffer];
      assert.equal(String(told), "goes on\n");
      const lines = createInterface(createReadStream("", { fd: openSync(path, "r") }));
      const numbers: number[] = [];
      for await (const line of lines) {
        numbers.push(Number(/Line (\d+)/.exec(line)?.[1]));
        if (numbers.length === LINES) child.stdin!.end();
      }
      closeSync(reader);
      assert.deepEqual(
        numbers,
        Array.from({ length: LINES }, (_, n) => n + 1),
      );
      assert.deepEqual(await ended, [0, null]);
    },
  );
