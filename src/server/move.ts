import { Worker } from "node:worker_threads";
import { StartError } from "../shared/errors.ts";
import type { SqliteFile } from "./store/sqlite/connection.ts";

export interface MoveData {
  readonly from: SqliteFile;
  /** URL of the database of PostgreSQL. */
  readonly to: string;
  /** Opens the secrets of both; see access/data-key.ts. */
  readonly secretsKey: Uint8Array;
  /** What the database is told of the data key; see access/key-check.ts. */
  readonly keyCheck: string;
}

/** What is there afterwards. */
export interface Moved {
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
  /** Executions that were in a thread when the service stopped: they have ended. */
  readonly interrupted: number;
  /** Executions that the next start runs. */
  readonly waiting: number;
}

/** What the thread says. */
export type MoveEvent =
  | { readonly line: string }
  | { readonly moved: Moved }
  | { readonly refused: string; readonly exitCode: 1 | 78 };

/**
 * Moves a store of SQLite, which no service uses, into an empty database of PostgreSQL.
 *
 * @param thread entry of the thread that does it
 * @param tell takes lines of how far it is
 * @throws StartError where it cannot be moved: then nothing was
 */
export async function moveStore(
  thread: string,
  data: MoveData,
  tell: (line: string) => void,
): Promise<Moved> {
  const worker = new Worker(thread, { name: "move", workerData: data, env: {}, execArgv: [] });
  const ended = Promise.withResolvers<Moved>();
  worker.on("message", (event: MoveEvent) => {
    if ("line" in event) tell(event.line);
    else if ("moved" in event) ended.resolve(event.moved);
    else ended.reject(new StartError(event.refused, event.exitCode));
  });
  worker.on("error", (error) => ended.reject(error));
  return ended.promise;
}
