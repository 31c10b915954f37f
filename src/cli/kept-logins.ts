import { closeSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
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

function takeTurn(path: string): Disposable {
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  while (!takeFile(path)) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    if (Math.abs(now() - stats.mtimeMs) > LEFT_MS) rmSync(path, { force: true });
    else Atomics.wait(asleep, 0, 0, AGAIN_MS);
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

/** @returns false where another command has it */
function takeFile(path: string): boolean {
  try {
    closeSync(openSync(path, "wx"));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
