import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand, runProgram } from "../blackbox/command.ts";
import { findProgram, openTarget } from "../blackbox/target.ts";
import { all } from "./session.ts";

const target = openTarget();

interface Row {
  /** What was typed before Tab. */
  readonly line: string;
  readonly offers: readonly string[];
  readonly hides?: readonly string[];
}

const ROWS: readonly Row[] = [
  { line: "flowhook web", offers: ["webhook"], hides: ["execution"] },
  { line: "flowhook webhook s", offers: ["show", "set", "signature"], hides: ["list"] },
  { line: "flowhook execution list --st", offers: ["--status"], hides: ["--json"] },
  { line: "flowhook execution show 1 --f", offers: ["--follow"] },
  { line: "flowhook docs oper", offers: ["operating"] },
  { line: "flowhook completion ", offers: ["bash", "zsh", "fish"] },
  { line: "flowhook serve --config a-f", offers: ["a-file.yaml"], hides: ["--demo"] },
  { line: "flowhook restore a-f", offers: ["a-file.yaml"] },
  { line: "flowhook restore two", offers: ["two words.yaml"] },
  { line: "flowhook help web", offers: ["webhook"] },
  { line: "flowhook help flow re", offers: ["reload"], hides: ["restore"] },
  { line: "flowhook help flow ", offers: ["list"], hides: ["webhook"] },
  { line: "flowhook help flow reload ", offers: [], hides: ["list", "webhook"] },
  { line: "flowhook flow test --reporter ", offers: ["tap", "junit"], hides: ["--name"] },
  {
    line: "flowhook webhook import --conflicts re",
    offers: ["replace", "rename"],
    hides: ["skip", "red.yaml"],
  },
  // The same option takes a value in other commands.
  { line: "flowhook setting set --text --j", offers: ["--json"] },
  { line: "flowhook webhook list --text re", offers: [], hides: ["red.yaml", "refusals"] },
];

const ASKED = {
  bash: (line: string) =>
    `source ./script; IFS=' '; COMP_WORDS=(${line}${line.endsWith(" ") ? ' ""' : ""}); ` +
    `COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); IFS=$' \\t\\n'; $(complete -p flowhook | ` +
    `sed 's/.* -F \\([^ ]*\\) .*/\\1/'); printf '%s\\n' "\${COMPREPLY[@]}"`,
  fish: (line: string) => `source ./script; complete -C '${line}'`,
};

for (const shell of ["bash", "fish"] as const) {
  const program = findProgram(shell);
  const skip = target.skip ?? (program === null ? `no ${shell} on this machine` : false);

  describe(`completion in ${shell}`, { skip }, () => {
    let folder = "";
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "flowhook-completion-"));
      const printed = await runCommand(target, ["completion", shell], { cwd: folder });
      assert.equal(printed.code, 0, all(printed));
      await writeFile(join(folder, "script"), printed.stdout);
      for (const name of ["a-file.yaml", "two words.yaml", "red.yaml"])
        await writeFile(join(folder, name), "");
    });
    after(() => rm(folder, { recursive: true, force: true }));

    for (const { line, offers, hides = [] } of ROWS)
      test(line, async () => {
        const env = { PATH: "/usr/bin:/bin", HOME: folder };
        const done = await runProgram(program!, ["-c", ASKED[shell](line)], { cwd: folder, env });
        const words = done.stdout.split("\n").map((text) => text.split("\t")[0]);
        for (const word of offers) assert.ok(words.includes(word), `${word}: ${all(done)}`);
        for (const word of hides) assert.ok(!words.includes(word), `${word}: ${all(done)}`);
      });
  });
}

const zsh = findProgram("zsh");

test(
  "zsh reads its script",
  { skip: zsh === null ? "no zsh on this machine" : false },
  async () => {
    const printed = await runCommand(target, ["completion", "zsh"], { cwd: tmpdir() });
    const done = await runProgram(zsh!, ["-n"], { cwd: tmpdir(), input: printed.stdout });
    assert.deepEqual([done.code, done.stderr], [0, ""]);
  },
);

test("another shell: usage", async () => {
  const finished = await runCommand(target, ["completion", "csh"], { cwd: tmpdir() });
  assert.equal(finished.code, 2);
  assert.match(finished.stderr, /Found "csh", expected one of bash, zsh, fish/);
});
