/** Series that let an alert fire at a time, and series of the same that do not. */
export interface AlertCase {
  readonly alert: string;
  readonly at: string;
  readonly fires: Readonly<Record<string, string>>;
  readonly quiet: Readonly<Record<string, string>>;
}

const JOB = 'instance="a:8080", job="flowhook"';
const ERRORS = `flowhook_executions_ended_total{${JOB}, webhook="shop", status="ENDED_ERROR"}`;
const RIGHT = `flowhook_executions_ended_total{${JOB}, webhook="shop", status="ENDED_SUCCESS"}`;
const GIB = 1024 ** 3;

/** Each alert of the rules has one at least, in their order; a sample each minute. */
export const CASES: readonly AlertCase[] = [
  {
    alert: "FlowhookDown",
    at: "15m",
    fires: { [`up{${JOB}}`]: "1x5 0x15" },
    quiet: { [`up{${JOB}}`]: "1x20" },
  },
  {
    alert: "FlowhookRestarts",
    at: "12m",
    fires: { [`process_start_time_seconds{${JOB}}`]: "10x3 250x2 _ 400x2 600x10" },
    quiet: { [`process_start_time_seconds{${JOB}}`]: "10x3 _x3 400x20" },
  },
  {
    alert: "FlowhookNotReady",
    at: "8m",
    fires: { [`flowhook_ready{${JOB}}`]: "1x5 0x10" },
    quiet: { [`flowhook_ready{${JOB}}`]: "1x5 0 1x10" },
  },
  {
    alert: "FlowhookCallsNotTaken",
    at: "8m",
    fires: { [`flowhook_refusals_total{${JOB}, code="queue_full"}`]: "0x3 1+3x10" },
    quiet: {
      [`flowhook_refusals_total{${JOB}, code="queue_full"}`]: "7x20",
      [`flowhook_refusals_total{${JOB}, code="not_found"}`]: "0+5x20",
    },
  },
  {
    alert: "FlowhookExecutionsFail",
    at: "20m",
    fires: { [ERRORS]: "0+1x30", [RIGHT]: "0+5x30" },
    quiet: { [ERRORS]: "0+1x30", [RIGHT]: "0+20x30" },
  },
  {
    alert: "FlowhookExecutionsFail",
    at: "12m",
    // All between two samples, as the first calls of a webhook that was just enabled.
    fires: { [ERRORS]: "0x3 100x30", [RIGHT]: "0x33" },
    quiet: { [ERRORS]: "0x33", [RIGHT]: "0x33" },
  },
  {
    alert: "FlowhookExecutionsFail",
    at: "200m",
    fires: { [ERRORS]: "0x10 1x60 2x60 3x100" },
    quiet: { [ERRORS]: "0x10 1x60 2x60 3x100", [RIGHT]: "0x100 1x200" },
  },
  {
    alert: "FlowhookExecutionsInterrupted",
    at: "12m",
    fires: interrupted("3x20", "600x20"),
    quiet: interrupted("3x20", "-600x20"),
  },
  {
    alert: "FlowhookExecutionsInterrupted",
    at: "12m",
    fires: interrupted("0x10 2x20", "-600x20"),
    quiet: interrupted("0x20", "600x20"),
  },
  {
    alert: "FlowhookFlowBroken",
    at: "15m",
    fires: { [`flowhook_flows{${JOB}, state="broken"}`]: "1x20" },
    quiet: {
      [`flowhook_flows{${JOB}, state="broken"}`]: "0x8 1x3 0x10",
      [`flowhook_flows{${JOB}, state="ready"}`]: "4x20",
    },
  },
  {
    alert: "FlowhookQueueFills",
    at: "10m",
    fires: {
      [`flowhook_executions_waiting{${JOB}}`]: "5100x20",
      [`flowhook_executions_waiting_limit{${JOB}}`]: "10000x20",
    },
    quiet: {
      [`flowhook_executions_waiting{${JOB}}`]: "4900x20",
      [`flowhook_executions_waiting_limit{${JOB}}`]: "10000x20",
    },
  },
  {
    alert: "FlowhookExecutionsWait",
    at: "25m",
    fires: waits("0+1x30", "0+10x30"),
    quiet: waits("0+10x30", "0+10x30"),
  },
  {
    alert: "FlowhookExecutionsWait",
    at: "25m",
    fires: { ...waits("4x30", "4x30"), [`flowhook_executions_waiting{${JOB}}`]: "7x30" },
    quiet: { ...waits("4x30", "4x30"), [`flowhook_executions_waiting{${JOB}}`]: "7x20 0 7x10" },
  },
  {
    alert: "FlowhookRunnersRestart",
    at: "15m",
    fires: { [`flowhook_runner_restarts_total{${JOB}}`]: "0x2 1 2 3 4x20" },
    quiet: { [`flowhook_runner_restarts_total{${JOB}}`]: "7x5 8x20" },
  },
  {
    alert: "FlowhookDiskFills",
    at: "60m",
    fires: disk(`${30 * GIB}-${GIB / 16}x90`, `${100 * GIB}x90`),
    quiet: disk(`${9 * GIB}x90`, `${100 * GIB}x90`),
  },
  {
    alert: "FlowhookDiskFull",
    at: "5m",
    fires: disk(`${GIB / 4}x10`, `${100 * GIB}x10`),
    quiet: disk(`${GIB}x10`, `${100 * GIB}x10`),
  },
  {
    alert: "FlowhookLedgerBehind",
    at: "5m",
    fires: { [`flowhook_ledger_backlog_ratio{${JOB}}`]: "0.3x10" },
    quiet: { [`flowhook_ledger_backlog_ratio{${JOB}}`]: "0.3 0 0.3 0 0.3 0 0.3 0" },
  },
  {
    alert: "FlowhookWalLarge",
    at: "40m",
    fires: { [`flowhook_wal_bytes{${JOB}}`]: `${2 * GIB}x60` },
    quiet: { [`flowhook_wal_bytes{${JOB}}`]: `${GIB / 16}x60` },
  },
  {
    alert: "FlowhookAllowanceUsed",
    at: "5m",
    fires: allowance("950x10"),
    quiet: allowance("800x10"),
  },
  {
    alert: "FlowhookLockouts",
    at: "10m",
    fires: { [`flowhook_lockouts_total{${JOB}}`]: "0x5 1x10" },
    quiet: { [`flowhook_lockouts_total{${JOB}}`]: "3x20" },
  },
  {
    alert: "FlowhookNodeLost",
    at: "10m",
    fires: { [`flowhook_nodes_lost_total{${JOB}}`]: "0x5 1x10" },
    quiet: { [`flowhook_nodes_lost_total{${JOB}}`]: "2x20" },
  },
  {
    alert: "FlowhookNodeGivenUp",
    at: "10m",
    fires: { [`flowhook_node_given_up_total{${JOB}}`]: "0x5 1x10" },
    quiet: { [`flowhook_node_given_up_total{${JOB}}`]: "1x20" },
  },
  {
    alert: "FlowhookClockDiffers",
    at: "10m",
    fires: { [`flowhook_clock_difference_seconds{${JOB}}`]: "-7x20" },
    quiet: { [`flowhook_clock_difference_seconds{${JOB}}`]: "0.2x20" },
  },
];

function waits(within: string, all: string): AlertCase["fires"] {
  const bucket = `flowhook_execution_wait_seconds_bucket{${JOB}, webhook="shop"`;
  return {
    [`${bucket}, le="5"}`]: within,
    [`${bucket}, le="10"}`]: all,
    [`${bucket}, le="+Inf"}`]: all,
    [`flowhook_execution_wait_seconds_count{${JOB}, webhook="shop"}`]: all,
  };
}

function interrupted(counts: string, startedAt: string): AlertCase["fires"] {
  return {
    [`flowhook_executions_interrupted_total{${JOB}}`]: counts,
    [`process_start_time_seconds{${JOB}}`]: startedAt,
  };
}

function disk(free: string, all: string): AlertCase["fires"] {
  return {
    [`flowhook_disk_free_bytes{${JOB}}`]: free,
    [`flowhook_disk_bytes{${JOB}}`]: all,
  };
}

function allowance(used: string): AlertCase["fires"] {
  return {
    [`flowhook_connections_used{${JOB}}`]: used,
    [`flowhook_connection_allowance{${JOB}}`]: "1000x10",
  };
}
