import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { once } from "node:events";
import { readFileSync, watch } from "node:fs";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { openActivity } from "./access/activity.ts";
import { openAttempts } from "./access/attempts.ts";
import { openAddressReader } from "./access/client-address.ts";
import { openDataKey } from "./access/data-key.ts";
import { fillEmptyStore } from "./access/first-start.ts";
import { openLogins } from "./access/login.ts";
import { openSecretBox, type SecretBox } from "./access/secret-box.ts";
import { openRuntime, removeOldRuntimes, type Runtime } from "./assets/runtime.ts";
import { databaseFile, type Config } from "./config/resolve.ts";
import { Executions } from "./executions/executions.ts";
import { openRetention } from "./executions/retention.ts";
import { operate } from "./executions/operations.ts";
import { recover } from "./executions/recover.ts";
import { openCatalog, type Catalog } from "./flows/catalog.ts";
import type { Log } from "./lib/log.ts";
import { openMeters } from "./lib/meters.ts";
import { identifyRequest } from "./lib/trace.ts";
import type { OperationAnswer } from "./runner/protocol.ts";
import { openRunners, type Runners, type RunnersOptions } from "./runner/runners.ts";
import { createServer, refuseTarget, type House } from "./server.ts";
import { openStore, type Store } from "./store/database.ts";
import { takeLock } from "./store/lock.ts";
import { openLegs } from "./webhooks/legs.ts";

/** A running service. */
export interface Service {
  /** Where it listens, e.g. `http://127.0.0.1:8080`, with the prefix of BASE_URL. */
  readonly url: string;
  readonly store: Store;
  readonly catalog: Catalog;
  readonly default_project_id: string;
  /** Shown once; null unless it was generated at this start. */
  readonly admin_password: string | null;
  /** Lets running executions end within SHUTDOWN_GRACE_SEC, then closes everything. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
  /** FLOWHOOK_ADMIN_PASSWORD, for an empty store. */
  readonly admin_password: string | null;
}

/** READ FIRST. Opens everything in order; `stop` disposes of it in reverse. */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { config, log, admin_password } = options;
  await using opened = new AsyncDisposableStack();
  const runtime = openRuntime(config.DATA_DIR);
  const lock = takeLock(config.DATA_DIR, runtime.addon);
  opened.defer(() => lock.release());
  removeOldRuntimes(config.DATA_DIR);
  const store = opened.use(
    await openStore({
      path: databaseFile(config),
      durability: config.DURABILITY,
      addon: runtime.addon,
      thread: runtime.store_thread,
    }),
  );
  const first = await fillEmptyStore(store, admin_password);
  // The runners report to the executions, which start runs in them.
  const late: { executions?: Executions } = {};
  const secrets = openSecretBox(openDataKey(config.DATA_DIR).derive("secrets"));
  const flows: Flows = opened.use(
    await openFlows({
      config,
      log,
      runtime,
      onLog: (id, lines) => late.executions?.addLog(id, lines),
      onOperation: (request) => {
        const { executions } = late;
        if (executions === undefined) return refuseOperation();
        const findFlow = (name: string) => flows.catalog.find(name);
        return operate({ store, executions, findFlow, secrets }, request);
      },
    }),
  );
  const { runners, catalog } = flows;
  const executions = (late.executions = openExecutionsOf(config, log, store, runners));
  const recovered = await recover({
    store,
    executions,
    findFlow: (name, version) => findVersion(catalog, name, version),
  });
  if (recovered.interrupted + recovered.resumed > 0)
    log.warn(recovered, "Executions of the last run were put in order");
  opened.use(
    openRetention(
      store,
      {
        days: config.RETENTION_DAYS,
        max_executions: config.RETENTION_MAX_EXECUTIONS,
        max_bytes: config.RETENTION_MAX_BYTES,
      },
      log,
    ),
  );
  let is_ready = true;
  const isReady = () => is_ready;
  const rooms = { config, log, store, executions, catalog, runners, secrets, isReady };
  const server = await listen(config, await toHouse({ ...rooms, ...first }));
  const url = urlOf(config, server);
  const disposal = opened.move();
  return {
    url,
    store,
    catalog,
    ...first,
    async stop() {
      is_ready = false;
      await executions.drain(config.SHUTDOWN_GRACE_SEC * 1000);
      await closeServer(server);
      await disposal.disposeAsync();
    },
  };
}

function findVersion(catalog: Catalog, name: string, version: string | null) {
  const flow = catalog.find(name);
  const kept = version === null ? undefined : catalog.findVersion(name, version);
  return kept === undefined ? flow : { spec: kept, timeout_ms: flow?.timeout_ms ?? 300_000 };
}

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
  onLog?: RunnersOptions["onLog"];
  onOperation?: RunnersOptions["onOperation"];
}): Promise<Flows> {
  const { config, log, onLog = () => {}, onOperation = refuseOperation } = options;
  await using opened = new AsyncDisposableStack();
  const late: { catalog?: Catalog } = {};
  const runners = opened.use(
    await openRunners({
      ...toRunnersOptions(config, options.runtime ?? openRuntime(config.DATA_DIR)),
      log,
      onLog,
      onOperation,
      onBroken: (key, message) => late.catalog?.markBroken(key, message),
    }),
  );
  const catalog = (late.catalog = opened.use(await openCatalogOf(config, log, runners)));
  const disposal = opened.move();
  return { runners, catalog, [Symbol.asyncDispose]: () => disposal.disposeAsync() };
}

/** Nothing runs before the service is open. */
async function refuseOperation(): Promise<OperationAnswer> {
  return { ok: false, message: "The service is not ready" };
}

function toRunnersOptions(config: Config, runtime: Runtime) {
  return {
    runner: runtime.runner,
    thread: runtime.thread,
    author: runtime.author,
    readable: runtime.readable,
    worker_threads: config.WORKER_THREADS,
    warm_threads: config.WARM_THREADS,
    cancel_grace_ms: config.CANCEL_GRACE_SEC * 1000,
    runner_memory_mb: config.RUNNER_MEMORY_MB,
    max_output_bytes: config.MAX_OUTPUT_BYTES,
    max_log_lines: config.MAX_LOG_LINES,
  };
}

function openCatalogOf(config: Config, log: Log, runners: Runners): Promise<Catalog> {
  return openCatalog({
    plugins_dir: config.PLUGINS_DIR,
    data_dir: config.DATA_DIR,
    inspect: (spec) => runners.inspect(spec),
    retire: (key) => runners.retire(key),
    allow: { net: config.ALLOW_NET, read: config.ALLOW_READ, write: config.ALLOW_WRITE },
    timeout_ms: config.FLOW_TIMEOUT_SEC * 1000,
    timeout_max_ms: config.FLOW_TIMEOUT_MAX_SEC * 1000,
    memory_mb: config.FLOW_MEMORY_MB,
    log,
  });
}

function openExecutionsOf(config: Config, log: Log, store: Store, runners: Runners): Executions {
  return new Executions({
    store,
    log,
    run: (spec, job) => runners.run(spec, job),
    abort: (id, reason) => runners.abort(id, reason),
    limits: { max_output_bytes: config.MAX_OUTPUT_BYTES, sandboxed: config.RESPONSE_SANDBOX },
    worker_threads: config.WORKER_THREADS,
    flow_max_concurrent: config.FLOW_MAX_CONCURRENT,
    max_queued: config.MAX_QUEUED_EXECUTIONS,
    connection_allowance: config.CONNECTION_ALLOWANCE,
    base_url: config.BASE_URL ?? "http://flowhook",
  });
}

/** How long answers that are under way may take to leave. */
const CLOSE_MS = 2000;

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  const limit = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
  await closed;
  clearTimeout(limit);
}

/** What the doors see: each value from the one place that knows it. */
async function toHouse(rooms: {
  config: Config;
  log: Log;
  store: Store;
  executions: Executions;
  catalog: Catalog;
  runners: Runners;
  secrets: SecretBox;
  default_project_id: string;
  isReady: () => boolean;
}): Promise<House> {
  const { config, store, executions, catalog, runners } = rooms;
  const activity = await openActivity(store);
  const attempts = openAttempts({
    free: 3,
    most: 10,
    most_of_address: 100,
    window_ms: 15 * 60 * 1000,
  });
  const ttl_ms = config.LOGIN_TOKEN_TTL_SEC * 1000;
  return {
    ...rooms,
    activity,
    logins: openLogins({ store, attempts, activity, ttl_ms }),
    legs: openLegs(openDataKey(config.DATA_DIR).derive("legs")),
    addressOf: openAddressReader(config.TRUSTED_PROXIES),
    findFlow: (name) => catalog.find(name),
    permissionsOf: ({ role_id, created_by }) => ({
      role_id,
      acts_for: config.EXECUTION_PERMISSIONS === "creator" ? created_by : null,
    }),
    requireRoom: () => executions.requireRoom(),
    meters: openMeters(),
    runnersStatus: () => runners.status(),
    connection_allowance: config.CONNECTION_ALLOWANCE,
    inactivity_ms: config.DEVELOPMENT_INACTIVITY_SEC * 1000,
    max_body_bytes: config.MAX_BODY_BYTES,
    sync_mode: config.SYNC_MODE,
    response_matrix: config.RESPONSE_MATRIX,
    window_ms: config.WAIT_POLL_WINDOW_SEC * 1000,
    is_cancelling: config.WEBHOOK_CANCEL_ENABLED,
    is_login_redirect: config.LOGIN_REDIRECT,
    is_sandboxed: config.RESPONSE_SANDBOX,
    base_url: config.BASE_URL,
    prefix: prefixOf(config),
  };
}

/** The path of BASE_URL, under which the service serves; empty without one. */
function prefixOf({ BASE_URL }: Config): string {
  return BASE_URL === null ? "" : new URL(BASE_URL).pathname.replace(/\/$/, "");
}

async function listen(config: Config, house: House): Promise<Server> {
  const handle = getRequestListener(createServer(house).fetch, {
    errorHandler: (fault) => {
      house.log.error({ err: fault }, "Cannot answer");
    },
  });
  const server = createSocketServer(config, house.log);
  server.on("request", (incoming, outgoing) => {
    identifyRequest(incoming, outgoing);
    if (!refuseTarget(incoming, outgoing)) void handle(incoming, outgoing);
  });
  server.listen(config.LISTEN_PORT, config.LISTEN_HOST);
  await once(server, "listening");
  return server;
}

/** Slow or silent clients are let go; an idle connection is kept longer than proxies keep it. */
const TIMES = { headersTimeout: 20_000, requestTimeout: 120_000, keepAliveTimeout: 75_000 };

function createSocketServer(config: Config, log: Log): Server {
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key } = config;
  if (!cert || !key) return createHttpServer(TIMES);
  const read = () => ({ cert: readFileSync(cert), key: readFileSync(key) });
  const server = createTlsServer({ ...read(), ...TIMES });
  for (const file of [cert, key])
    watch(file, { persistent: false }, () => {
      try {
        server.setSecureContext(read());
      } catch (fault) {
        log.warn({ fault: String(fault) }, "Cannot take up the changed certificate yet");
      }
    });
  return server;
}

function urlOf(config: Config, server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  const host = family === "IPv6" ? `[${address}]` : address;
  const scheme = config.TLS_CERT_FILE ? "https" : "http";
  return `${scheme}://${host}:${port}${prefixOf(config)}`;
}
