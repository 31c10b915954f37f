import { VERSION } from "../assets/read.ts";
import type { Runtime } from "../assets/runtime.ts";
import { requireUrlFiles } from "./config/database-url.ts";
import { databaseFile, nodeName, toMs, type Config } from "./config/resolve.ts";
import type { ReportInterrupted } from "./store/interrupted.ts";
import { takeLock } from "./store/sqlite/lock.ts";
import { openSqliteStore } from "./store/sqlite/store.ts";
import type { Writer } from "./store/sqlite/writer.ts";
import type { Store } from "./store/store.ts";

export interface StoreOptions {
  /** Of SQLite, where its thread was started before. */
  readonly writer?: Writer;
  /** Of SQLite: files that keep other services out, as long as they are there. */
  readonly locks?: readonly string[];
  /** The service may have it open too. */
  readonly isBeside?: boolean;
  /** Of SQLite. Nothing is to be written: tables of an earlier version are refused. */
  readonly isReading?: boolean;
  /** Something is wrong with it. @param isLost nothing can be written any more */
  readonly onDamage?: (error: Error, isLost: boolean) => void;
  /** Of SQLite. @param error why nothing can be recorded from now on; null: it can be again */
  readonly onRoom?: (error: Error | null) => void;
  /** Of SQLite. @param error why lists lack what is recorded from now on; null: they get it again */
  readonly onFailing?: (error: Error | null) => void;
  /** Of SQLite. @param error why nothing is taken from now on: its files are gone; null: they are back */
  readonly onLost?: (error: Error | null) => void;
  /** Of PostgreSQL. @param reason why it cannot be reached from now on, each once; null: it can again */
  readonly onAway?: (reason: string | null) => void;
  /** Of PostgreSQL, which is reached. @param reason why nothing can be recorded; null: it can again */
  readonly onUnrecorded?: (reason: string | null) => void;
  /** Of PostgreSQL: of what this service has left running, at its last start or its stop. */
  readonly reportInterrupted?: ReportInterrupted;
  /** Aborted once nobody wants it any more, while it is waited for or brought up to date. */
  readonly stopping?: AbortSignal;
  /** Takes a line of what a start that takes long is doing. */
  readonly tell?: (line: string) => void;
  /** Of SQLite. Takes a line of what was found and somebody should know. */
  readonly warn?: (line: string) => void;
}

/** The store that DATABASE_URL names. @throws StartError @throws ConfigError */
export async function openStore(
  config: Config,
  runtime: Runtime,
  options: StoreOptions,
): Promise<Store> {
  const path = databaseFile(config);
  const durability = config.DURABILITY;
  if (path !== null) {
    const { addon, storeThread } = runtime;
    return openSqliteStore({
      ...options,
      path,
      durability,
      addon,
      thread: storeThread,
      ...(options.isBeside && {
        takeLock: () => takeLock({ dataDir: config.DATA_DIR, database: path }, addon),
      }),
    });
  }
  requireUrlFiles(config, "DATABASE_URL");
  // Not loaded where it is not used.
  const { openPostgresStore } = await import("./store/postgres/store.ts");
  const { identifyFolder } = await import("./store/postgres/folder-id.ts");
  const name = nodeName(config);
  const leaseMs = toMs(config.NODE_LEASE_SEC);
  const folder = options.isBeside ? NO_FOLDER : identifyFolder(config.DATA_DIR);
  return openPostgresStore({
    ...options,
    url: config.DATABASE_URL,
    durability,
    connections: config.DATABASE_CONNECTIONS,
    allowance: config.CONNECTION_ALLOWANCE,
    thread: runtime.postgresThread,
    name: `flowhook ${name} ${process.pid}`,
    node: { name, version: VERSION, leaseMs, ...folder },
  });
}

/** Of who is no node. */
const NO_FOLDER = { folderId: "", folderPlace: "" };
