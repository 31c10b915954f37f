import { Hono } from "hono";
import type { Meters, Readings } from "../../shared/meters.ts";
import type { Executions } from "../executions/executions.ts";
import type { Store } from "../store/database.ts";
import type { Runners } from "../workers/supervisor.ts";

/** What health and metrics read. */
export interface MonitoringDeps {
  readonly store: Pick<Store, "counts">;
  readonly executions: Pick<Executions, "counts" | "connectionsUsed">;
  readonly runnersStatus: Runners["status"];
  readonly meters: Pick<Meters, "watch" | "print" | "type">;
  /** Whether the service takes calls: false before it is ready and while it shuts down. */
  readonly isReady: () => boolean;
  /** CONNECTION_ALLOWANCE; null: unlimited. */
  readonly connectionAllowance: number | null;
}

/** For probes and for Prometheus. */
export function createMonitoring(deps: MonitoringDeps): Hono {
  const app = new Hono();
  app.get("/health/live", (c) => c.json({ status: "ok" }));
  app.get("/health/ready", (c) => {
    const isReady = deps.isReady();
    return c.json({ status: isReady ? "ok" : "not ready" }, isReady ? 200 : 503);
  });
  const { meters } = deps;
  meters.watch(() => readMeters(deps));
  app.get("/metrics", async () => {
    const text = await meters.print();
    return new Response(text, { headers: { "content-type": meters.type } });
  });
  return app;
}

async function readMeters(deps: MonitoringDeps): Promise<Readings> {
  const { store, executions, connectionAllowance } = deps;
  const { runners, restarts } = deps.runnersStatus();
  return {
    ...executions.counts(),
    ...store.counts(),
    threads: runners.reduce((sum, runner) => sum + runner.threads, 0),
    runners: runners.length,
    runnerRestarts: restarts,
    runnerMemoryBytes: runners.reduce((sum, runner) => sum + runner.rss_bytes, 0),
    connectionsUsed: executions.connectionsUsed(),
    connectionAllowance,
  };
}
