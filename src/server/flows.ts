import type { DataKey } from "./access/data-key.ts";
import { openFlowSeal } from "./access/flow-seal.ts";
import { toMs, type Config } from "./config/resolve.ts";
import { openCatalog, type Catalog } from "./flows/catalog.ts";
import type { Stripper } from "./flows/stripper.ts";
import type { Offers } from "./flows/offers.ts";
import type { Log } from "../shared/log.ts";
import type { Supervisor } from "./workers/supervisor.ts";
import { startRunnersOf, type RunnersParts } from "./runners.ts";
import type { Store } from "./store/store.ts";
import { listUnendedVersions } from "./store/unended.ts";

/** The flows and the runners that load them, for what looks at flows and does not serve. */
export interface Flows {
  readonly runners: Supervisor;
  readonly catalog: Catalog;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openFlows(options: RunnersParts): Promise<Flows> {
  await using opened = new AsyncDisposableStack();
  const runners = opened.use(await startRunnersOf(options));
  const catalog = opened.use(await openCatalogOf(options, runners, null));
  await runners.ready();
  const disposal = opened.move();
  return { runners, catalog, [Symbol.asyncDispose]: () => disposal.disposeAsync() };
}

/** Where nodes offer each other their flows, sealed with the key, and what waits for which. */
interface ServicePlace {
  readonly store: Store;
  readonly dataKey: DataKey;
}

/** @param place of a service; null without one */
export async function openCatalogOf(
  { config, log }: Pick<RunnersParts, "config" | "log">,
  runners: Supervisor,
  place: ServicePlace | null,
  stripper?: Stripper,
): Promise<Catalog> {
  const offers = place && (await openOffersOf(config, log, place));
  const pinned = new Set(place && (await listUnendedVersions(place.store)));
  const catalog = await openCatalog({
    ...(offers && { offers }),
    isPinned: (key) => pinned.has(key),
    ...(stripper && { stripper }),
    plugins_dir: config.PLUGINS_DIR,
    dataDir: config.DATA_DIR,
    inspect: (spec) => runners.inspect(spec),
    retire: (key) => runners.retire(key),
    retireAll: () => runners.retireAll(),
    allow: { net: config.ALLOW_NET, read: config.ALLOW_READ, write: config.ALLOW_WRITE },
    timeoutMs: toMs(config.FLOW_TIMEOUT_SEC),
    timeoutMaxMs: toMs(config.FLOW_TIMEOUT_MAX_SEC),
    memory_mb: config.FLOW_MEMORY_MB,
    log,
  });
  runners.connect(catalog);
  return catalog;
}

/** A store without nodes has none. */
async function openOffersOf(
  config: Config,
  log: Log,
  { store, dataKey }: ServicePlace,
): Promise<Offers | undefined> {
  const { node } = store;
  if (node === null) return undefined;
  // Not loaded where it is not used.
  const { Offers } = await import("./flows/offers.ts");
  return Offers.open({
    store,
    nodeId: () => node.id,
    seal: openFlowSeal(dataKey.derive("flows")),
    isBorrowing: config.FLOWS_SHARED,
    log,
  });
}
