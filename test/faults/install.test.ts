import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { spawnSync } from "node:child_process";
import { runCommand, runProgram } from "../blackbox/command.ts";
import { environment, findProgram, openTarget } from "../blackbox/target.ts";
import { all } from "../cli/session.ts";
import { findPort } from "../free-port.ts";

const target = openTarget();
const isLinux = process.platform === "linux";
const skip = target.skip ?? (isLinux ? false : "systemd is Linux's");

describe("install without being root", { skip }, () => {
  test("--dry-run names each step, and does none", async () => {
    const finished = await runCommand(target, ["install", "--dry-run"], { cwd: tmpdir() });
    // From the sources it would be refused: the service would not see them.
    if (target.name !== "binary" && finished.code === 1) {
      assert.match(finished.stderr, /The service would not see/);
      return;
    }
    assert.equal(finished.code, 0, all(finished));
    for (const line of [
      /^\S.* {2,}add the system user flowhook$/m,
      /^\S.* {2,}write \/etc\/flowhook\/flowhook\.yaml$/m,
      /^\S.* {2,}make the database, with a password for the user admin$/m,
      /^\S.* {2,}write the unit \/etc\/systemd\/system\/flowhook\.service$/m,
      /Nothing was done: this was a dry run/,
    ])
      assert.match(finished.stdout, line);
  });

  for (const act of ["install", "uninstall"])
    test(`${act} says that it wants root, or systemd`, async () => {
      const [program, ...leading] = target.command;
      const isRoot = process.getuid?.() === 0;
      const other = { uid: 65_534, gid: 65_534 };
      const done = spawnSync(program, [...leading, act], {
        cwd: "/",
        env: environment(),
        encoding: "utf8",
        ...(isRoot && target.name === "binary" ? other : {}),
      });
      assert.equal(done.status, 1, done.stderr);
      assert.match(done.stderr, /run it as root \(sudo flowhook|Systemd does not run|EACCES/);
      assert.equal(done.stdout, "");
    });
});

/** What systemd does of it: it starts the program of the unit as the user of the unit. */
const SYSTEMCTL = `#!/bin/sh
echo "$*" >> "$STATE/asked"
unit=/etc/systemd/system/flowhook.service
stop() {
  [ -f "$STATE/pid" ] || return 0
  kill "$(cat "$STATE/pid")"
  tail --pid="$(cat "$STATE/pid")" -f /dev/null
  rm "$STATE/pid"
}
case "$1" in
is-active) [ -f "$STATE/pid" ] ;;
is-enabled) [ -f "$STATE/enabled" ] ;;
enable) : > "$STATE/enabled" ;;
disable) stop; rm -f "$STATE/enabled" ;;
show) cat "$STATE/since" ;;
restart)
  stop
  awk '{ printf "%.0f\\n", $1 * 1000000 }' /proc/uptime > "$STATE/since"
  start=$(sed -n 's/^ExecStart=//p' "$unit")
  user=$(sed -n 's/^User=//p' "$unit")
  setpriv --reuid "$user" --regid "$user" --clear-groups $start > "$STATE/log" 2>&1 &
  echo $! > "$STATE/pid" ;;
esac
`;

/** Folders of the machine that an installation writes are others below this. */
const SCRIPT = `set -eu
export STATE="$1"
cp -a /etc "$STATE/etc"
rm -rf "$STATE/etc/flowhook"
mkdir "$STATE/run" "$STATE/lib"
mkdir -p "$STATE/run/systemd/system" "$STATE/etc/systemd/system"
mount --bind "$STATE/etc" /etc
mount --bind "$STATE/run" /run
mount --bind "$STATE/lib" /var/lib
mount -t tmpfs tmpfs /usr/local/bin
export PATH="$STATE/bin:$PATH"
run() { echo "== $*"; "$@" 2>&1 || echo "exit $?"; }
ln -s "$STATE/flowhook" /usr/local/bin/flowhook
mkdir /etc/flowhook
echo 'LISTEN_PORT: 0
DATA_DIR: /var/lib/flowhook/data
PLUGINS_DIR: /etc/flowhook/plugins' > /etc/flowhook/flowhook.yaml
trap 'if [ -f "$STATE/pid" ]; then kill "$(cat "$STATE/pid")"; fi' EXIT
run "$STATE/flowhook" install
run "$STATE/flowhook" install
timeout 60 sh -c 'until [ -s /var/lib/flowhook/data/secret.key ]; do sleep 0.1; done'
run stat -c '%U %G %a %n' /var/lib/flowhook /var/lib/flowhook/data /var/lib/flowhook/data/secret.key
stat -c '%F %n' /usr/local/bin/flowhook
(cd "$STATE/run" && flowhook doctor 2>&1)
run cat /etc/flowhook/flowhook.yaml
sed -i 's|/data$|/other|; s|: 0$|: '"$2|" /etc/flowhook/flowhook.yaml
run "$STATE/flowhook" install --dry-run
run "$STATE/flowhook" install
run "$STATE/flowhook" install
rm -r /var/lib/flowhook/data
echo '# a change' >> /etc/systemd/system/flowhook.service
run "$STATE/flowhook" install
run flowhook uninstall
sed -i '$d' /etc/systemd/system/flowhook.service
cp /etc/flowhook/flowhook.yaml "$STATE/right.yaml"
echo 'LISTEN_PORT: [' >> /etc/flowhook/flowhook.yaml
run flowhook uninstall
cp "$STATE/right.yaml" /etc/flowhook/flowhook.yaml
run ls /etc/flowhook /var/lib/flowhook/other
run "$STATE/flowhook" uninstall --purge
run ls -d /etc/flowhook /var/lib/flowhook /usr/local/bin/flowhook
run grep -c '^flowhook:' /etc/passwd
cp "$STATE/flowhook" /usr/local/bin/flowhook
flowhook systemd > /etc/systemd/system/flowhook.service
mkdir -p /var/lib/flowhook/data
chown 61999 /var/lib/flowhook/data
run "$STATE/flowhook" install
run "$STATE/flowhook" uninstall
rm /etc/systemd/system/flowhook.service
run "$STATE/flowhook" install
sleep 60 & echo $! > "$STATE/pid"
run "$STATE/flowhook" install
`;

const unshare = findProgram("unshare") ?? "";
const mayMount = isLinux && spawnSync(unshare, ["--mount", "true"]).status === 0;
/** The single binary installs itself; in a mount namespace nothing of the machine is touched. */
const isTried = target.name === "binary" && mayMount && existsSync("/usr/sbin/useradd");
if (!isTried) console.log("install is not tried: it needs the binary, root and a mount namespace");

const ofBinary = isTried ? describe : () => {};
ofBinary("install and uninstall", () => {
  let state = "";
  let port = 0;
  let parts: string[] = [];

  before(async () => {
    state = await mkdtemp(join(tmpdir(), "flowhook-install-"));
    await chmod(state, 0o755);
    await mkdir(join(state, "bin"));
    await writeFile(join(state, "bin/systemctl"), SYSTEMCTL, { mode: 0o755 });
    await writeFile(join(state, "script"), SCRIPT);
    await copyFile(target.command[0], join(state, "flowhook"));
    await chmod(join(state, "flowhook"), 0o755);
    port = await findPort();
    const script = ["sh", join(state, "script"), state, String(port)];
    const args = ["--mount", "--propagation", "private", ...script];
    const env = { PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root" };
    const done = await runProgram(unshare, args, { cwd: "/", env, deadlineMs: 300_000 });
    assert.equal(done.code, 0, all(done));
    parts = done.stdout.split(/^== /m).slice(1);
  });
  after(() => rm(state, { recursive: true, force: true, maxRetries: 5 }));

  function part(at: number): string {
    return parts[at] ?? assert.fail(parts.join("== "));
  }

  test("a first one makes everything, starts the service and shows a password", () => {
    assert.doesNotMatch(part(0), /^would|^exit/m);
    assert.match(part(0), /^did +make the database/m);
    assert.match(part(0), /^no need +write \/etc\/flowhook\/flowhook\.yaml/m);
    // Before the steps that follow, one of which may fail.
    const shown = /^Log in as "admin" with the password \S{12,} .*\ndid +make the database/m;
    assert.match(part(0), shown);
    assert.match(part(0), /It runs/);
  });

  test("a second one has nothing to do", () => {
    assert.doesNotMatch(part(1), /^did|password \S{12}|^exit/m);
  });

  test("the data are the service's alone, and the configuration stays as it was", () => {
    assert.match(part(2), /^flowhook flowhook 700 \/var\/lib\/flowhook\n/m);
    assert.match(part(2), /^flowhook flowhook 700 \/var\/lib\/flowhook\/data\n/m);
    assert.match(part(2), /^flowhook flowhook 600 .*secret\.key\n/m);
    assert.match(part(3), /^LISTEN_PORT: 0\nDATA_DIR: \S+\nPLUGINS_DIR: \S+\n$/m);
  });

  test("a link to the program is replaced by it: the service may not see where it leads", () => {
    assert.match(part(2), /^regular file \/usr\/local\/bin\/flowhook$/m);
  });

  test("doctor elsewhere says where the configuration of the service is", () => {
    assert.match(
      part(2),
      /^warning +configuration .*"\/etc\/flowhook\/flowhook\.yaml"\n.*--config/m,
    );
  });

  test("what is read at the start was changed: the service is started again", () => {
    for (const [at, state] of [
      [4, "would"],
      [5, "did"],
      [6, "no need"],
    ] as const)
      assert.match(part(at), new RegExp(`^${state} +start the service: systemctl restart`, "m"));
    assert.match(part(5), /^did +make the folder \/var\/lib\/flowhook\/other/m);
    assert.match(part(5), /Log in as "admin" with the password \S{12,}/);
    assert.ok(part(5).includes(`It runs, and takes calls at http://127.0.0.1:${port}\n`), part(5));
    assert.doesNotMatch(part(6), /^did|password \S{12}|^exit/m);
  });

  for (const [act, at] of [
    ["install", 7],
    ["uninstall", 8],
  ] as const)
    test(`${act} leaves a unit alone that somebody changed`, () => {
      assert.match(part(at), /flowhook\.service" was not made by flowhook install, or was changed/);
      assert.match(part(at), /exit 1/);
      assert.doesNotMatch(part(at), /^did/m);
    });

  test("uninstall does not need the configuration, where that is broken", () => {
    assert.match(
      part(9),
      /flowhook\.yaml" could not be read\. Configuration refused: .*YAML cannot/,
    );
    assert.match(part(9), /^The data in "\/var\/lib\/flowhook\/data", .* stay\./m);
    assert.doesNotMatch(part(9), /^exit/m);
  });

  test("uninstall leaves configuration, flows and data; --purge does not", () => {
    assert.match(part(9), /^did +stop the service/m);
    assert.match(part(9), /This removes them: sudo \.\/flowhook-linux-\w+ uninstall --purge$/m);
    assert.match(part(10), /flowhook\.yaml\nplugins[^]*flowhook\.db\n[^]*secret\.key/);
    assert.match(part(11), /^did +remove the data in \/var\/lib\/flowhook\/other/m);
    assert.equal(part(12).match(/No such file or directory/g)?.length, 3, part(12));
    assert.match(part(13), /^0$/m);
  });

  test("install says how a service is upgraded whose unit flowhook systemd printed", () => {
    assert.ok(
      part(14).includes(
        `run: sudo systemctl stop flowhook && sudo cp --remove-destination ${state}/flowhook ` +
          "/usr/local/bin/flowhook && sudo systemctl start flowhook\n",
      ),
      part(14),
    );
    assert.doesNotMatch(part(14), /^did|move it away/m);
    assert.match(part(15), /was not made by flowhook install, or was changed since/);
  });

  test("data of another user are given to the service once it has stopped", () => {
    const advice = "sudo useradd --system --user-group flowhook && sudo chown -R flowhook: ";
    assert.ok(part(16).includes(`belongs to user 61999, expected flowhook`), part(16));
    assert.ok(part(16).includes(`run: ${advice}/var/lib/flowhook/data\n`), part(16));
    assert.ok(part(17).includes(`run: sudo systemctl stop flowhook && ${advice}`), part(17));
  });
});
