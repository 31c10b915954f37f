import { openDataKey } from "../access/data-key.ts";
import { prepareFirstStart } from "../access/first-start.ts";
import { listUnreadable, openSecretBox, type SecretBox } from "../access/secret-box.ts";
import { openRuntime, removeOldRuntimes, type Runtime } from "../assets/runtime.ts";
import { databaseFile, type Config } from "../config/resolve.ts";
import { Executions } from "../executions/executions.ts";
import { Retention } from "../executions/retention.ts";
import { operate } from "../executions/operations.ts";
import { StartedFile } from "../executions/started-file.ts";
import { recover } from "../executions/recover.ts";
import { type Catalog } from "../flows/catalog.ts";
import type { Log } from "../lib/log.ts";
import { type Runners } from "../runner/runners.ts";
import { openStore, type Store } from "../store/database.ts";
import { takeLock } from "../store/lock.ts";
import { allSecrets } from "../store/workspace.ts";
import { openFlows, refuseOperation, type Flows } from "./flows.ts";
import { toHouse } from "./house.ts";
import { closeServer, listen, urlOf } from "./listener.ts";
import { openParser, type Parser } from "./parser.ts";

/** A running service. */
export interface Service {
  /** Where it listens, e.g. `http://127.0.0.1:8080`, with the prefix of BASE_URL. */
  readonly url: string;
  readonly store: Store;
  readonly catalog: Catalog;
  readonly default_project_id: string;
  /** Null unless it was generated at this start. */
  readonly admin_password: string | null;
  /** How many executions are in a thread now. */
  running(): number;
  /**
   * Lets running executions end within SHUTDOWN_GRACE_SEC, then closes everything.
   *
   * @param hurried resolves when whoever stops it will not wait for them any longer
   */
  stop(hurried: Promise<void>): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
  /** FLOWHOOK_ADMIN_PASSWORD, for an empty store. */
  readonly admin_password: string | null;
  /** Shows a generated password. It becomes valid after this, and is never told again. */
  showPassword(service: Pick<Service, "url" | "catalog" | "admin_password">): Promise<void>;
}

/** READ FIRST. Opens everything in order; `stop` disposes of it in reverse. */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { config, log } = options;
  await using opened = new AsyncDisposableStack();
  const runtime = openRuntime(config.DATA_DIR);
  const lock = takeLock(config.DATA_DIR, runtime.addon);
  opened.defer(() => lock.release());
  removeOldRuntimes(config.DATA_DIR);
  const store = opened.use(await openStoreOf(config, runtime, log));
  const first = await prepareFirstStart(store, options.admin_password);
  const { default_project_id, admin_password } = first;
  const secrets = openSecretBox(openDataKey(config.DATA_DIR).derive("secrets"));
  await warnOfUnreadable(config, log, store, secrets);
  const parser = openParser(
    () => openRuntime(config.DATA_DIR).parser_thread,
    config.MAX_BODY_BYTES,
  );
  // The runners report to the executions, which start runs in them.
  const late: { executions?: Executions } = {};
  const flows = opened.use(
    await openFlowsOf({ config, log, runtime, store, secrets, parser, late }),
  );
  const { runners, catalog } = flows;
  const started = new StartedFile(config.DATA_DIR);
  opened.defer(() => started.close());
  const executions = (late.executions = openExecutionsOf({
    config,
    log,
    store,
    runners,
    parser,
    started,
  }));
  await putInOrder({ store, executions, started, catalog, log });
  opened.use(openRetentionOf(config, store, log));
  let is_ready = false;
  const isReady = () => is_ready;
  const rooms = { config, log, store, executions, catalog, runners, secrets, parser, isReady };
  const server = await listen(config, await toHouse({ ...rooms, default_project_id }));
  opened.defer(() => closeServer(server));
  async function stop(hurried: Promise<void>): Promise<void> {
    is_ready = false;
    const drained = executions.drain(config.SHUTDOWN_GRACE_SEC * 1000);
    await Promise.race([drained, hurried.then(() => executions.drain(0))]);
    await disposal.disposeAsync();
  }
  const url = urlOf(config, server);
  const running = () => executions.counts().running;
  const service = { url, store, catalog, default_project_id, admin_password, running, stop };
  // The store is filled last: a start that fails, for whatever reason, leaves it empty.
  if (admin_password !== null) await options.showPassword(service);
  await first.commit();
  is_ready = true;
  const disposal = opened.move();
  return service;
}

/** A database that was restored without its key. */
async function warnOfUnreadable(
  config: Config,
  log: Log,
  store: Store,
  box: SecretBox,
): Promise<void> {
  const secrets = listUnreadable(box, await allSecrets(store));
  if (secrets.length === 0) return;
  const what = secrets.length === 1 ? "1 secret was" : `${secrets.length} secrets were`;
  log.warn(
    { secrets: secrets.slice(0, 20) },
    `${what} encrypted with another key: put secret.key back into "${config.DATA_DIR}", and start ` +
      `again`,
  );
}

/** What runs in the runners reports to the executions, once there are some. */
async function openFlowsOf(rooms: {
  config: Config;
  log: Log;
  runtime: Runtime;
  store: Store;
  secrets: SecretBox;
  parser: Parser;
  late: { executions?: Executions };
}): Promise<Flows> {
  const { config, store, secrets, late } = rooms;
  const { checkLarge } = rooms.parser;
  const limits = {
    max_input_bytes: config.MAX_BODY_BYTES,
    max_child_depth: config.MAX_CHILD_DEPTH,
    max_children: config.MAX_CHILDREN,
  };
  const flows: Flows = await openFlows({
    ...rooms,
    onLog: (id, lines) => late.executions?.addLog(id, lines),
    onOperation: (request) => {
      const { executions } = late;
      if (executions === undefined) return refuseOperation();
      const findFlow = (name: string) => flows.catalog.find(name);
      return operate({ store, executions, findFlow, secrets, limits, checkLarge }, request);
    },
  });
  return flows;
}

function openStoreOf(config: Config, runtime: Runtime, log: Log): Promise<Store> {
  return openStore({
    path: databaseFile(config),
    durability: config.DURABILITY,
    addon: runtime.addon,
    thread: runtime.store_thread,
    tell: (line) => log.info(line),
  });
}

/** What the last stop, or a crash, left unended. */
async function putInOrder(rooms: {
  store: Store;
  executions: Executions;
  started: StartedFile;
  catalog: Catalog;
  log: Log;
}): Promise<void> {
  const { catalog, log } = rooms;
  const recovered = await recover({
    ...rooms,
    findFlow: (name, version) => findVersion(catalog, name, version),
  });
  if (recovered.interrupted + recovered.resumed > 0)
    log.warn(recovered, "Executions of the last run were put in order");
}

function openRetentionOf(config: Config, store: Store, log: Log): Retention {
  const limits = {
    days: config.RETENTION_DAYS,
    max_executions: config.RETENTION_MAX_EXECUTIONS,
    max_bytes: config.RETENTION_MAX_BYTES,
  };
  return new Retention(store, limits, log);
}

function findVersion(catalog: Catalog, name: string, version: string | null) {
  const flow = catalog.find(name);
  const kept = version === null ? undefined : catalog.findVersion(name, version);
  return kept === undefined ? flow : { spec: kept, timeout_ms: flow?.timeout_ms ?? 300_000 };
}

function openExecutionsOf(rooms: {
  config: Config;
  log: Log;
  store: Store;
  runners: Runners;
  parser: Parser;
  started: StartedFile;
}): Executions {
  const { config, runners, parser } = rooms;
  return new Executions({
    ...rooms,
    run: (spec, job, is_ahead) => runners.run(spec, job, is_ahead),
    abort: (id, reason) => runners.abort(id, reason),
    limits: { max_output_bytes: config.MAX_OUTPUT_BYTES, sandboxed: config.RESPONSE_SANDBOX },
    judgeLarge: parser.judgeLarge,
    worker_threads: config.WORKER_THREADS,
    flow_max_concurrent: config.FLOW_MAX_CONCURRENT,
    max_queued: config.MAX_QUEUED_EXECUTIONS,
    connection_allowance: config.CONNECTION_ALLOWANCE,
    base_url: config.BASE_URL ?? "http://flowhook",
  });
}
