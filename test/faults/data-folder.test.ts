import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import {
  chmod,
  chown,
  copyFile,
  lchown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD, launch, terminate } from "../blackbox/service.ts";
import { environment, findProgram, type Target } from "../blackbox/target.ts";
import { makeCertificate } from "../config/certificate-maker.ts";
import { isMountable, mountDisk, unmountDisk } from "./disk.ts";
import { faultsTarget } from "./test-service.ts";

/** DATA_DIR: who owns it, who may use it, and what is said where the service cannot. */

const isRoot = process.getuid?.() === 0;
/** Where root tests, the service runs as this user; elsewhere as whoever tests. */
const NOBODY = 65_534;
const setpriv = findProgram("setpriv");
const canChange = isRoot && setpriv !== null;

describe("DATA_DIR", { skip: faultsTarget().skip ?? false }, () => {
  let root = "";
  let target: Target;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "flowhook-modes-"));
    await chmod(root, 0o755);
    target = canChange ? await asNobody(faultsTarget(), root) : faultsTarget();
  });
  after(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));

  /** A folder of the service's user with a configuration, and what a test prepares. */
  async function furnish(
    config: Readonly<Record<string, unknown>> = {},
    prepare: (folder: string) => Promise<void> | void = () => {},
  ): Promise<string> {
    const folder = await mkdtemp(join(root, "service-"));
    const whole = { LISTEN_PORT: 0, LOG_FORMAT: "json", DATA_DIR: "./data", ...config };
    await writeFile(join(folder, "flowhook.yaml"), JSON.stringify(whole, null, 1));
    await mkdir(join(folder, "plugins"));
    await prepare(folder);
    if (canChange) await chown(folder, NOBODY, NOBODY);
    return folder;
  }

  const give = (path: string) => (canChange ? chown(path, NOBODY, NOBODY) : undefined);

  /** Neither `serve` nor `check` starts; both say the same. */
  async function assertRefused(folder: string, ...says: readonly RegExp[]): Promise<void> {
    for (const command of ["serve", "check"]) {
      const finished = await runCommand(target, [command], { cwd: folder });
      assert.equal(finished.code, 78, `${command}: ${text(finished)}`);
      for (const word of [...says, /^Configuration refused: .*flowhook\.yaml:4: /])
        assert.match(finished.stderr, word, command);
      assert.doesNotMatch(finished.stderr, /Cannot listen|LISTEN_PORT|\n +at /, command);
    }
  }

  /** Starts and stops the service; gives its log. */
  async function serve(folder: string, umask?: number): Promise<string> {
    const env = environment({ FLOWHOOK_ADMIN_PASSWORD: ADMIN_PASSWORD });
    const before_it = umask === undefined ? null : process.umask(umask);
    const started = launch(target, folder, ["serve"], env);
    if (before_it !== null) process.umask(before_it);
    const running = await started;
    assert.equal(await terminate(running.child), 0, running.logs());
    return running.logs();
  }

  describe("11: that cannot be written", () => {
    const says = /Cannot write DATA_DIR "[^"]+": /;

    test("11: a folder that cannot be made", async () => {
      const folder = await furnish({ DATA_DIR: "/usr/flowhook/data" });
      await assertRefused(
        folder,
        says,
        /"\/usr" belongs to root \(mode 755\), the service runs as/,
      );
      await assertRefused(folder, /Run: sudo install -d -m 700 -o \S+ \/usr\/flowhook\/data/);
    });

    test("11: below a folder that nobody else may enter", async () => {
      const folder = await furnish({ DATA_DIR: "./closed/deep/data" }, async (path) => {
        await mkdir(join(path, "closed"));
        await chmod(join(path, "closed"), canChange ? 0o700 : 0o400);
      });
      await assertRefused(folder, says, /closed" belongs to \S+ \(mode [47]00\)/);
    });

    test("11: a folder in the place of the database", async () => {
      const folder = await furnish({ DATABASE_URL: "sqlite:./folder" }, async (path) => {
        await mkdir(join(path, "folder"));
        await give(join(path, "folder"));
      });
      const file = join(folder, "flowhook.yaml");
      for (const command of ["serve", "check"]) {
        const finished = await runCommand(target, [command], { cwd: folder });
        assert.equal(finished.code, 78, `${command}: ${text(finished)}`);
        const found = `${file}:5: Found a folder at "${join(folder, "folder")}"`;
        assert.ok(finished.stderr.includes(found), text(finished));
      }
    });

    test("11: a key that is none, and a host that is not of this machine", async () => {
      const keyless = await furnish({}, async (path) => {
        await mkdir(join(path, "data"));
        await writeFile(join(path, "data/secret.key"), "no key", { mode: 0o600 });
        await Promise.all([give(join(path, "data")), give(join(path, "data/secret.key"))]);
      });
      const elsewhere = await furnish({ LISTEN_HOST: "192.0.2.1" });
      for (const command of ["serve", "check"]) {
        const first = await runCommand(target, [command], { cwd: keyless });
        assert.equal(first.code, 78, `${command}: ${text(first)}`);
        assert.match(text(first), /Cannot use the key file ".+secret\.key": expected 64/);
        const second = await runCommand(target, [command], { cwd: elsewhere });
        assert.equal(second.code, 1, `${command}: ${text(second)}`);
        assert.match(text(second), /Cannot listen on 192\.0\.2\.1:0: .*EADDRNOTAVAIL/);
      }
    });

    test("11: a first password that is too short, and no other", async () => {
      const env = { FLOWHOOK_ADMIN_PASSWORD: "short" };
      const folder = await furnish();
      for (const command of ["serve", "check"]) {
        const finished = await runCommand(target, [command], { cwd: folder, env });
        assert.equal(finished.code, 78, `${command}: ${text(finished)}`);
        assert.match(finished.stderr, /FLOWHOOK_ADMIN_PASSWORD: Found a password of 5 characters/);
      }
      await serve(folder);
      const later = await runCommand(target, ["check"], { cwd: folder, env });
      assert.equal(later.code, 0, text(later));
    });

    const closed = { "without the right to write": 0o500, "that cannot be listed": 0o300 };
    for (const [name, mode] of Object.entries(closed))
      test(`11: a folder ${name}`, async () => {
        const folder = await furnish({}, async (path) => {
          await mkdir(join(path, "data"));
          await give(join(path, "data"));
          await chmod(join(path, "data"), mode);
        });
        const shown = `it belongs to (\\S+) \\(mode ${mode.toString(8)}\\), the service runs as \\1`;
        await assertRefused(folder, says, new RegExp(shown));
        await assertRefused(folder, /Run: chmod -R u\+rwX /);
      });

    test("11: a file", async () => {
      const folder = await furnish({}, async (path) => {
        await writeFile(join(path, "data"), "");
        await give(join(path, "data"));
      });
      await assertRefused(folder, says, /data" is a file, expected a folder/);
    });

    test("11: below a file", async () => {
      const folder = await furnish({ DATA_DIR: "./file/data" }, (path) =>
        writeFile(join(path, "file"), ""),
      );
      await assertRefused(folder, says, /file" is a file, expected a folder/);
    });

    test("11: a link that leads nowhere", async () => {
      const folder = await furnish({}, (path) => symlink("nowhere", join(path, "data")));
      await assertRefused(folder, says, /data" is a link to nothing/);
    });

    if (canChange) {
      test("11: a folder of another user", async () => {
        const folder = await furnish({}, (path) => mkdir(join(path, "data")));
        await assertRefused(
          folder,
          says,
          /it belongs to root \(mode 755\), the service runs as nobody/,
        );
        await assertRefused(folder, /sudo chown -R nobody \S+data && sudo chmod 700 \S+data/);
      });

      test("11: a folder of the system is not to be given to the service", async () => {
        const folder = await furnish({ DATA_DIR: "/usr" });
        await assertRefused(
          folder,
          /Cannot write DATA_DIR "\/usr" with .* Set DATA_DIR to \/usr\/flowhook$/m,
        );
        const finished = await runCommand(target, ["serve"], { cwd: folder });
        assert.doesNotMatch(text(finished), /chmod|chown|install -d/);
      });

      test("11: a database of another user in the service's folder", async () => {
        const folder = await furnish({}, async (path) => {
          await mkdir(join(path, "data"));
          await writeFile(join(path, "data/flowhook.db"), "");
          await give(join(path, "data"));
        });
        await assertRefused(folder, says, /flowhook\.db" belongs to root \(mode 644\)/);
      });

      const skip = isMountable() ? false : "nothing can be mounted here";
      test("11: a file system that is read-only", { skip }, async () => {
        const folder = await furnish({}, (path) => mkdir(join(path, "data")).then(() => {}));
        const data = join(folder, "data");
        assert.ok(mountDisk(data, `ro,uid=${NOBODY},mode=700`));
        try {
          await assertRefused(folder, says, /its file system is read-only/);
        } finally {
          unmountDisk(data);
        }
      });
    }
  });

  describe("M10: belongs to the service's user alone", () => {
    /** What others may use, below a folder. */
    async function openToOthers(folder: string): Promise<string[]> {
      const names = ["", ...(await readdir(folder, { recursive: true }))];
      const found = await Promise.all(
        names.map(async (name) => ({ name, stats: await lstat(join(folder, name)) })),
      );
      return found
        .filter(({ stats }) => !stats.isSymbolicLink() && (stats.mode & 0o077) !== 0)
        .map(({ name, stats }) => `${name} ${(stats.mode & 0o777).toString(8)}`);
    }

    for (const umask of [0o022, 0])
      test(`M10: what a first start makes, with umask ${umask.toString(8)}`, async () => {
        const folder = await furnish({}, (path) =>
          writeFile(join(path, "plugins/some.ts"), "export default () => 1;\n"),
        );
        await serve(folder, umask);
        assert.deepEqual(await openToOthers(join(folder, "data")), []);
        const backup = await runCommand(target, ["backup", "b.db"], { cwd: folder });
        assert.equal(backup.code, 0, text(backup));
        assert.equal((await lstat(join(folder, "b.db"))).mode & 0o777, 0o600);
      });

    for (const mode of [0o755, 0o777, 0o770])
      test(`M10: a folder of mode ${mode.toString(8)} that was there is narrowed`, async () => {
        const folder = await furnish({}, async (path) => {
          await mkdir(join(path, "data"));
          await chmod(join(path, "data"), mode);
          await give(join(path, "data"));
        });
        const log = await serve(folder);
        assert.match(
          log,
          new RegExp(`data\\\\" is open to other users \\(mode ${mode.toString(8)}\\)`),
        );
        assert.match(log, /it was narrowed to its owner/);
        assert.deepEqual(await openToOthers(join(folder, "data")), []);
        assert.doesNotMatch(await serve(folder), /open to other users/, "said once");
      });

    test("M10: what an earlier release left open is narrowed, each file of it", async () => {
      const folder = await furnish({}, (path) =>
        writeFile(join(path, "plugins/some.ts"), "export default () => 1;\n"),
      );
      await serve(folder);
      const data = join(folder, "data");
      const before_it = await readdir(data, { recursive: true });
      execFileSync("chmod", ["-R", "a+rwX", data]);
      const checked = await runCommand(target, ["check"], { cwd: folder });
      assert.match(checked.stderr, /secret\.key" is open to other users \(mode 666\)/);
      const log = await serve(folder);
      assert.match(log, /secret\.key\\" is open to other users \(mode 666\)/);
      assert.deepEqual(await openToOthers(data), []);
      assert.ok(before_it.some((name) => name.startsWith("versions/")));
    });

    test("M10: a folder with other files is not narrowed unasked", async () => {
      const folder = await furnish({}, async (path) => {
        await mkdir(join(path, "data"));
        await writeFile(join(path, "data/holiday.jpg"), "");
        await give(join(path, "data"));
      });
      const says =
        /with other files in it \("holiday\.jpg"\).* Set DATA_DIR to \S+data\/flowhook\. /;
      await assertRefused(folder, says);
      for (const command of ["serve", "check", "systemd --config flowhook.yaml"]) {
        const { code, stdout, stderr } = await runCommand(target, command.split(" "), {
          cwd: folder,
        });
        assert.equal(code, 78, `${command}: ${stdout}${stderr}`);
        // It would take the folder from all who use it.
        assert.doesNotMatch(stdout + stderr, /chmod|chown|install -d/, command);
      }
      assert.equal((await lstat(join(folder, "data"))).mode & 0o777, 0o755);
    });

    test("M10: what somebody has put where the service keeps its own is not removed", async () => {
      const theirs = ["runtime/app.jar", "versions/v1/release.zip"];
      const furnishWith = (names: readonly string[]) =>
        furnish({}, async (path) => {
          await mkdir(join(path, "data/runtime"), { recursive: true });
          await mkdir(join(path, "data/versions/v1"), { recursive: true });
          for (const name of names) await writeFile(join(path, "data", name), "theirs");
          await chmod(join(path, "data"), 0o700);
          for (const name of await readdir(join(path, "data")))
            await give(join(path, "data", name));
          await give(join(path, "data"));
        });
      for (const name of theirs) {
        const folder = await furnishWith([name]);
        const [first] = name.split("/");
        const says = new RegExp(`Found DATA_DIR "\\S+" with other files in it \\("${first}/`);
        await assertRefused(folder, says);
        assert.ok((await lstat(join(folder, "data", name))).isFile());
      }
    });

    test("M10: a first start that was killed while it unpacked is begun anew", async () => {
      const folder = await furnish({}, async (path) => {
        await mkdir(join(path, "data/runtime/.unpack-half"), { recursive: true });
        for (const name of ["data/runtime/.unpack-half", "data/runtime", "data"])
          await give(join(path, name));
      });
      await serve(folder);
    });

    test("M10: flows that everybody can write are warned of, and stay as they are", async () => {
      const folder = await furnish({}, async (path) => {
        await mkdir(join(path, "plugins/inner"));
        await writeFile(join(path, "plugins/inner/some.ts"), "export default () => 1;\n");
        await chmod(join(path, "plugins/inner/some.ts"), 0o666);
      });
      const says = /Every user of this machine can write \\?"[^"]+some\.ts\\?": whoever/;
      assert.match(await serve(folder), says);
      await chmod(join(folder, "plugins"), 0o777);
      assert.match(await serve(folder), /can write \\"[^"]+plugins\\", and 1 more of PLUGINS_DIR/);
      const checked = await runCommand(target, ["check"], { cwd: folder });
      assert.match(checked.stderr, /Every user of this machine can write "/);
      assert.equal((await lstat(join(folder, "plugins"))).mode & 0o777, 0o777);
      await chmod(join(folder, "plugins"), 0o755);
      await chmod(join(folder, "plugins/inner/some.ts"), 0o644);
      assert.doesNotMatch(await serve(folder), /Every user/);
    });

    test("M10: links that lead nowhere, or where we cannot look, keep no service from starting", async () => {
      const folder = await furnish({}, async (path) => {
        await mkdir(join(path, "closed/inner"), { recursive: true });
        await chmod(join(path, "closed"), canChange ? 0o700 : 0o400);
        const links = ["loop.ts", "nowhere.ts", "x".repeat(300), join(path, "closed/inner")];
        for (const [at, to] of links.entries())
          await symlink(to, join(path, "plugins", at === 0 ? to : `link${at}.ts`));
      });
      await serve(folder);
      await rm(join(folder, "plugins"), { recursive: true });
      await symlink("closed/inner", join(folder, "plugins"));
      assert.match(
        await serve(folder),
        /cannot look into \\"[^"]+plugins\\" \(PLUGINS_DIR\): EACCES/,
      );
    });

    if (canChange) {
      test("M10: a folder of another user that is open to us", async () => {
        const folder = await furnish({}, async (path) => {
          await mkdir(join(path, "data"));
          await chmod(join(path, "data"), 0o777);
        });
        await assertRefused(
          folder,
          /data" of root \(mode 777\), expected what belongs to nobody/,
          /sudo chown -R nobody \S+data && sudo chmod 700 \S+data/,
        );
      });

      test("M10: what root's commands make, the service can use", async () => {
        const folder = await furnish();
        await serve(folder);
        const root_target = faultsTarget();
        // Commands of others would leave something in one that is everybody's, for a moment.
        const home = await mkdtemp(join(root, "home-"));
        const run = async (...args: string[]): Promise<void> => {
          const input = "a password of whoever it is\n";
          const options = { cwd: folder, input, env: { HOME: home } };
          const finished = await runCommand(root_target, args, options);
          assert.equal(finished.code, 0, text(finished));
        };
        await run("user", "create", "grace");
        await run("backup", "root.db");
        for (const name of ["flowhook.db", "lock.db", "runtime"])
          await rm(join(folder, "data", name), { recursive: true });
        await chmod(join(folder, "root.db"), 0o400);
        await run("restore", "root.db");
        await run("user", "password", "grace");
        const data = join(folder, "data");
        const stats = (await readdir(data)).map((name) => lstat(join(data, name)));
        assert.deepEqual(
          new Set((await Promise.all(stats)).map(({ uid }) => uid)),
          new Set([NOBODY]),
        );
        assert.deepEqual(await openToOthers(data), []);
        assert.doesNotMatch(await serve(folder), /"level":"(warn|error)"/);
        assert.deepEqual(await readdir(home), []);
      });

      test("M10: root starts no service in the folder of another user", async () => {
        const folder = await furnish();
        await serve(folder);
        const refused = await runCommand(faultsTarget(), ["serve"], { cwd: folder });
        assert.equal(refused.code, 78, text(refused));
        const says = /DATA_DIR "\S+" belongs to nobody, .+: begin it with sudo -u nobody$/m;
        assert.match(refused.stderr, says);
      });

      test("M10: what root has left deep in the folder is named, with what to do", async () => {
        const folder = await furnish({}, (path) =>
          writeFile(join(path, "plugins/some.ts"), "export default () => 1;\n"),
        );
        await serve(folder);
        const left = join(folder, "data/versions/some");
        await chown(left, 0, 0);
        const refused = await runCommand(target, ["serve"], { cwd: folder });
        assert.equal(refused.code, 78, text(refused));
        assert.ok(refused.stderr.includes(`"${left}" belongs to root (mode 700)`), text(refused));
        assert.match(refused.stderr, /Run: sudo chown -R nobody \S+data && sudo chmod 700/);
        const { stdout } = await runCommand(target, ["doctor"], { cwd: folder });
        assert.ok(stdout.includes(`"${left}" belongs to root, not to nobody`), stdout);
      });

      test("M10: a command of root that is interrupted leaves nothing", async () => {
        const folder = await furnish();
        await serve(folder);
        const home = await mkdtemp(join(root, "home-"));
        const [program, ...leading] = faultsTarget().command;
        // One that has ended before it is interrupted tells nothing.
        await poll("a command to be interrupted", async () => {
          const watcher = watch(home);
          const made = once(watcher, "change");
          const child = spawn(program, [...leading, "user", "list"], {
            cwd: folder,
            env: environment({ HOME: home }),
            stdio: "ignore",
          });
          const ended = once(child, "close");
          await Promise.race([made, ended]);
          watcher.close();
          child.kill("SIGTERM");
          const [code, signal] = (await ended) as [number | null, string | null];
          assert.deepEqual(await readdir(home), []);
          assert.ok(signal === "SIGTERM" || code === 0, `it ended with ${code}`);
          return signal === "SIGTERM" ? true : null;
        });
      });

      test("10: a certificate's key that the service may not read", async () => {
        const tls = { TLS_CERT_FILE: "./cert.pem", TLS_KEY_FILE: "./key.pem" };
        const folder = await furnish(tls, async (path) => {
          const { cert, key } = makeCertificate();
          await writeFile(join(path, "cert.pem"), cert);
          await writeFile(join(path, "key.pem"), key, { mode: 0o600 });
        });
        for (const command of ["serve", "check"]) {
          const finished = await runCommand(target, [command], { cwd: folder });
          assert.equal(finished.code, 78, text(finished));
          const says =
            /flowhook\.yaml:6: Found ".+key\.pem", which cannot be read \(it belongs to root, mode 600, and the service runs as nobody\) for TLS_KEY_FILE/;
          assert.match(finished.stderr, says);
        }
      });

      test("M10: a folder behind a link, which root or the service's user has placed", async () => {
        for (const uid of [0, NOBODY]) {
          const folder = await furnish({}, async (path) => {
            await mkdir(join(path, "elsewhere"), { mode: 0o700 });
            await give(join(path, "elsewhere"));
            await symlink("elsewhere", join(path, "data"));
            await lchown(join(path, "data"), uid, uid);
          });
          assert.doesNotMatch(await serve(folder), /"level":"(warn|error)"/);
        }
      });

      test("M10: a link that another user has placed", async () => {
        const folder = await furnish({}, async (path) => {
          await mkdir(join(path, "elsewhere"), { mode: 0o700 });
          await give(join(path, "elsewhere"));
          await symlink("elsewhere", join(path, "data"));
          await lchown(join(path, "data"), 1, 1);
        });
        await assertRefused(
          folder,
          /the link \S+data" of \S+, expected one of nobody.+, or of root/,
          /sudo chown -h nobody \S+data$/m,
        );
      });

      test("M10: a key of another user that is open to us", async () => {
        const folder = await furnish({}, async (path) => {
          await mkdir(join(path, "data"));
          await writeFile(join(path, "data/secret.key"), "00".repeat(32));
          await chmod(join(path, "data/secret.key"), 0o666);
          await give(join(path, "data"));
        });
        const finished = await runCommand(target, ["serve"], { cwd: folder });
        assert.equal(finished.code, 78, text(finished));
        assert.match(
          finished.stderr,
          /secret\.key" of root \(mode 666\).*chmod 600 \S+secret\.key/,
        );
      });
    }
  });
});

/** The program where another user can read it, run by that user. */
async function asNobody(target: Target, root: string): Promise<Target> {
  const copy = join(root, "flowhook");
  const program = target.command[0];
  await link(program, copy).catch(() => copyFile(program, copy));
  const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  return { ...target, command: [setpriv ?? "", ...user, copy, ...target.command.slice(1)] };
}

function text({ stdout, stderr }: Finished): string {
  return `${stdout}\n${stderr}`;
}
