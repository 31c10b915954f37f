import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { readAsset } from "../../assets/read.ts";
import { generatePassword } from "../../server/access/password.ts";
import type { Loaded } from "../../server/config/load.ts";
import { nameOfUser } from "../../server/config/owner.ts";
import { databaseFile } from "../../server/config/resolve.ts";
import { sampleConfig } from "../../server/config/sample.ts";
import { quotePath } from "../../server/config/unwritable.ts";
import { CommandError } from "../command-error.ts";
import { CONFIG_FILE, makeUnit } from "../systemd.ts";
import { asksSystemd, findUser, runProgram, type SystemUser } from "./machine.ts";
import { enable, start } from "./starting.ts";
import { besideOf, placeFile, placeNewFile } from "./placed-file.ts";
import type { Step } from "./step.ts";
import { isUnit, markUnit, requireOwnUnit, UNIT, UNIT_FILE } from "./unit-file.ts";

export const PROGRAM = "/usr/local/bin/flowhook";
export const USER = "flowhook";
export const CONFIG_FOLDER = dirname(CONFIG_FILE);
export const STATE_FOLDER = "/var/lib/flowhook";

/** What an installation is made of. */
export interface Plan {
  /** How the installed program is started. */
  readonly program: readonly string[];
  /** The program's file, which is copied; null where it stays where it is. */
  readonly source: string | null;
  /** Read, or what the configuration will be that is written. */
  readonly loaded: Loaded;
}

/** Everything in the order in which one needs the other. */
export function planSteps(plan: Plan): Step[] {
  const { PLUGINS_DIR, DATA_DIR } = plan.loaded.config;
  const file = databaseFile(plan.loaded.config);
  const folders = [...new Set([DATA_DIR, ...(file === null ? [] : [dirname(file)])])];
  return [
    ...(plan.source === null ? [] : [copyProgram(plan.source)]),
    addUser(),
    makeFolder(CONFIG_FOLDER),
    makeFolder(PLUGINS_DIR),
    writeConfiguration(),
    writeFlow(PLUGINS_DIR),
    ...folders.map(makeDataFolder),
    setPassword(plan),
    writeUnit(plan),
    enable(),
    start(),
  ];
}

/** What an operator reads first: where things are; all other keys are comments. */
export function configurationText(): string {
  return (
    `DATA_DIR: ${STATE_FOLDER}/data\nPLUGINS_DIR: ${CONFIG_FOLDER}/plugins\n\n` +
    sampleConfig().replace(/^#(DATA_DIR|PLUGINS_DIR): .*$/gm, "#$1: (see above)")
  );
}

function copyProgram(source: string): Step {
  return {
    what: `copy the program to ${PROGRAM}`,
    isRead: true,
    isDone: () => isPlainFile(PROGRAM) && isSame(source, PROGRAM),
    act() {
      mkdirSync(dirname(PROGRAM), { recursive: true });
      placeFile(PROGRAM, (beside) => {
        copyFileSync(source, beside, constants.COPYFILE_EXCL);
        chmodSync(beside, 0o755);
      });
    },
  };
}

/** Not a link, which may lead to where the service does not see it. */
function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isSame(one: string, other: string): boolean {
  return (
    statSync(one).size === statSync(other).size && readFileSync(one).equals(readFileSync(other))
  );
}

function addUser(): Step {
  const words = ["--system", "--user-group", "--no-create-home", "--home-dir", STATE_FOLDER];
  return {
    what: `add the system user ${USER}`,
    isDone: () => findUser(USER) !== null,
    act: () => void runProgram("useradd", ...words, "--shell", "/usr/sbin/nologin", USER),
  };
}

/** Root writes what the service reads. */
function makeFolder(folder: string): Step {
  return {
    what: `make the folder ${folder}`,
    isDone: () => existsSync(folder),
    act() {
      mkdirSync(folder, { recursive: true });
      chmodSync(folder, 0o755);
    },
  };
}

/** For the service's group to read: an operator may put more into it than the first lines. */
function writeConfiguration(): Step {
  return {
    what: `write ${CONFIG_FILE}`,
    isRead: true,
    isDone: () => existsSync(CONFIG_FILE),
    act() {
      placeNewFile(CONFIG_FILE, (beside) => {
        writeFileSync(beside, configurationText(), { mode: 0o640, flag: "wx" });
        chmodSync(beside, 0o640);
        chownSync(beside, 0, requireUser().gid);
      });
    },
  };
}

function writeFlow(folder: string): Step {
  const file = join(folder, "hello.ts");
  const left = basename(besideOf(file));
  return {
    what: `write a first flow, ${file}`,
    isDone: () => existsSync(folder) && readdirSync(folder).some((name) => name !== left),
    act() {
      placeNewFile(file, (beside) => {
        writeFileSync(beside, readAsset("demo/hello.ts"), { flag: "wx" });
        chmodSync(beside, 0o644);
      });
    },
  };
}

function makeDataFolder(folder: string): Step {
  return {
    what: `make the folder ${folder}, of ${USER} alone`,
    isRead: true,
    isDone: () => existsSync(folder),
    act() {
      const { uid, gid } = requireUser();
      const first = mkdirSync(folder, { recursive: true, mode: 0o700 }) ?? folder;
      for (let path = folder; path.length >= first.length; path = dirname(path)) {
        chmodSync(path, 0o700);
        chownSync(path, uid, gid);
      }
    },
  };
}

/** Before the first start, as the service's user: a start would show the password in the journal. */
function setPassword({ program, loaded }: Plan): Step {
  return {
    what: "make the database, with a password for the user admin",
    isRead: true,
    isDone: () =>
      existsSync(databaseFile(loaded.config) ?? join(loaded.config.DATA_DIR, "secret.key")) ||
      // Root would make folders that the service could not use.
      (findUser(USER) !== null && hasUsers(program, loaded.config) === true),
    act() {
      const isOthers = hasUsers(program, loaded.config);
      if (isOthers === null)
        throw new CommandError(
          "Cannot list the users of the database: where there is an admin, its password stays. " +
            `Run as "${USER}": flowhook user list --config ${CONFIG_FILE}`,
        );
      if (isOthers) return;
      const password = generatePassword();
      const args = ["password", "admin", "--create"];
      const done = runUser(program, args, { ...requireUser(), input: password });
      if (done.status !== 0)
        throw new CommandError(`Cannot make the database: ${done.stderr || String(done.error)}`);
      // At once: a later step may fail, and nobody can read it again.
      process.stderr.write(`Log in as "admin" with the password ${password} (shown this once)\n`);
    },
  };
}

/**
 * A database of PostgreSQL can be another node's as well: nobody's password is changed then.
 *
 * @returns null where its users cannot be listed
 */
export function hasUsers(program: readonly string[], config: Loaded["config"]): boolean | null {
  if (databaseFile(config) !== null) return false;
  const { status, stdout } = runUser(program, ["list", "--json"], identityOf(USER));
  return status === 0 ? (JSON.parse(stdout) as unknown[]).length > 0 : null;
}

/** Only root can become another user. */
function identityOf(name: string): Partial<SystemUser> {
  return process.geteuid?.() === 0 ? (findUser(name) ?? {}) : {};
}

/** A command about users, as the service's user. */
function runUser(
  [file = "", ...words]: readonly string[],
  args: readonly string[],
  options: { uid?: number; gid?: number; input?: string },
) {
  const env = { PATH: "/usr/bin:/bin" };
  const all = [...words, "user", ...args, "--config", CONFIG_FILE];
  return spawnSync(file, all, { ...options, cwd: "/", env, encoding: "utf8", maxBuffer: Infinity });
}

function writeUnit({ program, loaded }: Plan): Step {
  const text = markUnit(makeUnit(program, CONFIG_FILE, { ...loaded, file: CONFIG_FILE }, USER));
  return {
    what: `write the unit ${UNIT_FILE}`,
    isRead: true,
    isDone: () => isUnit(text),
    act() {
      placeFile(UNIT_FILE, (beside) => {
        writeFileSync(beside, text, { mode: 0o644, flag: "wx" });
        chmodSync(beside, 0o644);
      });
      runProgram("systemctl", "daemon-reload");
    },
  };
}

/**
 * @param source file of the single binary that is to be installed; null: none is
 * @throws CommandError where another user's data, or a unit of somebody else, stand in the way
 */
export function requireFree(
  { DATA_DIR }: Pick<Loaded["config"], "DATA_DIR">,
  source: string | null,
): void {
  requireOwnUnit(source);
  const stats = statSync(DATA_DIR, { throwIfNoEntry: false });
  const user = findUser(USER);
  if (stats === undefined || stats.uid === user?.uid) return;
  throw new CommandError(
    `DATA_DIR "${DATA_DIR}" belongs to ${nameOfUser(stats.uid)}, expected ${USER}. If it is the ` +
      `data of this service, run: ` +
      // Under a running service, what it has there would be another user's.
      (asksSystemd("is-active", UNIT) ? "sudo systemctl stop flowhook && " : "") +
      (user === null ? `sudo useradd --system --user-group ${USER} && ` : "") +
      `sudo chown -R ${USER}: ${quotePath(DATA_DIR)}`,
  );
}

function requireUser(): SystemUser {
  const user = findUser(USER);
  if (user === null) throw new CommandError(`There is no user "${USER}" on this machine`);
  return user;
}
