import type { Workspace } from "../../shared/contract/workspace.ts";
import { VERSION } from "../../assets/read.ts";
import { now, toIso } from "../../shared/clock.ts";
import { listNodes, type NodeRow } from "../store/nodes.ts";
import type { Api } from "./api.ts";

type Node = Workspace["nodes"][number];

/** The services that share the store, with what this one knows of itself just now. */
export async function readNodes(api: Api): Promise<readonly Node[]> {
  const { executions, store, nodeName, startedAt } = api;
  const { running, waiting } = executions.counts();
  const own = { running, waiting, is_self: true };
  const state = executions.isDraining ? "draining" : "ready";
  if (store.node !== null) {
    const self = store.node.id;
    const rows = await listNodes(store, now());
    return rows.map((row) => ({ ...toNode(row), ...(row.id === self ? own : {}) }));
  }
  const alone = { id: null, name: nodeName, version: VERSION, state, lease_until: null } as const;
  return [{ ...alone, started_at: toIso(startedAt), ...own }];
}

function toNode(row: NodeRow): Node {
  const { id, name, version, running, waiting } = row;
  return {
    id,
    name,
    version,
    state: row.state,
    started_at: toIso(row.started_at),
    lease_until: toIso(row.lease_until),
    running,
    waiting,
    is_self: false,
  };
}
