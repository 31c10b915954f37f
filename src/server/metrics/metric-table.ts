/**
 * The metric registry: every metric of the service's own at /metrics, its type, labels and help
 * text. The table of the page "operating", the dashboard and the alert rules are checked against it.
 */
export interface MetricDescription {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
}

/** Counted as it happens, for each webhook. */
export const OF_WEBHOOK = {
  flowhook_calls_total: {
    type: "counter",
    labels: ["webhook", "status"],
    help: "Answers of the call endpoint, by class of status (2xx), those of preflights among them, and as 4xx callers that were gone before; webhook is empty where there is none of the name",
  },
  flowhook_call_duration_seconds: {
    type: "histogram",
    labels: ["webhook"],
    help: "Time from a request of the call endpoint to its answer; each leg is a request",
  },
  flowhook_signature_total: {
    type: "counter",
    labels: ["webhook", "result"],
    help: "Signatures of calls that were checked: right, or why not",
  },
  flowhook_duplicates_total: {
    type: "counter",
    labels: ["webhook"],
    help: "Calls that were answered with the execution of an earlier one",
  },
  flowhook_executions_ended_total: {
    type: "counter",
    labels: ["webhook", "status"],
    help: "Executions that ended, by status; webhook is empty where no webhook started them",
  },
  flowhook_execution_wait_seconds: {
    type: "histogram",
    labels: ["webhook"],
    help: "Time from an execution's record to its thread, or to its ending without one",
  },
  flowhook_execution_run_seconds: {
    type: "histogram",
    labels: ["webhook"],
    help: "Time from an execution's hand-over to a thread to its ending",
  },
} as const satisfies Record<string, MetricDescription>;

/** Counted as it happens, for the service as a whole. */
export const OF_SERVICE = {
  flowhook_refusals_total: {
    type: "counter",
    labels: ["code"],
    help: "Calls that were refused, and what was no request or had no right target, by code of the error",
  },
  flowhook_executions_interrupted_total: {
    type: "counter",
    labels: [],
    help: "Executions that were in a thread when their service stopped or crashed, or their node was lost; counted at the start, or by who found it",
  },
  flowhook_failed_logins_total: {
    type: "counter",
    labels: [],
    help: "Wrong names or passwords, at the login and where a change needs the password again",
  },
  flowhook_lockouts_total: {
    type: "counter",
    labels: [],
    help: "Failed logins after which no more were checked for a while",
  },
} as const satisfies Record<string, MetricDescription>;

/** Read when somebody asks, so that they cost nothing meanwhile. */
export const READ = {
  flowhook_ready: {
    type: "gauge",
    labels: [],
    help: "Whether calls are taken, as /health/ready says it: 1 or 0",
  },
  flowhook_executions_running: {
    type: "gauge",
    labels: [],
    help: "Executions in a thread",
  },
  flowhook_executions_running_limit: {
    type: "gauge",
    labels: [],
    help: "Executions that can be in threads at the same time (WORKER_THREADS)",
  },
  flowhook_executions_waiting: {
    type: "gauge",
    labels: [],
    help: "Executions recorded and waiting for a thread: the length of the queue",
  },
  flowhook_executions_waiting_limit: {
    type: "gauge",
    labels: [],
    help: "Executions that may wait for others before calls are refused (MAX_QUEUED_EXECUTIONS)",
  },
  flowhook_webhook_executions_running: {
    type: "gauge",
    labels: ["webhook"],
    help: "Executions of a webhook that have begun and not ended, where it limits them",
  },
  flowhook_webhook_executions_waiting: {
    type: "gauge",
    labels: ["webhook"],
    help: "Executions of a webhook that wait, where it limits them",
  },
  flowhook_flows: {
    type: "gauge",
    labels: ["state"],
    help: "Flows in the plugins folder: ready, or broken (an older version may serve)",
  },
  flowhook_runner_threads: {
    type: "gauge",
    labels: [],
    help: "Threads of all runners, busy and idle",
  },
  flowhook_runners: {
    type: "gauge",
    labels: [],
    help: "Runner processes",
  },
  flowhook_runner_memory_bytes: {
    type: "gauge",
    labels: [],
    help: "Resident memory of all runners",
  },
  flowhook_runner_restarts_total: {
    type: "counter",
    labels: [],
    help: "Runners that were lost or replaced",
  },
  flowhook_connections_used: {
    type: "gauge",
    labels: [],
    help: "Connections used in this month (UTC)",
  },
  flowhook_connection_allowance: {
    type: "gauge",
    labels: [],
    help: "Connections of a month (CONNECTION_ALLOWANCE), where that is set",
  },
  flowhook_store_commits_total: {
    type: "counter",
    labels: [],
    help: "Commits of the store and writes of its ledger",
  },
  flowhook_store_units_total: {
    type: "counter",
    labels: [],
    help: "Units of work in those commits and writes",
  },
  flowhook_database_bytes: {
    type: "gauge",
    labels: [],
    help: "Size of the database file",
  },
  flowhook_wal_bytes: {
    type: "gauge",
    labels: [],
    help: "Size of the database's write-ahead log",
  },
  flowhook_ledger_bytes: {
    type: "gauge",
    labels: [],
    help: "Size of the ledger's files",
  },
  flowhook_ledger_backlog_rows: {
    type: "gauge",
    labels: [],
    help: "Rows of the ledger that the database lacks",
  },
  flowhook_ledger_backlog_ratio: {
    type: "gauge",
    labels: [],
    help: "How full the ledger's backlog is; from 1 on new executions wait, or are refused",
  },
  flowhook_cluster_nodes: {
    type: "gauge",
    labels: ["state"],
    help: "Nodes of the database: ready, draining, lost; all nodes say the same, as the next one",
  },
  flowhook_cluster_waiting: {
    type: "gauge",
    labels: [],
    help: "Executions of all nodes that wait for a thread",
  },
  flowhook_flow_versions: {
    type: "gauge",
    labels: ["flow"],
    help: "Versions that the folders of nodes have of a flow, where they differ; all nodes say the same",
  },
  flowhook_node_lease_seconds: {
    type: "gauge",
    labels: [],
    help: "What is left of the lease of this node; at 0 the others may give it up",
  },
  flowhook_node_given_up_total: {
    type: "counter",
    labels: [],
    help: "How often the others gave this node up",
  },
  flowhook_nodes_lost_total: {
    type: "counter",
    labels: [],
    help: "Other nodes that this one found lost: each lost one is counted by one",
  },
  flowhook_clock_difference_seconds: {
    type: "gauge",
    labels: [],
    help: "How far the clock of this machine is behind that of the database, from a tenth of a second on",
  },
  flowhook_disk_free_bytes: {
    type: "gauge",
    labels: [],
    help: "Free space of the file system with the database, for its user",
  },
  flowhook_disk_bytes: {
    type: "gauge",
    labels: [],
    help: "Size of the file system with the database",
  },
} as const satisfies Record<string, MetricDescription>;

const BUILD_INFO = {
  flowhook_build_info: {
    type: "gauge",
    labels: ["version", "runtime"],
    help: "Always 1: its labels say what runs",
  },
} as const satisfies Record<string, MetricDescription>;

export const METRICS = { ...OF_WEBHOOK, ...OF_SERVICE, ...READ, ...BUILD_INFO } as const;

export type MetricName = keyof typeof METRICS;

/**
 * What was read, by name of the metric, and by value of the label where it has one; null: there is
 * none of it now.
 */
export type Readings = {
  readonly [Name in keyof typeof READ]: (typeof READ)[Name]["labels"] extends readonly []
    ? number | null
    : Readonly<Record<string, number>>;
};
