import { REPLAY, STARTED } from "../../shared/contract/execution.ts";
import { toInput, type Input } from "../executions/input.ts";
import { readTrace } from "../request/trace.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findInput } from "../store/executions.ts";
import { requireIn, requireUsable } from "./access.ts";
import type { Api } from "./api.ts";
import { requireExecution } from "./execution.ts";
import { toJsonText } from "./json-body.ts";
import { invalid } from "./named.ts";
import { defineRoute } from "./route.ts";

/** Runs an execution again, with its own permissions: whoever asks must hold them all. */
export const replayExecution = defineRoute({
  method: "POST",
  path: "/execution/:id/replay",
  summary: "Run an execution again, with the same input and the newest version unless given",
  needs: "execution.start",
  action: "execution.replay",
  body: REPLAY,
  example: { input_value: { json: { name: "Grace" } } },
  status: 201,
  answer: STARTED,
  async act(api, { principal, params, body, incoming, outgoing }) {
    const row = await requireExecution(api, principal, params["id"] ?? "");
    requireIn(principal, "execution.start", row.project_id);
    await requireUsable(api.store, principal, row);
    const live = await api.executions.start({
      flowName: row.flow,
      flow: await findVersion(api, row, body.flow_version),
      webhook: null,
      input: await inputOf(api, row, body),
      is_productive: row.is_productive === 1,
      is_async: true,
      project_id: row.project_id,
      role_id: row.role_id,
      acts_for: row.acts_for,
      created_by: principal.user_id,
      parent_id: null,
      replay_of: row.id,
      isConnection: false,
      trace: readTrace(incoming, outgoing),
    });
    return { status: 201, body: { id: live.id } };
  },
});

async function inputOf(
  api: Api,
  row: ExecutionRow,
  body: { input_value?: unknown },
): Promise<Input> {
  if (Object.hasOwn(body, "input_value")) return toInput(toJsonText(body.input_value));
  return (await findInput(api.store, row.id)) ?? toInput("null");
}

async function findVersion(api: Api, row: ExecutionRow, version: string | undefined) {
  const flow = api.catalog.find(row.flow);
  if (version === undefined) return flow;
  const spec = await api.catalog.findVersion(row.flow, version);
  if (spec === undefined)
    throw invalid("flow_version", `version "${version}" of "${row.flow}" is not kept any more`);
  return { spec, timeoutMs: flow?.timeoutMs ?? 300_000 };
}
