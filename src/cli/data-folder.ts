import { mkdtempSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { openRuntime, type Runtime } from "../assets/runtime.ts";
import { openDataFolder } from "../server/config/data-folder.ts";
import type { Loaded } from "../server/config/load.ts";
import { databaseFile } from "../server/config/resolve.ts";
import { explainUnwritable, targetOf } from "../server/config/unwritable.ts";
import { cleanUpAtSignals } from "./clean-up.ts";
import { CommandError } from "./command-error.ts";

/** DATA_DIR for commands: beside a service that runs, or of a stopped one. */

/**
 * The runtime files for a command. Root on the folder of a service's user leaves nothing there
 * that the service could not read, and runs nothing that its user could have put there.
 *
 * @throws ConfigError where the folder cannot be written
 */
export function openDataOf(loaded: Pick<Loaded, "config" | "placeOf">): Runtime {
  const { DATA_DIR } = loaded.config;
  if (isOfOther(DATA_DIR)) return openRuntime(makeOwnFolder());
  for (const warning of openDataFolder(loaded)) process.stderr.write(`${warning}\n`);
  return openRuntime(DATA_DIR);
}

/** Whether root works in the folder of another user; every other user could not write there. */
export function isOfOther(folder: string): boolean {
  if (process.geteuid?.() !== 0) return false;
  const stats = targetOf(folder);
  return stats !== null && stats.uid !== 0;
}

/** Not below /tmp, which may be mounted without the right to run what is in it. */
function makeOwnFolder(): string {
  process.umask(0o077);
  let folder = "";
  const remove = () => {
    if (folder !== "") rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", remove);
  // Before there is one: a signal may come at any moment.
  cleanUpAtSignals(remove);
  folder = mkdtempSync(join(homedir(), ".flowhook-"));
  return folder;
}

/** @throws CommandError where a service has made no database yet; none is made here */
export function requireDatabase({ config }: Pick<Loaded, "config">): void {
  const path = databaseFile(config);
  // A database of PostgreSQL is asked when it is opened.
  if (path === null || isDatabase(path)) return;
  throw new CommandError(
    `There is no database at "${path}". Name the configuration of the service with --config ` +
      `FILE, or its folder with FLOWHOOK_DATA_DIR; the first start of a service makes one`,
  );
}

/** An empty file is what a start leaves that was killed in its first moment. */
function isDatabase(path: string): boolean {
  try {
    return statSync(path).size > 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw new CommandError(explainUnwritable("the database", path, error), 78);
  }
}
