import { VERSION } from "../assets/read.ts";
import { readCertificate } from "../server/config/certificate.ts";
import { openDataFolder } from "../server/config/data-folder.ts";
import { checkFirstPassword } from "../server/config/first-password.ts";
import type { Loaded } from "../server/config/load.ts";
import { databaseFile, nodeName, showDatabase, type Config } from "../server/config/resolve.ts";
import { warnOfPlugins } from "../server/config/plugins-folder.ts";
import { explainUnwritable } from "../server/config/unwritable.ts";
import { StartError } from "../shared/errors.ts";
import { openLog } from "../shared/log.ts";
import { isInside, toRealPath } from "../shared/path.ts";
import { RUNTIME } from "../shared/runtime-name.ts";
import { warnOfFiles } from "../server/http/connections.ts";
import type { Service, ServiceOptions } from "../server/service.ts";
import { mostOpenFiles } from "../server/workers/process-figures.ts";
import { startService } from "../server/start.ts";
import { isPassing } from "../server/store/store-error.ts";
import { logStrayErrors } from "../server/stray-errors.ts";
import { readConfiguration } from "./configuration.ts";
import { CommandError } from "./command-error.ts";
import { toListenError } from "./listening.ts";
import { watchStopSignals } from "./stop-signals.ts";
import { welcome } from "./welcome.ts";

/** Runs the service until SIGTERM, SIGINT or its terminal is closed; a second one cuts the grace of what runs short. */
export async function serve(options: { config?: string; demo?: true }): Promise<void> {
  const loaded = readConfiguration(options);
  const { config, credentials } = loaded;
  const log = openLog({
    level: config.LOG_LEVEL,
    format: config.LOG_FORMAT,
    node: sharedName(config),
  });
  logStrayErrors(log);
  const demo = options.demo === true ? await import("./demo.ts") : null;
  // Before the data folder is opened: who writes flows may be another user.
  const isWritten = demo?.writeExamples(config.PLUGINS_DIR);
  const warnings = [
    ...loaded.warnings,
    ...warnOfPlugins(config),
    ...warnOfFiles(mostOpenFiles(process.pid)),
  ];
  for (const warning of warnings) log.warn(warning);
  readCertificate(config, loaded.placeOf);
  checkFirstPassword(config, credentials.adminPassword);
  for (const warning of openDataFolder(loaded)) log.warn(warning);
  const signals = watchStopSignals(log, config);
  const service = await open(signals.stopping, {
    config,
    configuration: loaded,
    log,
    adminPassword: credentials.adminPassword,
    showPassword: (started) => welcome(started, config),
  });
  if (service === null) return log.info("Stopped");
  signals.service = service;
  log.info(describeService(loaded, service.url), `Listening on ${service.url}`);
  const isGiven = loaded.values.some(({ key }) => key === "ADMIN_PASSWORD");
  if (service.isFilled && isGiven) log.info(UNUSED_PASSWORD);
  // Whose terminal is closed meanwhile is not greeted; the signal of it ends the service.
  if (service.adminPassword === null) await welcome(service, config).catch(() => {});
  if (demo !== null) {
    const webhooks = await demo.fillDemo(service);
    if (isWritten === false)
      process.stdout.write(demo.describeUnwritten(config.PLUGINS_DIR, webhooks));
    process.stdout.write(demo.describeDemo(service.url, webhooks));
  }
  await signals.first;
  await service.stop(signals.second);
  log.info("Stopped");
}

const UNUSED_PASSWORD =
  "FLOWHOOK_ADMIN_PASSWORD is not used: it is for the first start, and there are users already. " +
  "A password is changed in the user interface, or with: flowhook user password NAME";

/** Of the node that the service is; null where it has its store alone. */
function sharedName(config: Config): string | null {
  return databaseFile(config) === null ? nodeName(config) : null;
}

/** What an operator asks first. */
function describeService({ config, file }: Loaded, url: string) {
  const { DATA_DIR, PLUGINS_DIR } = config;
  return {
    url,
    version: VERSION,
    runtime: RUNTIME,
    configuration: file,
    DATA_DIR,
    PLUGINS_DIR,
    DATABASE_URL: showDatabase(config),
  };
}

/** @returns null where it is to stop before it is there */
async function open(stopping: AbortSignal, options: ServiceOptions): Promise<Service | null> {
  try {
    return await startService({ ...options, stopping });
  } catch (error) {
    if (stopping.aborted && error === stopping.reason) return null;
    if (error instanceof StartError) throw new CommandError(error.message, error.exitCode);
    if (isClosed(error)) throw toDataFailure(error, options.config);
    if (isPassing(error)) throw toStoreFailure(error as Error, options.config);
    throw toListenError(error, options.config) ?? error;
  }
}

function isClosed(error: unknown): error is Error & { path: string } {
  const { code, path } = error as NodeJS.ErrnoException;
  return (code === "EACCES" || code === "EPERM") && path !== undefined;
}

/** Root may have left something deep in the folder, where a start does not look first. */
function toDataFailure(error: Error & { path: string }, { DATA_DIR }: Config): Error {
  if (!isInside(toRealPath(DATA_DIR), toRealPath(error.path))) return error;
  return new CommandError(explainUnwritable("DATA_DIR", DATA_DIR, error, error.path), 78);
}

/** The store was there, and then not any more, or not for as many connections. */
function toStoreFailure({ message }: Error, config: Config): CommandError {
  const most = `Each service has up to ${config.DATABASE_CONNECTIONS} connections (DATABASE_CONNECTIONS), and four more of its own`;
  const advice = databaseFile(config) === null ? most : "Look at its disk";
  return new CommandError(
    `Cannot use the database "${showDatabase(config)}": ${message}. ${advice}`,
  );
}
