import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand, runProgram } from "../blackbox/command.ts";
import { findProgram, openTarget } from "../blackbox/target.ts";
import { all } from "./session.ts";

const target = openTarget();
const analyze = findProgram("systemd-analyze");

describe("systemd", { skip: target.skip ?? false }, () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "flowhook-systemd-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function print(...args: string[]): Promise<string> {
    const finished = await runCommand(target, ["systemd", ...args], { cwd: folder });
    assert.equal(finished.code, 0, all(finished));
    return finished.stdout;
  }

  test("the unit is hardened, and lets the runtime compile", async () => {
    const unit = await print();
    for (const line of [
      "NoNewPrivileges=yes",
      "ProtectSystem=strict",
      "ProtectHome=yes",
      "PrivateTmp=yes",
      "DynamicUser=yes",
      "StateDirectory=flowhook",
      "KillMode=mixed",
      "LimitNOFILE=65536",
      "MemoryDenyWriteExecute=no",
      "RestartPreventExitStatus=2 78",
    ]) {
      assert.ok(unit.includes(`\n${line}\n`), line);
    }
    assert.match(unit, /^ExecStart=\/.+ serve --config \/etc\/flowhook\/flowhook\.yaml$/m);
    assert.match(unit, /^TimeoutStopSec=45$/m);
  });

  test("the time to stop follows SHUTDOWN_GRACE_SEC", async () => {
    await writeFile(join(folder, "slow.yaml"), "SHUTDOWN_GRACE_SEC: 100\n");
    const unit = await print("--config", join(folder, "slow.yaml"));
    assert.match(unit, /^TimeoutStopSec=115$/m);
    assert.ok(unit.includes(` --config ${join(folder, "slow.yaml")}\n`));
  });

  test("a configuration that is wrong: exit code 78", async () => {
    await writeFile(join(folder, "wrong.yaml"), "SHUTDOWN_GRACE_SEC: long\n");
    const finished = await runCommand(target, ["systemd", "--config", "wrong.yaml"], {
      cwd: folder,
    });
    assert.deepEqual([finished.code, finished.stdout], [78, ""], all(finished));
  });

  test("paths with blanks, percent and dollar signs", async () => {
    const config = {
      DATA_DIR: "/srv/my data/x%y",
      ALLOW_WRITE: ["/srv/$HOME", '/srv/q"uote'],
      TLS_CERT_FILE: "/root/cert.pem",
      TLS_KEY_FILE: "/root/key.pem",
    };
    const file = join(folder, "a $b%c.yaml");
    await writeFile(file, JSON.stringify(config));
    const finished = await runCommand(target, ["systemd", "--config", file], { cwd: folder });
    const unit = finished.stdout;
    for (const line of [
      `serve --config "${file.replace("$", "$$$$").replace("%", "%%")}"`,
      'ReadWritePaths="-/srv/my data/x%%y"',
      "ReadWritePaths=-/srv/$HOME",
      'ReadWritePaths="-/srv/q\\"uote"',
      "-o flowhook -g flowhook '/srv/my data/x%y'",
    ])
      assert.ok(unit.includes(`${line}\n`), `${line}\n${unit}`);
    assert.match(finished.stderr, /will not see "\/root\/key\.pem"/);
    await writeFile(file, 'DATA_DIR: "/var/lib/flow hook%/data"\n');
    assert.match(await print("--config", file), /^WorkingDirectory=%S\/flow hook%%$/m);
  });

  const skip = analyze === null ? "no systemd-analyze on this machine" : false;
  test("systemd itself finds nothing wrong with it", { skip }, async () => {
    const file = join(folder, "flowhook.service");
    await writeFile(file, await print());
    const program = analyze as string;
    const verified = await runProgram(program, ["verify", "--man=no", file], { cwd: folder });
    assert.deepEqual([verified.code, all(verified).trim()], [0, ""]);
    const args = ["security", "--offline=yes", "--threshold=20", file];
    const rated = await runProgram(program, args, { cwd: folder });
    assert.equal(rated.code, 0, `exposed more than 2.0:\n${all(rated)}`);
  });
});
