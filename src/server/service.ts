import { setTimeout as wait } from "node:timers/promises";
import { nameOfKey } from "./access/data-key.ts";
import { prepareFirstStart, takeFirstStart } from "./access/first-start.ts";
import { openCheckedKey } from "./access/key-check.ts";
import { listUnreadable, openSecretBox, type SecretBox } from "./access/secret-box.ts";
import { VERSION } from "../assets/read.ts";
import type { Runtime } from "../assets/runtime.ts";
import { toMs, type Config } from "./config/resolve.ts";
import { openAllowance, type Allowance } from "./executions/allowance.ts";
import { Executions } from "./executions/executions.ts";
import { Retention } from "./executions/retention.ts";
import { openInterruptionReport } from "./executions/interruption-report.ts";
import type { ReportInterrupted } from "./store/interrupted.ts";
import { openEndingReport, type ReportEnding } from "./executions/ending-report.ts";
import type { Onlooker } from "./executions/onlooker.ts";
import { Operations } from "./executions/operations.ts";
import { type Catalog } from "./flows/catalog.ts";
import type { Log } from "../shared/log.ts";
import type { Supervisor } from "./workers/supervisor.ts";
import { Lease } from "./nodes/lease.ts";
import { openStore } from "./open-store.ts";
import { NEVER, unlessAborted } from "../shared/stopping.ts";
import { logStore } from "./store-log.ts";
import type { Store } from "./store/store.ts";
import { findLatestFlow } from "./store/executions.ts";
import type { Writer } from "./store/sqlite/writer.ts";
import { allSecrets } from "./store/workspace.ts";
import { openMeters, type Meters } from "./metrics/meters.ts";
import { connect } from "./connect.ts";
import { openCatalogOf } from "./flows.ts";
import { listen } from "./http/listener.ts";
import { openParser, type Parser } from "./parser.ts";
import { putInOrder } from "./left-executions.ts";
import type { Configuration } from "./config/load.ts";
import type { Stripper } from "./flows/stripper.ts";
import type { DebuggedFlow } from "./workers/runners.ts";

/** A running service. */
export interface Service {
  /** Where it listens, e.g. `http://127.0.0.1:8080`, with the prefix of BASE_URL. */
  readonly url: string;
  readonly store: Store;
  readonly catalog: Catalog;
  readonly defaultProjectId: string;
  /** Null unless it was generated at this start. */
  readonly adminPassword: string | null;
  /** Whether its store had users before. */
  readonly isFilled: boolean;
  /** How many executions are in a thread now. */
  running(): number;
  /**
   * Takes calls for SHUTDOWN_DELAY_SEC though it is not ready any more, lets running executions end
   * within SHUTDOWN_GRACE_SEC, then closes everything.
   *
   * @param hurried resolves when whoever stops it will not wait for them any longer
   */
  stop(hurried: Promise<void>): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  /** Where the configuration came from, for whoever asks. */
  readonly configuration: Configuration;
  readonly log: Log;
  /** Gives FLOWHOOK_ADMIN_PASSWORD; asked for an empty store alone. */
  readonly adminPassword: () => string | null;
  /** Shows a generated password. It becomes valid after this, and is never told again. */
  showPassword(service: Pick<Service, "url" | "catalog" | "adminPassword">): Promise<void>;
  /** null unless told. */
  readonly onlooker?: Onlooker;
  /** The flow that its author looks at with a debugger; nobody's unless told. */
  readonly debug?: DebuggedFlow;
  /** Aborted once it is to stop, while it starts: the start is given up then. Never unless told. */
  readonly stopping?: AbortSignal;
  /** Only requests for this machine are answered, and for these hosts; for any unless told. */
  readonly localNames?: readonly string[];
}

/** What start.ts has begun with before this is loaded. */
export interface Begun {
  readonly runtime: Runtime;
  /** Files of the lock of its data. */
  readonly locks: readonly string[];
  /** Of a store in SQLite. */
  readonly writer: Writer | null;
  readonly runners: Supervisor;
  readonly stripper: Stripper;
  /** Disposes of them, and gives up the data folder. */
  readonly opened: AsyncDisposableStack;
}

/**
 * READ FIRST. Opens everything in order; `stop` disposes of it in reverse.
 *
 * @throws the reason of `stopping`, where that comes before it listens
 */
export async function openService(options: ServiceOptions, begun: Begun): Promise<Service> {
  const { config, configuration, log, stopping = NEVER } = options;
  const { runtime, runners } = begun;
  await using opened = begun.opened;
  const meters = openMeters({ namesWebhooks: config.METRICS_WEBHOOK_LABELS, version: VERSION });
  const told = { log, reportInterrupted: openInterruptionReport(log, meters) };
  const store = opened.use(await openStoreOf(options, begun, told));
  const lease = openLeaseOf(config, store, told, opened);
  const turn = opened.use(
    await unlessAborted(
      stopping,
      takeFirstStart(store, () => log.info(WAITING)),
    ),
  );
  const { key: dataKey, unit: keyUnit } = await openCheckedKey(store, config);
  const first = await prepareFirstStart(store, options.adminPassword, keyUnit);
  const { defaultProjectId, adminPassword, isFilled } = first;
  const secrets = openSecretBox(dataKey.derive("secrets"));
  await warnOfUnreadable(config, log, store, secrets);
  const parser = openParser(() => verified(runtime).parserThread, config.MAX_BODY_BYTES);
  const catalog = opened.use(
    await openCatalogOf({ config, log }, runners, { store, dataKey }, begun.stripper),
  );
  await runners.ready();
  const allowance = await openAllowance(store, config.CONNECTION_ALLOWANCE);
  const given = { config, log, store, lease, secrets, runners, catalog, parser, meters };
  const executions = openExecutionsOf({
    ...given,
    allowance,
    onlooker: options.onlooker ?? null,
  });
  await warmLatest(store, catalog, executions);
  await putInOrder({ config, store, lease, executions, catalog, ...told }, opened);
  opened.use(openRetentionOf(config, store, log));
  let isServing = false;
  const isReady = () => isServing && takesCalls(store) && (lease?.isHeld ?? true);
  stopping.throwIfAborted();
  const parts = { ...given, configuration, dataKey, executions, isReady, defaultProjectId };
  const listener = await listen(config, await connect(parts), options.localNames ?? null);
  opened.defer(() => listener.close());
  async function stop(hurried: Promise<void>): Promise<void> {
    isServing = false;
    executions.isDraining = true;
    listener.closeAfterAnswers();
    await Promise.race([wait(toMs(config.SHUTDOWN_DELAY_SEC), undefined, UNREF), hurried]);
    const drained = executions.drain(toMs(config.SHUTDOWN_GRACE_SEC));
    await Promise.race([drained, hurried.then(() => executions.drain(0))]);
    await disposal.disposeAsync();
  }
  const { url } = listener;
  const running = () => executions.counts().running;
  const service = { url, store, catalog, defaultProjectId, adminPassword, isFilled, running, stop };
  // The store is filled last: a start that fails, for whatever reason, leaves it empty.
  if (adminPassword !== null) await options.showPassword(service);
  await first.commit();
  await turn[Symbol.asyncDispose]();
  const disposal = opened.move();
  executions.open();
  isServing = true;
  return service;
}

/** The flow that ran last is likely to be called first: that call need not wait for a thread. */
async function warmLatest(store: Store, catalog: Catalog, executions: Executions): Promise<void> {
  const name = await findLatestFlow(store);
  const spec = name === null ? null : (catalog.find(name)?.spec ?? null);
  if (spec !== null) executions.warm(spec);
}

/** Its files as the build carries them, whatever happened to them since the start. */
function verified(runtime: Runtime): Runtime {
  runtime.verify();
  return runtime;
}

/** A timer keeps nobody from ending. */
const UNREF = { ref: false };

const WAITING = "Another service starts for the first time on this database: waiting for it";

/** How long a store may be out of reach before the service is not ready, in milliseconds. */
const AWAY_MS = 2000;

function takesCalls({ awaySince, ledger }: Store): boolean {
  if (!ledger.isWritable) return false;
  return awaySince === null || performance.now() - awaySince < AWAY_MS;
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
  const action =
    nameOfKey(config) === "DATA_KEY"
      ? "set DATA_KEY to that one"
      : `put secret.key back into "${config.DATA_DIR}"`;
  log.warn(
    { secrets: secrets.slice(0, 20) },
    `${what} encrypted with another key: ${action}, and start again`,
  );
}

/** Who is told of what is found at the start, and of what others leave. */
interface Told {
  readonly log: Log;
  readonly reportInterrupted: ReportInterrupted;
}

function openStoreOf(
  { config, stopping = NEVER }: ServiceOptions,
  { runtime, locks, writer }: Begun,
  told: Told,
): Promise<Store> {
  const { log, reportInterrupted } = told;
  return openStore(config, runtime, {
    reportInterrupted,
    stopping,
    locks,
    ...(writer !== null && { writer }),
    ...logStore(log),
  });
}

/** A start may wait for others longer than a lease: it is kept from the first moment on. */
function openLeaseOf(
  config: Config,
  { node }: Store,
  told: Told,
  opened: AsyncDisposableStack,
): Lease | null {
  if (node === null) return null;
  return opened.use(new Lease({ node, leaseMs: toMs(config.NODE_LEASE_SEC), ...told }));
}

function openRetentionOf(config: Config, store: Store, log: Log): Retention {
  const limits = {
    days: config.RETENTION_DAYS,
    maxExecutions: config.RETENTION_MAX_EXECUTIONS,
    maxBytes: config.RETENTION_MAX_BYTES,
  };
  return new Retention(store, limits, log);
}

function openExecutionsOf(parts: {
  config: Config;
  log: Log;
  store: Store;
  lease: Lease | null;
  secrets: SecretBox;
  runners: Supervisor;
  catalog: Catalog;
  parser: Parser;
  meters: Meters;
  allowance: Allowance;
  onlooker: Onlooker | null;
}): Executions {
  const { config, store, runners, catalog, secrets, parser } = parts;
  const limits = {
    max_input_bytes: config.MAX_BODY_BYTES,
    maxChildDepth: config.MAX_CHILD_DEPTH,
    maxChildren: config.MAX_CHILDREN,
  };
  const findFlow = (name: string) => catalog.findOrAsk(name);
  const { checkLarge, judgeLarge } = parser;
  const executions = new Executions({
    ...parts,
    startWorker: (spec, events) => runners.startWorker(spec, events),
    operate: (execution, request) => operations.answer(execution, request),
    limits: { max_output_bytes: config.MAX_OUTPUT_BYTES, sandboxed: config.RESPONSE_SANDBOX },
    judgeLarge,
    reportEnding: openReportOf(parts),
    workerThreads: config.WORKER_THREADS,
    flowMaxConcurrent: config.FLOW_MAX_CONCURRENT,
    warmThreads: config.WARM_THREADS,
    cancelGraceMs: toMs(config.CANCEL_GRACE_SEC),
    maxQueued: config.MAX_QUEUED_EXECUTIONS,
    baseUrl: config.BASE_URL ?? "http://flowhook",
  });
  const operations = new Operations({ store, executions, findFlow, secrets, limits, checkLarge });
  return executions;
}

function openReportOf(parts: {
  config: Config;
  log: Log;
  meters: Meters;
  onlooker: Onlooker | null;
}): ReportEnding {
  const { log, meters, config, onlooker } = parts;
  const options = { log, meters, hasCalls: config.LOG_CALLS, hasMessages: config.LOG_MESSAGES };
  const report = openEndingReport(options);
  return (execution, outcome, endedAt) => {
    report(execution, outcome, endedAt);
    onlooker?.ended(execution, outcome);
  };
}
