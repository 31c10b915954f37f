import type { Readings } from "../metrics/metric-table.ts";
import type { Lease } from "../nodes/lease.ts";
import { now } from "../../shared/clock.ts";
import { listDiffering } from "../store/flow-offers.ts";
import { countNodes, countWaiting } from "../store/nodes.ts";
import type { Store } from "../store/store.ts";

type NodeReadings = Pick<
  Readings,
  | "flowhook_cluster_nodes"
  | "flowhook_cluster_waiting"
  | "flowhook_flow_versions"
  | "flowhook_node_lease_seconds"
  | "flowhook_node_given_up_total"
  | "flowhook_nodes_lost_total"
  | "flowhook_clock_difference_seconds"
>;

/** What the nodes of a database tell Prometheus; nothing where the service has its store alone. */
export async function readNodes(deps: {
  readonly store: Store;
  readonly lease: Pick<Lease, "figures"> | null;
}): Promise<NodeReadings> {
  if (deps.lease === null) return NONE;
  const { leftMs, behindMs, lost, givenUp } = deps.lease.figures;
  return {
    ...(await readShared(deps.store)),
    flowhook_node_lease_seconds: leftMs / 1000,
    flowhook_node_given_up_total: givenUp,
    flowhook_nodes_lost_total: lost,
    flowhook_clock_difference_seconds: behindMs / 1000,
  };
}

/** The same at each node; none of it while the database cannot be asked. */
async function readShared(store: Store) {
  const [nodes, waiting, differing] = await Promise.all([
    countNodes(store, now()).catch(() => ({})),
    countWaiting(store).catch(() => null),
    listDiffering(store).catch(() => []),
  ]);
  return {
    flowhook_cluster_nodes: nodes,
    flowhook_cluster_waiting: waiting,
    flowhook_flow_versions: Object.fromEntries(
      differing.map(({ flow, versions }) => [
        flow,
        new Set(versions.map(({ version }) => version)).size,
      ]),
    ),
  };
}

const NONE: NodeReadings = {
  flowhook_cluster_nodes: {},
  flowhook_cluster_waiting: null,
  flowhook_flow_versions: {},
  flowhook_node_lease_seconds: null,
  flowhook_node_given_up_total: null,
  flowhook_nodes_lost_total: null,
  flowhook_clock_difference_seconds: null,
};
