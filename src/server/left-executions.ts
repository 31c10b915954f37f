import type { Log } from "../shared/log.ts";
import type { Config } from "./config/resolve.ts";
import type { Executions } from "./executions/executions.ts";
import { Pickup, type PickupOptions, type Serving } from "./executions/pickup.ts";
import type { ReportInterrupted } from "./store/interrupted.ts";
import { recover } from "./executions/recover.ts";
import type { Catalog } from "./flows/catalog.ts";
import type { Lease } from "./nodes/lease.ts";
import type { Store } from "./store/store.ts";
import { listLimited } from "./store/webhooks.ts";

interface Unended {
  readonly store: Store;
  readonly lease: Lease | null;
  readonly executions: Executions;
  readonly catalog: Catalog;
  readonly config: Pick<Config, "FLOWS_SHARED">;
  readonly log: Log;
  readonly reportInterrupted: ReportInterrupted;
}

/** What the last stop, or a crash, left unended; of several nodes, what others leave. */
export async function putInOrder(parts: Unended, opened: AsyncDisposableStack): Promise<void> {
  await queueLeft(parts, opened);
  // What waits is known now, and need not be read.
  parts.catalog.pin((key) => parts.executions.hasVersion(key));
}

async function queueLeft(parts: Unended, opened: AsyncDisposableStack): Promise<void> {
  const { store, executions, catalog, log } = parts;
  const findFlow = (name: string, version: string | null) => findVersion(catalog, name, version);
  for (const webhook of await listLimited(store)) executions.queues.limit(webhook);
  const { node } = store;
  const findServing = (name: string) => toServing(catalog, name, parts.config.FLOWS_SHARED);
  if (node !== null) return takePart({ ...parts, node, findFlow, findServing }, opened);
  const recovered = await recover({ ...parts, findFlow });
  if (recovered.interrupted + recovered.resumed > 0)
    log.warn(recovered, "Executions of the last run were put in order");
}

/** As a node among others. */
function takePart(
  parts: Unended & Pick<PickupOptions, "node" | "findFlow" | "findServing">,
  opened: AsyncDisposableStack,
): void {
  const { lease, executions } = parts;
  lease?.serve({
    figures: () => ({
      state: executions.isDraining ? "draining" : "ready",
      ...executions.counts(),
    }),
    onGivenUp: () => executions.share.leaveAll(),
  });
  opened.use(new Pickup(parts));
}

/** Of a flow that is broken here the newest version is among those that cannot run here. */
function toServing(catalog: Catalog, name: string, isBorrowing: boolean): Serving | null {
  const { version = null, state } = catalog.find(name) ?? {};
  if (version === null) return null;
  return {
    version,
    isFetching: isBorrowing && state === "ready",
    broken: catalog.listBroken(name),
  };
}

async function findVersion(catalog: Catalog, name: string, version: string | null) {
  const flow = catalog.find(name);
  const kept = version === null ? undefined : await catalog.findVersion(name, version);
  return kept === undefined ? flow : { spec: kept, timeoutMs: flow?.timeoutMs ?? 300_000 };
}
