import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { correctClock } from "../../../shared/clock.ts";
import { StartError } from "../../../shared/errors.ts";
import { addMoved } from "../execution-key.ts";
import { toUnitError } from "./error.ts";
import { Heartbeat } from "./heartbeat.ts";
import { Holds } from "./holds.ts";
import { Lanes } from "./lanes.ts";
import { listStartable } from "./webhook-states.ts";
import { Membership } from "./membership.ts";
import { Reads } from "./reads.ts";
import { prepareTables, untilFree, warnOfDurability } from "./start.ts";
import type {
  Answer,
  ClockRequest,
  Event,
  HurryRequest,
  NodeAct,
  Request,
  StopRequest,
  ThreadData,
  UnitStatement,
} from "./thread-protocol.ts";
import { commitUnit, sendingOf } from "./units.ts";
import { listenForWaiting, tellWaiting } from "./waiting-hints.ts";
import { Writer } from "./writer.ts";

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
  const writer = new Writer(data, tell);
  const nodeWriter = new Writer(data, tell);
  const membership = new Membership(data);
  const heartbeat = new Heartbeat(data, {
    tell,
    onReached: async (client) => {
      await writer.giveUpDead(client);
      await nodeWriter.giveUpDead(client);
      // What is locked is asked again in a second.
      const others = await membership.countOthers(client).catch(() => null);
      if (others !== null) tell({ others });
    },
    onLost() {
      writer.giveUp();
      nodeWriter.giveUp();
    },
    prepare: (client) =>
      listenForWaiting(client, (node) => {
        if (node !== membership.id) tell({ isWaiting: true });
      }),
  });
  await writer.reach();
  heartbeat.open();
  const tellLine = (line: string): void => tell({ line });
  const opened = await writer.run(async (client) => {
    if (data.durability === "full") await warnOfDurability(client, tellLine);
    const prepare = () => prepareTables(client, tellLine, data.isBeside);
    const { moved } = await untilFree(data, tellLine, prepare);
    const join = () => untilFree(data, tellLine, () => membership.join(client));
    return { moved, joined: data.isBeside ? null : await join() };
  });
  addMoved(opened.moved);
  const parts = {
    writer,
    nodeWriter,
    heartbeat,
    membership,
    reads: new Reads(data),
    lanes: new Lanes(data, membership),
    holds: new Holds(data),
  };
  port.on("message", (request: Request | StopRequest | ClockRequest | HurryRequest) => {
    if ("stop" in request) return parts.reads.stop(request.stop);
    if ("hurry" in request) return parts.lanes.hurry();
    if ("behindMs" in request) return correctClock(request.behindMs);
    respond(request, parts).then(answer, (error: unknown) =>
      answer({ id: request.id, error: toUnitError(error) }),
    );
  });
  tell({ opened });
}

interface Parts {
  readonly writer: Writer;
  /** What a node does for all: it waits for no unit, and no unit for it. */
  readonly nodeWriter: Writer;
  readonly heartbeat: Heartbeat;
  readonly membership: Membership;
  readonly reads: Reads;
  readonly lanes: Lanes;
  readonly holds: Holds;
}

async function respond(request: Request, parts: Parts): Promise<Answer> {
  const { id } = request;
  const { writer, heartbeat, reads, lanes, holds } = parts;
  if ("query" in request) return { id, rows: await reads.query(request.query) };
  if ("list" in request) return { id, rows: await reads.list(id, request.list) };
  if ("unit" in request) return { id, changes: await commit(writer, request.unit) };
  if ("records" in request) return { id, ...(await lanes.write(request.lane, request.records)) };
  if ("hold" in request)
    return { id, isHeld: await holds.take(id, request.hold, request.isWaited) };
  if ("release" in request) return { id, isHeld: await holds.release(request.release) };
  if (!("close" in request)) return respondAsNode(request, parts);
  await Promise.all([lanes.close(), reads.close(), holds.close()]);
  await Promise.all([writer.close(), parts.nodeWriter.close()]);
  // Until then it is what tells that a writer's connection is dead.
  await heartbeat.close();
  return { id, closed: true };
}

function commit(writer: Writer, unit: readonly UnitStatement[]): Promise<readonly number[]> {
  return writer.run((client) => commitUnit(client, unit), sendingOf(unit));
}

function respondAsNode(
  request: NodeAct & { readonly id: number },
  { nodeWriter, heartbeat, membership }: Parts,
): Promise<Answer> {
  const { id } = request;
  // What takes long ends no lease.
  const connection = "renew" in request || "rejoin" in request ? heartbeat : nodeWriter;
  return connection.run(async (client) => {
    if ("renew" in request) return { id, renewed: await membership.renew(client, request.renew) };
    if ("sweep" in request) return { id, swept: await membership.sweep(client) };
    if ("tellAwaited" in request) {
      await membership.tellAwaited(client, request.tellAwaited, request.left);
      return { id, told: true };
    }
    if ("tellWaiting" in request) {
      await tellWaiting(client, membership.id);
      return { id, told: true };
    }
    if ("isAwaited" in request)
      return { id, isAwaited: await membership.isAwaited(client, request.isAwaited) };
    if ("listLost" in request)
      return { id, names: await membership.listLost(client, request.listLost) };
    if ("listWaiting" in request) return { id, names: await membership.listWaiting(client) };
    if ("endUnserved" in request)
      return { id, ended: await membership.endUnserved(client, request.endUnserved) };
    if ("take" in request) return { id, taken: await membership.take(client, request.take) };
    if ("listStartable" in request)
      return { id, startable: await listStartable(client, request.listStartable) };
    if ("rejoin" in request) return { id, joined: await membership.join(client) };
    return { id, left: await membership.leave(client) };
  });
}

serve().catch((error: unknown) => {
  const isKnown = error instanceof StartError;
  tell({
    refused: isKnown ? error.message : `Cannot open the database: ${toUnitError(error).message}`,
    exitCode: isKnown ? error.exitCode : 1,
  });
});
