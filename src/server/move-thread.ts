import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { StartError } from "../shared/errors.ts";
import { listUnreadable, openSecretBox } from "./access/secret-box.ts";
import type { Moved, MoveData, MoveEvent } from "./move.ts";
import { openMoveTarget } from "./store/postgres/move-target.ts";
import type { MoveSource } from "./store/move-source.ts";
import { openMoveSource } from "./store/sqlite/move-source.ts";

/** Entry of the thread that moves a store: the program loads nothing of PostgreSQL by itself. */

async function move({ from, to, secretsKey, keyCheck }: MoveData): Promise<Moved> {
  // First, because the source may take minutes.
  await using target = await openMoveTarget({ url: to, name: "flowhook move" }, tell);
  using source = await openMoveSource(from, tell);
  requireReadable(source, Buffer.from(secretsKey));
  await target.fill(source, keyCheck);
  const { tables, interrupted, waiting } = source;
  return {
    tables: tables.map(({ name, count }) => ({ table: name, rows: count })),
    interrupted,
    waiting,
  };
}

/** @throws StartError where secrets would stay closed */
function requireReadable({ secrets }: MoveSource, key: Buffer): void {
  const closed = listUnreadable(openSecretBox(key), secrets);
  if (closed.length === 0) return;
  throw new StartError(
    `The data key does not open ${closed.length} of ${secrets.length} secrets: ` +
      `${closed.slice(0, 5).join(", ")}. Put the right one back, or delete these secrets first`,
    78,
  );
}

function tell(line: string): void {
  post({ line });
}

function post(event: MoveEvent): void {
  (parentPort as MessagePort).postMessage(event);
}

move(workerData as MoveData).then(
  (moved) => post({ moved }),
  (error: unknown) => {
    if (error instanceof StartError) post({ refused: error.message, exitCode: error.exitCode });
    else post({ refused: `Cannot move: ${(error as Error).message}`, exitCode: 1 });
  },
);
