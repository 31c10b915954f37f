import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { keyFileOf, readDataKey, type DataKey } from "../server/access/data-key.ts";
import { toCheck } from "../server/access/key-check.ts";
import { findParameterFault, requireUrlFiles } from "../server/config/database-url.ts";
import { isDatabaseUrl } from "../server/config/kinds.ts";
import { databaseFile, showDatabase, type Config } from "../server/config/resolve.ts";
import { moveStore, type Moved } from "../server/move.ts";
import { takeLock } from "../server/store/sqlite/lock.ts";
import { removeMoved } from "../server/store/sqlite/move-source.ts";
import { cleanUpAtSignals } from "./clean-up.ts";
import { readConfiguration } from "./configuration.ts";
import { openDataOf } from "./data-folder.ts";
import { CommandError } from "./command-error.ts";
import { printJson, toTable, type Column } from "./table.ts";

interface MoveOptions {
  readonly config?: string;
  readonly json?: true;
}

/**
 * Moves a store of SQLite into PostgreSQL.
 *
 * @param to null: the database that the configuration names
 * @throws CommandError or StartError where nothing was moved
 */
export async function move(from: string, to: string | null, options: MoveOptions): Promise<void> {
  const loaded = readConfiguration(options);
  const { config } = loaded;
  const path = requireSource(from);
  const target = requireTarget(to ?? config.DATABASE_URL);
  const key = requireKey(config);
  const { addon, moveThread } = openDataOf(loaded);
  const lock = takeLock({ dataDir: config.DATA_DIR, database: path }, addon);
  // The copy is as large as the store, and as secret.
  using _cleaning = cleanUpAtSignals(() => removeMoved(path));
  try {
    const begun = performance.now();
    const data = {
      from: { path, durability: config.DURABILITY, addon },
      to: target,
      secretsKey: key.derive("secrets"),
      keyCheck: toCheck(key),
    };
    const moved = await moveStore(moveThread, data, (line) => process.stderr.write(`${line}\n`));
    const seconds = Math.ceil((performance.now() - begun) / 1000);
    const places = { from: path, to: showDatabase({ DATABASE_URL: target }) };
    if (options.json) printJson({ ...moved, ...places, seconds });
    else process.stdout.write(describe(moved, { ...places, seconds, config }));
  } finally {
    lock.release();
  }
}

const EXPECTED = "as DATABASE_URL has it: sqlite:PATH";

/** @returns the path of the file @throws CommandError */
function requireSource(url: string): string {
  if (!isDatabaseUrl(url)) throw new CommandError(`Expected FROM ${EXPECTED}`, 2);
  const path = databaseFile({ DATABASE_URL: url });
  if (path === null)
    throw new CommandError(
      "Cannot move from PostgreSQL: a move leads from SQLite to PostgreSQL. From one database of " +
        "PostgreSQL to another, pg_dump and pg_restore do",
      2,
    );
  if (existsSync(path)) return resolve(path);
  throw new CommandError(`There is no database at "${resolve(path)}"`);
}

/** @throws CommandError */
function requireTarget(url: string): string {
  const isPostgres = isDatabaseUrl(url) && databaseFile({ DATABASE_URL: url }) === null;
  if (isPostgres) return requireParameters(url);
  throw new CommandError(
    "Expected TO as DATABASE_URL has it: postgres://USER@HOST/NAME. Without TO it is the " +
      "DATABASE_URL of the configuration",
    2,
  );
}

/** @throws CommandError for parameters that the driver would pass over, as with a mistyped sslmode */
function requireParameters(url: string): string {
  const fault = findParameterFault(url);
  if (fault !== null) throw new CommandError(fault, 2);
  requireUrlFiles({ DATABASE_URL: url }, "TO");
  return url;
}

/** @throws CommandError where there is none; none is made here */
function requireKey(config: Config): DataKey {
  const key = readDataKey(config);
  if (key !== null) return key;
  throw new CommandError(
    `Found no data key, neither DATA_KEY nor "${keyFileOf(config)}". Name the configuration of the ` +
      `service with --config FILE`,
    78,
  );
}

const COLUMNS: readonly Column<Moved["tables"][number]>[] = [
  { title: "TABLE", of: ({ table }) => table },
  { title: "ROWS", of: ({ rows }) => rows },
];

function describe(
  { tables, interrupted, waiting }: Moved,
  { from, to, seconds, config }: { from: string; to: string; seconds: number; config: Config },
): string {
  const unended = [
    [waiting, "that waited: the next start runs them"],
    [interrupted, "that ran when the service stopped: they have ended as interrupted"],
  ] as const;
  const lines = unended.filter(([count]) => count > 0);
  return (
    `${toTable(tables, COLUMNS)}\n` +
    `Moved to ${to} in ${seconds} s; each row was compared\n` +
    lines.map(([count, what]) => `Executions ${what} (${count})\n`).join("") +
    `Set DATABASE_URL to it, and start the service with the same DATA_DIR, "${config.DATA_DIR}": ` +
    (config.DATA_KEY === null
      ? "the data key and versions of flows stay there\n"
      : "versions of flows stay there; and with the same DATA_KEY\n") +
    `Start no service on "${from}" any more: it is as it was, and what waits would run twice\n`
  );
}
