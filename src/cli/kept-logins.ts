import { randomUUID } from "node:crypto";
import {
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import { personalFolder, readEnvironment } from "../server/config/environment.ts";
import { now } from "../shared/clock.ts";
import { makeFolder } from "../shared/make-folder.ts";
import { CommandError } from "./command-error.ts";
import { replaceWhole } from "./whole-file.ts";

/** What `flowhook login` keeps about one service. */
export interface KeptLogin {
  readonly token: string;
  readonly user_name: string;
  readonly expires_at: string;
}

/** The file of kept logins: a token is only ever sent to the service that it came from. */
export interface KeptLogins {
  /** URL of the last login: the service that commands speak to unless told otherwise. */
  readonly current: string | null;
  /** By the URL of the service. */
  readonly logins: Readonly<Record<string, KeptLogin>>;
}

export const NONE: KeptLogins = { current: null, logins: {} };

function loginsFile(): string {
  return join(personalFolder(readEnvironment()), "logins.json");
}

/** @throws CommandError where the file is there and cannot be read */
export function readLogins(): KeptLogins {
  const file = loginsFile();
  try {
    const { current, logins } = JSON.parse(readFileSync(file, "utf8")) as Partial<KeptLogins>;
    return { current: current ?? null, logins: logins ?? {} };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return NONE;
    const advice = code === undefined ? ". Remove it, and log in again" : "";
    throw new CommandError(`Cannot read "${file}": ${message}${advice}`);
  }
}

export function keepLogin(url: string, login: KeptLogin): void {
  changeLogins(({ logins }) => ({ current: url, logins: { ...logins, [url]: login } }));
}

export function forgetLogin(url: string): void {
  changeLogins(({ current, logins }) => {
    const { [url]: _forgotten, ...others } = logins;
    return { current: current === url ? null : current, logins: others };
  });
}

/** Readable by its owner only. Of two logins at once none is lost. */
function changeLogins(change: (kept: KeptLogins) => KeptLogins): void {
  try {
    makeFolder(personalFolder(readEnvironment()), 0o700);
    using _turn = takeTurn(`${loginsFile()}.lock`);
    const kept = change(readLogins());
    replaceWhole(loginsFile(), `${JSON.stringify(kept, null, 2)}\n`, 0o600);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`Cannot keep the login: ${(error as Error).message}`);
  }
}

/** A change takes a millisecond: a turn that is this old, in milliseconds, is of a command that was killed. */
const LEFT_MS = 2000;

const AGAIN_MS = 10;

/** After so long, in milliseconds, a turn does not come. */
const LOST_MS = 10_000;

/** @throws Error where it does not come */
function takeTurn(path: string): Disposable {
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const begunAt = performance.now();
  for (;;) {
    const own = takeFile(path);
    if (own !== null) return { [Symbol.dispose]: () => removeIf(path, own) };
    if (performance.now() - begunAt > LOST_MS)
      throw new Error(`"${path}" is there. Remove it if no other command logs in or out`);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined && Math.abs(now() - found.mtimeMs) > LEFT_MS) takeOver(path, found);
    Atomics.wait(asleep, 0, 0, AGAIN_MS);
  }
}

/** @returns what it is then; null where another command has it */
function takeFile(path: string): Stats | null {
  try {
    const file = openSync(path, "wx");
    const stats = fstatSync(file);
    closeSync(file);
    return stats;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
    throw error;
  }
}

/** Of several that find an old turn one takes it away, and none the new turn of another. */
function takeOver(path: string, old: Stats): void {
  if (old.isDirectory()) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
    if (!isSame(lstatSync(aside), old)) linkSync(aside, path);
  } catch (error) {
    // Another was faster.
    if (!["ENOENT", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function removeIf(path: string, own: Stats): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && isSame(found, own)) rmSync(path, { force: true });
}

/** Numbers of files are used again at once. */
function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.mtimeMs === other.mtimeMs;
}
