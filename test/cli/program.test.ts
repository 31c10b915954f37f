import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { runCommand, runProgram, type Finished } from "../blackbox/command.ts";
import { environment, openTarget } from "../blackbox/target.ts";
import { isMountable, mountDisk, unmountDisk } from "../faults/disk.ts";
import { all } from "./session.ts";

const target = openTarget();

/** Every command of the contract, section 6, with the least that it takes. */
const COMMANDS: Readonly<Record<string, string>> = {
  serve: "",
  init: "",
  check: "",
  "flow list": "",
  "flow new": "NAME",
  "flow run": "NAME",
  "webhook list": "",
  "webhook create": "NAME --flow FLOW",
  "webhook enable": "NAME",
  "webhook disable": "NAME",
  "webhook key": "NAME",
  "webhook export": "",
  "webhook import": "FILE",
  "execution list": "",
  "execution show": "ID",
  "execution cancel": "",
  "execution replay": "",
  "secret list": "",
  "secret set": "NAME",
  "secret delete": "NAME",
  call: "NAME",
  login: "",
  logout: "",
  "user create": "NAME",
  "user password": "NAME",
  backup: "FILE",
  restore: "FILE",
  types: "",
  systemd: "",
  dashboard: "",
  alerts: "",
  docs: "",
  licenses: "",
  version: "",
};

describe("the command table", { skip: target.skip ?? false, concurrency: 2 }, () => {
  function run(...args: string[]): Promise<Finished> {
    return runCommand(target, args, { cwd: tmpdir() });
  }

  for (const [command, least] of Object.entries(COMMANDS)) {
    test(`${command}: has help; wrong usage is exit code 2`, async () => {
      const words = command.split(" ");
      const help = await run(...words, "--help");
      assert.equal(help.code, 0, all(help));
      assert.match(help.stdout, new RegExp(`^Usage: flowhook ${command}\\b.*\\n\\n[A-Z]`));
      const unknown = await run(...words, ...least.split(" "), "--nonsense");
      assert.deepEqual([unknown.code, unknown.stdout], [2, ""], all(unknown));
      assert.match(unknown.stderr, /unknown option '--nonsense'/);
    });
  }

  test("an argument that is missing", async () => {
    for (const args of [["call"], ["webhook", "create", "--flow", "a"], ["execution", "show"]]) {
      const missing = await run(...args);
      assert.deepEqual([missing.code, missing.stdout], [2, ""], all(missing));
      assert.match(missing.stderr, /missing required argument/);
    }
  });

  const ignored: readonly string[][] = [
    ["flow", "run", "a", "--local", "--url", "http://127.0.0.1:9"],
    ["login", "http://127.0.0.1:9", "--url", "http://127.0.0.1:8"],
    ["call", "a", "--secret-stdin"],
    ["call", "a", "--sign", "--secret-stdin", "--data", "@-"],
    ["dev", "--inspect-port", "9230"],
    ["webhook", "list", "--enabled", "--disabled"],
    ["webhook", "signature", "a", "--none", "--observe"],
  ];
  for (const args of ignored)
    test(`an option that would be ignored: ${args.join(" ")}`, async () => {
      const refused = await run(...args);
      assert.deepEqual([refused.code, refused.stdout], [2, ""], all(refused));
      assert.match(refused.stderr, /cannot be used with|expected|cannot be both/);
    });

  test("an option that takes one value leaves the name behind it alone", async () => {
    const words = ["-H", "X-A: 1", "-H", "X-B: 2", "-q", "c=3", "name"];
    const called = await run("call", ...words, "--url", "http://127.0.0.1:9");
    assert.match(called.stderr, /^Cannot reach http:\/\/127\.0\.0\.1:9: /, all(called));
  });

  test("folders that cannot be written are named, without a stack", async () => {
    const options = { cwd: tmpdir(), env: { FLOWHOOK_PLUGINS_DIR: "/dev/null/none" } };
    const made = await runCommand(target, ["flow", "new", "a"], options);
    assert.equal(made.code, 1, all(made));
    assert.match(made.stderr, /^Cannot go on: ENOTDIR: .*\/dev\/null\/none'\n$/);
    const never = { cwd: tmpdir(), env: { FLOWHOOK_PLUGINS_DIR: "/proc/flowhook/none" } };
    const refused = await runCommand(target, ["flow", "new", "a"], never);
    assert.match(refused.stderr, /^Cannot go on: .*\/proc\/flowhook.*\n$/);
  });

  test("a full disk says what to do", { skip: !isMountable() && "root mounts" }, async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "flowhook-full-"));
    stack.defer(() => rm(folder, { recursive: true }));
    mountDisk(folder, "size=4k");
    stack.defer(() => unmountDisk(folder));
    await writeFile(join(folder, "filler"), "x".repeat(4096));
    const options = { cwd: tmpdir(), env: { FLOWHOOK_PLUGINS_DIR: folder } };
    const made = await runCommand(target, ["flow", "new", "a"], options);
    assert.equal(made.code, 1, all(made));
    assert.match(
      made.stderr,
      /^Cannot go on: ENOSPC: .+\. Free some space .*flowhook doctor .*\n$/,
    );
  });

  test("help of what is no command names it", async () => {
    const asked = ["help nosuch", "help webhook nosuch", "webhook help nosuch"];
    for (const args of [...asked, "nosuch --help", "webhook nosuch --help"]) {
      const unknown = await run(...args.split(" "));
      assert.deepEqual([unknown.code, unknown.stdout], [2, ""], all(unknown));
      assert.match(unknown.stderr, /unknown command 'nosuch'/);
    }
    const near = await run("help", "webhok");
    assert.match(near.stderr, /unknown command 'webhok'\n\(Did you mean webhook\?\)/);
    for (const args of ["help webhook create", "webhook help create"]) {
      const help = await run(...args.split(" "));
      assert.equal(help.code, 0, all(help));
      assert.match(help.stdout, /^Usage: flowhook webhook create /);
    }
  });

  test("a group without a command, and one that is not there", async () => {
    for (const group of ["flow", "webhook", "execution", "secret", "user"]) {
      const alone = await run(group);
      assert.equal(alone.code, 2, all(alone));
      assert.match(alone.stderr, /^Usage: /);
      const unknown = await run(group, "lits");
      assert.equal(unknown.code, 2, all(unknown));
      assert.match(unknown.stderr, /unknown command 'lits'/);
    }
  });

  test("version, both ways", async () => {
    for (const word of ["version", "--version"]) {
      assert.deepEqual(await run(word), { code: 0, stdout: `${manifest.version}\n`, stderr: "" });
    }
  });

  /** @param script of a shell; COMMAND is one that prints */
  function runShell(script: string): Promise<Finished> {
    const [program, ...leading] = target.command;
    const words = [program, ...leading, "systemd"].map((word) => `'${word}'`).join(" ");
    const text = script.replace("COMMAND", words);
    return runProgram("/bin/sh", ["-c", text], { cwd: tmpdir(), env: environment() });
  }

  test("a reader that goes away is no fault", async () => {
    const finished = await runShell(`{ sleep 0.2; COMMAND; echo "code $?" >&2; } | true`);
    assert.equal(finished.stderr, "code 0\n");
  });

  const isFull = existsSync("/dev/full");
  test("output that cannot be written is", { skip: !isFull && "no /dev/full" }, async () => {
    const finished = await runShell("COMMAND > /dev/full");
    assert.equal(finished.code, 1, all(finished));
    assert.match(finished.stderr, /^Cannot write the output: ENOSPC\b.*\n$/);
  });

  test("output of which the disk takes a part", async () => {
    const finished = await runShell(
      "trap '' XFSZ; ulimit -f 1; COMMAND > part.txt; exec rm part.txt",
    );
    assert.match(finished.stderr, /^Cannot write the output: EFBIG\b.*\n$/);
  });
});
