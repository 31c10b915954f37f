import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { runProgram, type Finished } from "./command.ts";
import { launch, terminate } from "./service.ts";
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

  /** The unit of a configuration, as the lines of one key. */
  async function linesOf(config: string, key: string): Promise<string[]> {
    const file = join(folder, "unit.yaml");
    await writeFile(file, config);
    const args = [...leading, "systemd", "--config", file];
    const env = environment({ FLOWHOOK_DATA_DIR: "/not/in/the/unit" });
    const printed = await runProgram(program, args, { cwd: folder, env });
    assert.equal(printed.code, 0, text(printed));
    const lines = printed.stdout.split("\n");
    return lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.split("=")[1]!);
  }

  test("5: the unit sets no key of the configuration, and follows it", async () => {
    const plain = "DATA_DIR: /var/lib/shop/data\n";
    assert.deepEqual(await linesOf(plain, "Environment"), []);
    assert.deepEqual(await linesOf(plain, "StateDirectory"), ["shop"]);
    assert.deepEqual(await linesOf(plain, "ReadWritePaths"), []);
    assert.deepEqual(await linesOf(plain, "AmbientCapabilities"), []);
    const elsewhere = `${plain}DATABASE_URL: sqlite:/srv/fast/shop.db\nALLOW_WRITE: [/srv/out]\n`;
    assert.deepEqual(await linesOf(elsewhere, "User"), ["flowhook"]);
    assert.deepEqual(await linesOf(elsewhere, "ReadWritePaths"), ["-/srv/fast", "-/srv/out"]);
    const [set] = (await linesOf(`${plain}LISTEN_PORT: 443\n`, "CapabilityBoundingSet")).slice(-1);
    assert.equal(set, "CAP_NET_BIND_SERVICE");
  });

  test("5: commands with the unit's configuration work on the service's data", async () => {
    const file = join(folder, "service.yaml");
    await writeFile(file, "DATA_DIR: ./somewhere\nLISTEN_PORT: 0\nLOG_FORMAT: json\n");
    const args = [...leading, "systemd", "--config", file];
    const { stdout } = await runProgram(program, args, { cwd: folder, env: environment() });
    const [first = "", ...rest] = (/^ExecStart=(.+)$/m.exec(stdout)?.[1] ?? "").split(" ");
    const started = { name: target.name, command: [first] as [string], skip: null };
    const running = await launch(started, "/", rest, {});
    try {
      const command = [...leading, "user", "password", "admin", "--config", file];
      const options = { cwd: "/", env: environment(), input: "the new password of it\n" };
      const finished = await runProgram(program, command, options);
      assert.equal(finished.code, 0, text(finished));
      const answer = await fetch(`${running.url}/api/latest/auth/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ user_name: "admin", password: "the new password of it" }),
      });
      assert.equal(answer.status, 200, await answer.text());
    } finally {
      await terminate(running.child);
    }
  });

  for (const words of [
    ["password", "admin"],
    ["create", "grace"],
  ])
    test(`5: user ${words[0]} makes no database`, async () => {
      const file = join(folder, "none.yaml");
      await writeFile(file, "DATA_DIR: ./never\n");
      const command = [...leading, "user", ...words, "--config", file];
      const options = { cwd: "/", env: environment(), input: "the new password of it\n" };
      const refuse = async (): Promise<void> => {
        const finished = await runProgram(program, command, options);
        assert.deepEqual([finished.code, finished.stdout], [1, ""], text(finished));
        const says = /^There is no database at "(.+)"\. .*--config FILE.*FLOWHOOK_DATA_DIR/;
        assert.equal(says.exec(finished.stderr)?.[1], join(folder, "never/flowhook.db"));
      };
      await refuse();
      assert.ok(!existsSync(join(folder, "never")), "not even the folder");
      await mkdir(join(folder, "never"));
      await writeFile(join(folder, "never/flowhook.db"), "");
      await refuse();
      assert.deepEqual(await readdir(join(folder, "never")), ["flowhook.db"]);
      await rm(join(folder, "never"), { recursive: true });
    });

  test("5: user password of a store whose first start failed", async () => {
    const file = join(folder, "failed.yaml");
    const port = await usedPort();
    await writeFile(file, `DATA_DIR: ./failed\nLISTEN_PORT: ${port.number}\n`);
    const cwd = folder;
    const env = environment();
    const serve = [...leading, "serve", "--config", file];
    assert.equal((await runProgram(program, serve, { cwd, env })).code, 1);
    await port.close();
    const command = [...leading, "user", "password", "admin", "--config", file];
    const input = "the new password of it\n";
    const finished = await runProgram(program, command, { cwd, env, input });
    assert.equal(finished.code, 0, text(finished));
    assert.equal(finished.stderr, "", "no other password is shown");
  });
});

function text({ stdout, stderr }: Finished): string {
  return `${stdout}\n${stderr}`;
}

async function usedPort(): Promise<{ number: number; close(): Promise<void> }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: number } = server.address() as AddressInfo;
  return { number, close: async () => void (await once(server.close(), "close")) };
}
