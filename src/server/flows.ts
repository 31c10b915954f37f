import type { DataKey } from "./access/data-key.ts";
import { openFlowSeal } from "./access/flow-seal.ts";
import { openRuntime, type Runtime } from "../assets/runtime.ts";
import { type Config } from "./config/resolve.ts";
import { openCatalog, type Catalog } from "./flows/catalog.ts";
import type { Offers } from "./flows/offers.ts";
import type { Log } from "../shared/log.ts";
import type { DebuggedFlow } from "./workers/debugged-flow.ts";
import type { Runners } from "./workers/runners.ts";
import { openRunners } from "./workers/supervisor.ts";
import type { Store } from "./store/store.ts";

/** The flows and the runners that load them: what serving and checking have in common. */
export interface Flows {
  readonly runners: Runners;
  readonly catalog: Catalog;
  [Symbol.asyncDispose](): Promise<void>;
}

interface SharedPlace {
  readonly store: Store;
  readonly dataKey: DataKey;
}

export async function openFlows(options: {
  config: Config;
  log: Log;
  runtime?: Runtime;
  debug?: DebuggedFlow | undefined;
  /** Of a service: what nodes offer each other is in its store, and sealed with its key. */
  shared?: SharedPlace;
}): Promise<Flows> {
  const { config, log, shared } = options;
  await using opened = new AsyncDisposableStack();
  const runners = opened.use(
    await openRunners({
      ...toRunnersOptions(config, options.runtime ?? openRuntime(config.DATA_DIR)),
      log,
      ...(options.debug && { debug: options.debug }),
    }),
  );
  const offers = shared && (await openOffersOf(config, log, shared));
  const catalog = opened.use(await openCatalogOf(config, log, runners, offers));
  runners.connect(catalog);
  const disposal = opened.move();
  return { runners, catalog, [Symbol.asyncDispose]: () => disposal.disposeAsync() };
}

function toRunnersOptions(config: Config, runtime: Runtime) {
  return {
    runner: runtime.runner,
    thread: runtime.thread,
    author: runtime.author,
    readable: runtime.readable,
    sockets: config.DATA_DIR,
    verifyProgram: () => runtime.verify(),
    runnerMemoryMb: config.RUNNER_MEMORY_MB,
    limits: {
      max_output_bytes: config.MAX_OUTPUT_BYTES,
      max_input_bytes: config.MAX_BODY_BYTES,
      max_log_lines: config.MAX_LOG_LINES,
    },
  };
}

/** A store without nodes has none. */
async function openOffersOf(
  config: Config,
  log: Log,
  { store, dataKey }: SharedPlace,
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

function openCatalogOf(
  config: Config,
  log: Log,
  runners: Runners,
  offers: Offers | undefined,
): Promise<Catalog> {
  return openCatalog({
    ...(offers && { offers }),
    plugins_dir: config.PLUGINS_DIR,
    dataDir: config.DATA_DIR,
    inspect: (spec) => runners.inspect(spec),
    retire: (key) => runners.retire(key),
    allow: { net: config.ALLOW_NET, read: config.ALLOW_READ, write: config.ALLOW_WRITE },
    timeoutMs: config.FLOW_TIMEOUT_SEC * 1000,
    timeoutMaxMs: config.FLOW_TIMEOUT_MAX_SEC * 1000,
    memory_mb: config.FLOW_MEMORY_MB,
    log,
  });
}
