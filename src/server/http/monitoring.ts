import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { ConnectionReader } from "../access/probe.ts";
import type { ConfigValue } from "../config/values.ts";
import type { Lease } from "../nodes/lease.ts";
import type { Executions } from "../executions/executions.ts";
import type { Catalog, Flow } from "../flows/catalog.ts";
import { MOST_WEBHOOKS, type Meters } from "../metrics/meters.ts";
import type { Readings } from "../metrics/metric-table.ts";
import { TEXT_FORMAT } from "../metrics/text-format.ts";
import type { Store } from "../store/store.ts";
import { listEnabledNames } from "../store/webhooks.ts";
import type { Supervisor } from "../workers/supervisor.ts";
import { readNodes } from "./node-readings.ts";
import { shareText } from "./shared-text.ts";

/** What health and metrics read. */
export interface MonitoringDeps {
  readonly store: Store;
  /** null: the store is this service's alone. */
  readonly lease: Pick<Lease, "figures"> | null;
  readonly executions: Pick<Executions, "counts" | "queues" | "connectionsUsed">;
  readonly catalog: Pick<Catalog, "list">;
  readonly runnersStatus: Supervisor["status"];
  readonly meters: Pick<Meters, "begin" | "print" | "sumByWebhook">;
  /** Whether the service takes calls: false before it is ready and while it shuts down. */
  readonly isReady: () => boolean;
  /** What is seen of a connection, for `flowhook doctor` alone. */
  readonly readConnection: ConnectionReader;
  /** Each key of the configuration, without secrets; for `flowhook doctor` alone as well. */
  readonly configValues: readonly ConfigValue[];
  /** CONNECTION_ALLOWANCE; null: unlimited. */
  readonly connectionAllowance: number | null;
  /** WORKER_THREADS. */
  readonly mostRunning: number;
  /** MAX_QUEUED_EXECUTIONS. */
  readonly mostWaiting: number;
}

/** For probes and for Prometheus. */
export function createMonitoring(deps: MonitoringDeps): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get("/health/live", (c) => c.json({ status: "ok" }));
  app.get("/health/ready", (c) => {
    const isReady = deps.isReady();
    return c.json({ status: isReady ? "ok" : "not ready" }, isReady ? 200 : 503);
  });
  app.get("/health/connection", (c) => {
    const seen = deps.readConnection(c.env.incoming);
    return seen === null ? c.notFound() : c.json(seen);
  });
  app.get("/health/configuration", (c) => {
    const isAsked = deps.readConnection(c.env.incoming) !== null;
    return isAsked ? c.json(deps.configValues) : c.notFound();
  });
  const readText = shareText(() => print(deps));
  app.get("/metrics", async () => {
    return new Response(await readText(), { headers: { "content-type": TEXT_FORMAT } });
  });
  return app;
}

async function print(deps: MonitoringDeps): Promise<string> {
  // At once: while the database is away each takes seconds, and who asks waits ten at most.
  const [executions, store, nodes] = await Promise.all([
    readExecutions(deps),
    readStore(deps),
    readNodes(deps),
    beginWebhooks(deps),
  ]);
  return deps.meters.print({
    flowhook_ready: deps.isReady() ? 1 : 0,
    ...executions,
    ...readWebhooks(deps),
    ...readRunners(deps),
    ...store,
    ...nodes,
    flowhook_flows: countStates(deps.catalog.list()),
  });
}

/** At each scrape, as any node may have enabled a webhook; while the store is away the last names stay. */
async function beginWebhooks({ store, meters }: MonitoringDeps): Promise<void> {
  const enabled = await listEnabledNames(store, MOST_WEBHOOKS + 1).catch(() => null);
  if (enabled !== null) meters.begin(enabled);
}

async function readExecutions(deps: MonitoringDeps) {
  const { running, waiting } = deps.executions.counts();
  return {
    flowhook_executions_running: running,
    flowhook_executions_running_limit: deps.mostRunning,
    flowhook_executions_waiting: waiting,
    flowhook_executions_waiting_limit: deps.mostWaiting,
    flowhook_connections_used: await deps.executions.connectionsUsed(),
    flowhook_connection_allowance: deps.connectionAllowance,
  } satisfies Partial<Readings>;
}

function readWebhooks({ executions, meters }: MonitoringDeps) {
  const counts = [...executions.queues.counts()];
  return {
    flowhook_webhook_executions_running: meters.sumByWebhook(
      counts.map(({ webhook, running }) => [webhook, running]),
    ),
    flowhook_webhook_executions_waiting: meters.sumByWebhook(
      counts.map(({ webhook, waiting }) => [webhook, waiting]),
    ),
  } satisfies Partial<Readings>;
}

function readRunners({ runnersStatus }: MonitoringDeps) {
  const { runners, restarts } = runnersStatus();
  return {
    flowhook_runner_threads: runners.reduce((sum, { threads }) => sum + threads, 0),
    flowhook_runners: runners.length,
    flowhook_runner_memory_bytes: runners.reduce((sum, { rss_bytes }) => sum + rss_bytes, 0),
    flowhook_runner_restarts_total: restarts,
  } satisfies Partial<Readings>;
}

async function readStore({ store }: MonitoringDeps) {
  const { commits, units } = store.counts();
  const { rows, ratio } = store.ledger.backlog;
  const { database, wal, ledger, free, disk } = await store.fileSizes();
  return {
    flowhook_store_commits_total: commits,
    flowhook_store_units_total: units,
    flowhook_database_bytes: database,
    flowhook_wal_bytes: wal,
    flowhook_ledger_bytes: ledger,
    flowhook_ledger_backlog_rows: rows,
    flowhook_ledger_backlog_ratio: ratio,
    flowhook_disk_free_bytes: free,
    flowhook_disk_bytes: disk,
  } satisfies Partial<Readings>;
}

function countStates(flows: readonly Flow[]): Readonly<Record<Flow["state"], number>> {
  const broken = flows.filter(({ state }) => state === "broken").length;
  return { ready: flows.length - broken, broken };
}
