import { WORKSPACE } from "../../shared/contract/workspace.ts";
import { monthOf } from "../executions/allowance.ts";
import { now, toIso } from "../../shared/clock.ts";
import { VERSION } from "../../assets/read.ts";
import { RUNTIME } from "../../shared/runtime-name.ts";
import type { Store } from "../store/store.ts";
import { readNodes } from "./nodes.ts";
import { defineRoute } from "./route.ts";

export const getWorkspace = defineRoute({
  method: "GET",
  path: "/workspace",
  summary: "Version, connections used this month, executions, runners, nodes, folders and sizes",
  needs: "workspace.read",
  answer: WORKSPACE,
  async act(api) {
    const month = monthOf(now());
    const used = await api.executions.connectionsUsed();
    const { running, waiting } = api.executions.counts();
    const { restarts, runners } = api.runnersStatus();
    return {
      status: 200,
      body: {
        version: VERSION,
        runtime: RUNTIME,
        started_at: toIso(api.startedAt),
        plugins_dir: api.pluginsDir,
        connections: { month, used, allowance: api.connectionAllowance },
        executions: {
          running,
          running_limit: api.mostRunning,
          waiting,
          waiting_limit: api.mostWaiting,
        },
        runners: { restarts, processes: runners.map(({ pid: _pid, ...process }) => process) },
        nodes: await readNodes(api),
        store: await readStore(api.store),
      },
    };
  },
});

export const reportActivity = defineRoute({
  method: "POST",
  path: "/workspace/activity",
  summary: "The user interface reports that its user is active",
  needs: "login",
  status: 204,
  async act(api, { principal }) {
    await api.activity.report(principal.user_id);
    return { status: 204 };
  },
});

async function readStore({ fileSizes }: Store) {
  const { database, wal, ledger, free, disk } = await fileSizes();
  return {
    database_bytes: database,
    wal_bytes: wal,
    ledger_bytes: ledger,
    disk_free_bytes: free,
    disk_bytes: disk,
  };
}
