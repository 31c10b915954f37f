import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { placeOfKey } from "../server/access/data-key.ts";
import type { Loaded } from "../server/config/load.ts";
import { databaseFile, showDatabase, type Config } from "../server/config/resolve.ts";
import {
  backupTo,
  partialOf,
  removePartial,
  restoreFrom,
  restoringOf,
} from "../server/store/sqlite/backup.ts";
import { takeLock } from "../server/store/sqlite/lock.ts";
import type { SqliteFile } from "../server/store/sqlite/connection.ts";
import { cleanUpAtSignals } from "./clean-up.ts";
import { readConfiguration } from "./configuration.ts";
import { openDataOf } from "./data-folder.ts";
import { CommandError } from "./command-error.ts";

/** These commands work on the data folder; a backup also of a running service. */

/** @throws CommandError */
export async function backup(target: string, options: { config?: string }): Promise<void> {
  if (target === "-")
    throw new CommandError('Found "-", expected a file: ./- where that is its name', 2);
  const loaded = readConfiguration(options);
  const { config } = loaded;
  const path = requireFile(config, "pg_dump --format custom --file FILE");
  if (!existsSync(path)) throw new CommandError(`There is no database at "${path}"`);
  const file = openFile(loaded, path);
  const copy = resolve(target);
  const partial = partialOf(copy);
  using _cleaning = cleanUpAtSignals(() => removePartial(partial));
  await attempt("back up", dirname(copy), () => backupTo(file, copy, partial));
  process.stdout.write(
    `Backed up to ${target}\n` +
      `Keep ${placeOfKey(config)} in another place: without it the secrets ` +
      `in the backup cannot be read\n`,
  );
}

/** @throws CommandError where a service runs on the data folder, or the file is no backup */
export async function restore(path: string, options: { config?: string }): Promise<void> {
  const loaded = readConfiguration(options);
  const { config } = loaded;
  const database = requireFile(
    config,
    "pg_restore --clean --if-exists",
    ", with every service on it stopped",
  );
  const source = resolve(path);
  if (!existsSync(source)) throw new CommandError(`There is no file "${path}"`);
  if (statSync(source).isDirectory())
    throw new CommandError(`"${path}" is a folder, expected a backup, which is one file`);
  const file = openFile(loaded, database);
  using _cleaning = cleanUpAtSignals(() => removePartial(restoringOf(file)));
  const old = await attempt("restore", dirname(database), async () => {
    const lock = takeLock({ dataDir: config.DATA_DIR, database }, file.addon);
    try {
      return await restoreFrom(file, source, (line) => process.stderr.write(`${line}\n`));
    } finally {
      lock.release();
    }
  });
  const kept = old === null ? "" : `The database that was there is "${old}"\n`;
  process.stdout.write(`Restored ${path} to ${file.path}\n${kept}Everybody has to log in again\n`);
}

/** @throws CommandError where the store is PostgreSQL, naming the program that does the same there */
function requireFile(config: Config, program: string, condition = ""): string {
  const path = databaseFile(config);
  if (path !== null) return path;
  throw new CommandError(
    `The store is PostgreSQL (${showDatabase(config)}), which has programs of its own for this: ` +
      `${program} --dbname URL, with the version of the server${condition}. Keep ` +
      `${placeOfKey(config)} in another place as well`,
  );
}

function openFile(loaded: Loaded, path: string): SqliteFile {
  const { addon } = openDataOf(loaded);
  return { path, durability: loaded.config.DURABILITY, addon };
}

/** @param target the folder that is written to: SQLite does not say which disk is full */
async function attempt<T>(act: string, target: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const where = code === "SQLITE_FULL" ? `, at "${target}"` : "";
    throw new CommandError(`Cannot ${act}: ${message}${where}`);
  }
}
