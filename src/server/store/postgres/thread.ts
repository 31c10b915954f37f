import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { StartError } from "../../../shared/errors.ts";
import { addMoved } from "../execution-key.ts";
import { toUnitError } from "./error.ts";
import { Guard } from "./guard.ts";
import { Holds } from "./holds.ts";
import { Lanes } from "./lanes.ts";
import { Reads } from "./reads.ts";
import { prepareTables } from "./start.ts";
import type { Answer, Event, Request, StopRequest, ThreadData } from "./thread-protocol.ts";
import { commitUnit } from "./units.ts";

/** Entry of the store's thread: whatever is said to PostgreSQL costs the HTTP loop nothing. */

const data = workerData as ThreadData;
const port = parentPort as MessagePort;

function tell(event: Event): void {
  port.postMessage(event);
}

function answer(message: Answer): void {
  port.postMessage(message);
}

async function serve(): Promise<void> {
  const guard = new Guard(data, tell);
  const opened = await guard.open((client) => prepareTables(client, (line) => tell({ line })));
  addMoved(opened.moved);
  const reads = new Reads(data);
  const lanes = new Lanes(data, guard);
  const holds = new Holds(data);
  port.on("message", (request: Request | StopRequest) => {
    if ("stop" in request) return reads.stop(request.stop);
    respond(request, { guard, reads, lanes, holds }).then(answer, (error: unknown) =>
      answer({ id: request.id, error: toUnitError(error) }),
    );
  });
  tell({ opened });
}

interface Parts {
  readonly guard: Guard;
  readonly reads: Reads;
  readonly lanes: Lanes;
  readonly holds: Holds;
}

async function respond(request: Request, parts: Parts): Promise<Answer> {
  const { id } = request;
  const { guard, reads, lanes, holds } = parts;
  if ("query" in request) return { id, rows: await reads.query(request.query) };
  if ("list" in request) return { id, rows: await reads.list(id, request.list) };
  if ("unit" in request)
    return { id, changes: await guard.run((client) => commitUnit(client, request.unit)) };
  if ("records" in request) return { id, errors: await lanes.write(request.lane, request.records) };
  if ("hold" in request)
    return { id, isHeld: await holds.take(id, request.hold, request.isWaited) };
  if ("release" in request) return { id, isHeld: await holds.release(request.release) };
  await Promise.all([lanes.close(), reads.close(), holds.close()]);
  await guard.close();
  return { id, closed: true };
}

serve().catch((error: unknown) => {
  const isKnown = error instanceof StartError;
  tell({
    refused: isKnown ? error.message : `Cannot open the database: ${toUnitError(error).message}`,
    exitCode: isKnown ? error.exitCode : 1,
  });
});
