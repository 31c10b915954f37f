import { existsSync, statfsSync } from "node:fs";
import { openSecretBox, listUnreadable } from "../../server/access/secret-box.ts";
import { nameOfKey, readDataKey } from "../../server/access/data-key.ts";
import type { Config } from "../../server/config/resolve.ts";
import { databaseFile, showDatabase } from "../../server/config/resolve.ts";
import { ledgerPaths } from "../../shared/ledger-paths.ts";
import { fileAt } from "../../server/store/sqlite/file-place.ts";
import {
  inspectCopy,
  inspectLedger,
  inspectLive,
  sizeOf,
  type Inspection,
} from "../../server/store/sqlite/inspection.ts";
import { arePartedAt, PARTED, PARTED_ACTION } from "../../server/store/sqlite/parted-logs.ts";
import { describeBytes, reportOn, type Finding } from "./finding.ts";

const database = reportOn("database");
const key = reportOn("key");

export interface DatabaseDeps {
  readonly addon: string | null;
  /** Where a copy can lie. */
  readonly scratch: string;
  readonly isRunning: boolean;
}

/** What the database is like; null where there is none, or where it cannot be looked at. */
export async function examineDatabase(
  config: Config,
  deps: DatabaseDeps,
): Promise<{ inspection: Inspection | null; findings: Finding[] }> {
  const path = databaseFile(config);
  if (path === null) {
    const message = `Not looked at: it is PostgreSQL (${showDatabase(config)})`;
    return { inspection: null, findings: [database.skipped(message)] };
  }
  if (!existsSync(path)) {
    const message = `There is no database at "${path}" yet: the first start makes it`;
    return { inspection: null, findings: [database.skipped(message)] };
  }
  if (arePartedAt(fileAt(path)))
    return { inspection: null, findings: [database.error(`"${path}" ${PARTED}`, PARTED_ACTION)] };
  const reason = reasonToSkip(path, deps);
  if (reason !== null) return { inspection: null, findings: [database.skipped(reason)] };
  try {
    const file = { path, addon: deps.addon };
    const looking = deps.isRunning ? inspectLive(file) : inspectCopy(file, deps.scratch);
    const inspection = await looking;
    const findings = judge(inspection, path);
    if (!deps.isRunning) findings.push(...examineLedger(file, deps.scratch));
    return { inspection, findings };
  } catch (error) {
    const message = `Cannot read the database "${path}": ${(error as Error).message}`;
    const action = "Run this as root, or as the user to whom DATA_DIR belongs";
    return { inspection: null, findings: [database.error(message, action)] };
  }
}

/** What the next start finds there; a service that runs has looked at it. */
function examineLedger(file: { path: string; addon: string | null }, scratch: string): Finding[] {
  const names = `"${ledgerPaths(fileAt(file.path)).join('" and "')}"`;
  try {
    const { begun, damage } = inspectLedger(file, scratch);
    if (damage.length > 0)
      return [database.warning(damage.join("; "), "The next start passes over them and says so")];
    if (begun === 0) return [];
    return [database.ok(`Its ledger has ${begun} executions for the next start`)];
  } catch (error) {
    const message = `Cannot read the ledger, ${names}: ${(error as Error).message}`;
    const action =
      "Restore a backup, or keep both files elsewhere, and start without what they hold";
    return [database.error(message, action)];
  }
}

function reasonToSkip(path: string, { isRunning, scratch }: DatabaseDeps): string | null {
  if (isRunning) return existsSync(`${fileAt(path)}-shm`) ? null : "The service starts: look again";
  const { bavail, bsize } = statfsSync(scratch);
  if (bavail * bsize > sizeOf(path)) return null;
  return (
    `Not looked at: a copy of it needs ${describeBytes(sizeOf(path))} at "${scratch}". Name ` +
    `another folder with TMPDIR`
  );
}

const RESTORE = "Restore a backup: flowhook restore FILE. The damaged database is kept beside it";

function judge({ damage, newer, foreign, due }: Inspection, path: string): Finding[] {
  const size = describeBytes(sizeOf(path));
  if (damage.length > 0)
    return [database.error(`"${path}" is damaged: ${damage.join("; ")}`, RESTORE)];
  if (newer.length > 0)
    return [
      database.error(
        `"${path}" was written by a newer release (migration "${newer[0]}" is not known here)`,
        "Run that release, or restore a backup of before",
      ),
    ];
  if (foreign.length > 0)
    return [
      database.error(
        `"${path}" has another schema than Flowhook makes: ${foreign.join(", ")}`,
        "Find out who changed it: a trigger or a view could act as any user. Restore a backup",
      ),
    ];
  const later = due.length === 0 ? "" : `; the next start brings it up to date (${due.join(", ")})`;
  return [database.ok(`"${path}" is whole (${size})${later}`)];
}

/** Whether the data key opens what was sealed with it. */
export function examineKey(config: Config, inspection: Inspection | null): Finding[] {
  const { DATA_DIR } = config;
  const name = nameOfKey(config);
  const action =
    name === "DATA_KEY"
      ? "Set DATA_KEY to the key of this database"
      : `Put the secret.key of this database back into "${DATA_DIR}"`;
  try {
    const found = readDataKey(config);
    const secrets = inspection?.secrets ?? [];
    if (found !== null && inspection === null)
      return [key.skipped("Not compared: the database was not looked at")];
    if (found === null) {
      const message = `There is no secret.key in "${DATA_DIR}"`;
      const isLost = secrets.length > 0;
      return [isLost ? key.error(message, action) : key.skipped(`${message} yet`)];
    }
    const closed = listUnreadable(openSecretBox(found.derive("secrets")), secrets);
    if (closed.length === 0)
      return [key.ok(`${name} opens all secrets of the database (${secrets.length})`)];
    const names = closed.slice(0, 5).join(", ");
    const message = `${name} does not open ${closed.length} of ${secrets.length} secrets: ${names}`;
    return [key.error(message, `${action}, or give each of these a new value`)];
  } catch (error) {
    return [key.error((error as Error).message, action)];
  }
}
