import { readFileSync } from "node:fs";
import { join } from "node:path";
import { personalFolder, readEnvironment } from "../server/config/environment.ts";
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
  const { logins } = readLogins();
  writeLogins({ current: url, logins: { ...logins, [url]: login } });
}

export function forgetLogin(url: string): void {
  const { current, logins } = readLogins();
  const { [url]: _forgotten, ...others } = logins;
  writeLogins({ current: current === url ? null : current, logins: others });
}

/** Readable by its owner only. */
function writeLogins(kept: KeptLogins): void {
  try {
    makeFolder(personalFolder(readEnvironment()), 0o700);
    replaceWhole(loginsFile(), `${JSON.stringify(kept, null, 2)}\n`, 0o600);
  } catch (error) {
    throw new CommandError(`Cannot keep the login: ${(error as Error).message}`);
  }
}
