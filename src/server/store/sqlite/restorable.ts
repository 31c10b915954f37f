import { existsSync, realpathSync, statSync } from "node:fs";
import { StartError } from "../../../shared/errors.ts";
import { refuseNewer } from "../migrate.ts";
import { openDatabase, type SqliteFile } from "./connection.ts";
import { inspectDatabase } from "./damage.ts";
import { fileAt } from "./file-place.ts";
import { unbroken } from "./ledger-reader.ts";
import { openLeft, readPosition } from "./left-ledger.ts";

/** What a restore takes: one file, with all that belongs to it. */

/**
 * @param file the database that it is to replace
 * @returns names of the migrations in the backup
 * @throws StartError where it is damaged, none of this product, of a newer version, or lacks what
 *   lies beside it
 */
export function requireRestorable(file: SqliteFile, backup: string): string[] {
  const applied = readApplied({ ...file, path: backup });
  if (applied.length === 0)
    throw new StartError(`"${backup}" is no backup of Flowhook, or it is damaged`);
  refuseNewer(applied);
  requireWhole(file, backup);
  return applied;
}

function readApplied(file: SqliteFile): string[] {
  try {
    return inspectDatabase(file);
  } catch (error) {
    if (error instanceof StartError) return [];
    throw error;
  }
}

/** The database of a service, or a copy of its folder, is more than one file. */
function requireWhole(file: SqliteFile, backup: string): void {
  if (existsSync(file.path) && realpathSync(file.path) === realpathSync(backup))
    throw new StartError(`"${backup}" is the database itself, expected a backup of it`);
  const wal = `${fileAt(backup)}-wal`;
  const isWalLeft = (statSync(wal, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!isWalLeft && !hasLeft({ path: backup, addon: file.addon })) return;
  const where = isWalLeft ? `its WAL ("${wal}")` : "its ledger";
  throw new StartError(
    `"${backup}" lacks what ${where} has, expected a backup, which is one whole file. Make one of ` +
      `it: flowhook backup FILE, with a configuration whose DATABASE_URL names it`,
  );
}

function hasLeft({ path, addon }: Pick<SqliteFile, "path" | "addon">): boolean {
  const db = openDatabase(path, addon, { readonly: true });
  try {
    const applied = readPosition(db);
    if (applied === null) return false;
    using left = openLeft({ path: fileAt(path), addon }, path, applied);
    return unbroken(left.read(applied), applied).next().done !== true;
  } finally {
    db.close();
  }
}
