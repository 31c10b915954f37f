import { monthOf } from "../executions/executions.ts";
import { now } from "../lib/clock.ts";
import { connectionsUsed } from "../store/executions.ts";
import { VERSION } from "../assets/read.ts";
import { defineRoute } from "./route.ts";

export const getWorkspace = defineRoute({
  method: "GET",
  path: "/workspace",
  summary: "Version, connections used this month, executions running and waiting",
  needs: "workspace.read",
  async act(api) {
    const month = monthOf(now());
    const used = await connectionsUsed(api.store, month);
    return {
      status: 200,
      body: { version: VERSION, connections: { month, used }, executions: api.executions.counts() },
    };
  },
});

export const reportActivity = defineRoute({
  method: "POST",
  path: "/workspace/activity",
  summary: "The user interface reports that its user is active",
  needs: "login",
  async act(api, { principal }) {
    await api.activity.report(principal.user_id);
    return { status: 204 };
  },
});
