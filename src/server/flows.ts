import { openRuntime, type Runtime } from "../assets/runtime.ts";
import { type Config } from "./config/resolve.ts";
import { openCatalog, type Catalog } from "./flows/catalog.ts";
import type { Log } from "../shared/log.ts";
import type { DebuggedFlow } from "./workers/debugged-flow.ts";
import type { Runners } from "./workers/runners.ts";
import { openRunners } from "./workers/supervisor.ts";

/** The flows and the runners that load them: what serving and checking have in common. */
export interface Flows {
  readonly runners: Runners;
  readonly catalog: Catalog;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openFlows(options: {
  config: Config;
  log: Log;
  runtime?: Runtime;
  debug?: DebuggedFlow | undefined;
}): Promise<Flows> {
  const { config, log } = options;
  await using opened = new AsyncDisposableStack();
  const runners = opened.use(
    await openRunners({
      ...toRunnersOptions(config, options.runtime ?? openRuntime(config.DATA_DIR)),
      log,
      ...(options.debug && { debug: options.debug }),
    }),
  );
  const catalog = opened.use(await openCatalogOf(config, log, runners));
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

function openCatalogOf(config: Config, log: Log, runners: Runners): Promise<Catalog> {
  return openCatalog({
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
