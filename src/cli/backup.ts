import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Loaded } from "../server/config/load.ts";
import { databaseFile } from "../server/config/resolve.ts";
import { backupTo, restoreFrom } from "../server/store/sqlite/backup.ts";
import { takeLock } from "../server/store/sqlite/lock.ts";
import type { SqliteFile } from "../server/store/sqlite/connection.ts";
import { readConfiguration } from "./configuration.ts";
import { openDataOf } from "./data-folder.ts";
import { CommandError } from "./command-error.ts";

/** These commands work on the data folder; a backup also of a running service. */

/** @throws CommandError */
export async function backup(path: string, options: { config?: string }): Promise<void> {
  const loaded = readConfiguration(options);
  const { config } = loaded;
  const database = databaseFile(config);
  if (!existsSync(database)) throw new CommandError(`There is no database at "${database}"`);
  const file = openFile(loaded);
  await attempt("back up", () => backupTo(file, resolve(path)));
  process.stdout.write(
    `Backed up to ${path}\n` +
      `Keep "${join(config.DATA_DIR, "secret.key")}" in another place: without it the secrets ` +
      `in the backup cannot be read\n`,
  );
}

/** @throws CommandError where a service runs on the data folder, or the file is no backup */
export async function restore(path: string, options: { config?: string }): Promise<void> {
  const loaded = readConfiguration(options);
  const { config } = loaded;
  const source = resolve(path);
  if (!existsSync(source)) throw new CommandError(`There is no file "${path}"`);
  const file = openFile(loaded);
  const old = await attempt("restore", async () => {
    const lock = takeLock(config.DATA_DIR, file.addon);
    try {
      return await restoreFrom(file, source);
    } finally {
      lock.release();
    }
  });
  const kept = old === null ? "" : `The database that was there is "${old}"\n`;
  process.stdout.write(`Restored ${path} to ${file.path}\n${kept}Everybody has to log in again\n`);
}

function openFile(loaded: Loaded): SqliteFile {
  const { config } = loaded;
  const { addon } = openDataOf(loaded);
  return { path: databaseFile(config), durability: config.DURABILITY, addon };
}

async function attempt<T>(act: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw new CommandError(`Cannot ${act}: ${(error as Error).message}`);
  }
}
