import { databaseFile } from "./config/resolve.ts";
import { openRuntime, removeOldRuntimes } from "../assets/runtime.ts";
import { Stripper } from "./flows/stripper.ts";
import { startRunnersOf } from "./runners.ts";
import type { Service, ServiceOptions } from "./service.ts";
import { takeLock } from "./store/sqlite/lock.ts";
import { startWriter } from "./store/sqlite/writer.ts";

/**
 * Starts the service. What takes long elsewhere begins first: the thread that writes the store, the
 * first runner's process, and the thread that takes types out of flows, start while the rest of the
 * program is loaded.
 *
 * @throws StartError where another process has the data folder, or the database
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, log, debug } = options;
  await using opened = new AsyncDisposableStack();
  const runtime = openRuntime(config.DATA_DIR);
  const database = databaseFile(config);
  const lock = takeLock({ dataDir: config.DATA_DIR, database }, runtime.addon);
  opened.defer(() => lock.release());
  removeOldRuntimes(config.DATA_DIR);
  const writer = opened.use(database === null ? null : startWriter(runtime.storeThread));
  const runners = opened.use(await startRunnersOf({ config, log, runtime }, debug));
  const stripper = new Stripper();
  stripper.prepare(config.PLUGINS_DIR);
  const { openService } = await import("./service.ts");
  const begun = { runtime, locks: lock.paths, writer, runners, stripper };
  return openService(options, { ...begun, opened: opened.move() });
}
