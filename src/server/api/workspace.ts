import { WORKSPACE } from "../../shared/contract/workspace.ts";
import { monthOf } from "../executions/allowance.ts";
import { now } from "../../shared/clock.ts";
import { VERSION } from "../../assets/read.ts";
import { defineRoute } from "./route.ts";

export const getWorkspace = defineRoute({
  method: "GET",
  path: "/workspace",
  summary: "Version, connections used this month, executions and runners",
  needs: "workspace.read",
  answer: WORKSPACE,
  async act(api) {
    const month = monthOf(now());
    const used = api.executions.connectionsUsed();
    const { running, waiting } = api.executions.counts();
    const { restarts, runners } = api.runnersStatus();
    return {
      status: 200,
      body: {
        version: VERSION,
        connections: { month, used, allowance: api.connectionAllowance },
        executions: { running, waiting },
        runners: { restarts, processes: runners.map(({ pid: _pid, ...process }) => process) },
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
