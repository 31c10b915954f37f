import assert from "node:assert/strict";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { runProgram, type Finished } from "./command.ts";
import { environment, openTarget, ROOT } from "./target.ts";

/** `flowhook systemd`: whatever way the program was found, the unit starts it from anywhere. */

const target = openTarget();
const [program, ...leading] = target.command;
const isSource = target.name === "source";
const isLinuxBinary = target.name === "binary" && process.platform === "linux";

describe("the unit for systemd", { skip: target.skip ?? false }, () => {
  let folder = "";
  let links = "";
  before(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "flowhook-unit-")));
    links = join(folder, "bin");
    await mkdir(links);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Runs `systemd`, and then what its ExecStart names: from the root, with no PATH. */
  async function startOf(
    command: string,
    args: string[],
    path: string[] = [],
    cwd = folder,
  ): Promise<void> {
    const whole = environment();
    const env = { ...whole, PATH: [...path, whole["PATH"]].join(delimiter) };
    const printed = await runProgram(command, [...args, "systemd"], { cwd, env });
    assert.equal(printed.code, 0, text(printed));
    const line = /^ExecStart=(\/.+) serve --config (\/.+)$/m.exec(printed.stdout);
    assert.ok(line !== null, text(printed));
    const [first = "", ...rest] = (line[1] ?? "").split(" ");
    const started = await runProgram(first, [...rest, "version"], { cwd: "/", env: {} });
    assert.equal(started.code, 0, `${line[0]}\n${text(started)}`);
    assert.match(started.stdout, /^\d+\.\d+\.\d+\n$/);
  }

  test("2: by its whole path", () => startOf(program, leading));

  test("2: found on PATH", () => startOf(basename(program), leading, [dirname(program)]));

  test("2: by a relative path, from another folder", () =>
    startOf(
      relative(folder, program),
      leading.map((word) => (word.startsWith("/") ? relative(folder, word) : word)),
    ));

  test("2: found on PATH, with a file of its name in the folder", async () => {
    await writeFile(join(folder, basename(program)), "no program");
    await startOf(basename(program), leading, [dirname(program)]);
  });

  test("2: with a configuration by a relative path", async () => {
    await writeFile(join(folder, "some.yaml"), "SHUTDOWN_GRACE_SEC: 3\n");
    const args = [...leading, "systemd", "--config", "some.yaml"];
    const { stdout } = await runProgram(program, args, { cwd: folder, env: environment() });
    assert.ok(stdout.includes(` serve --config ${join(folder, "some.yaml")}\n`), stdout);
  });

  if (isSource)
    test("2: from the sources, with the loader by its name", () =>
      startOf(program, ["--import", "tsx", join(ROOT, "src/main.ts")], [], ROOT));

  if (isLinuxBinary)
    test("2: a program that is gone: no half unit", async () => {
      const copy = join(folder, "gone");
      await copyFile(program, copy);
      await chmod(copy, 0o755);
      const line = 'exec 3<"$0"; rm "$0"; /proc/self/fd/3 systemd';
      const printed = await runProgram("sh", ["-c", line, copy], {
        cwd: folder,
        env: environment(),
      });
      assert.deepEqual([printed.code, printed.stdout], [1, ""], text(printed));
      assert.match(printed.stderr, /^Cannot tell where this program lies: .+\n$/);
    });

  test("2: through a link", async () => {
    await symlink(program, join(links, "linked"));
    await startOf(join(links, "linked"), leading);
  });

  test("2: through a link that is found on PATH", async () => {
    await symlink(program, join(links, "found"));
    await startOf("found", leading, [links]);
  });

  test("2: through a relative link", async () => {
    await symlink(relative(links, program), join(links, "relative"));
    await startOf(join("bin", "relative"), leading);
  });
});

function text({ stdout, stderr }: Finished): string {
  return `${stdout}\n${stderr}`;
}
