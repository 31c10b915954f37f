/** What a panel shows: rates and sums over the chosen services and webhooks. */
export interface PanelTable {
  readonly title: string;
  /** What to take from it, in words. */
  readonly description: string;
  /** Grafana's name of the unit. */
  readonly unit: "reqps" | "s" | "short" | "bytes" | "percentunit";
  /** Width of 24 columns. */
  readonly width: 6 | 8 | 12;
  /** Expressions of Prometheus, with what their lines are called. */
  readonly lines: readonly (readonly [expression: string, legend: string])[];
}

const SERVICE = 'instance=~"$instance"';
const WEBHOOK = `${SERVICE}, webhook=~"$webhook"`;

function rate(selected: string, by: string): string {
  return `sum by (${by}) (rate(${selected}[$__rate_interval]))`;
}

function quantiles(histogram: string): PanelTable["lines"] {
  const buckets = rate(`${histogram}_bucket{${WEBHOOK}}`, "le");
  return [0.5, 0.95, 0.99].map((share) => [
    `histogram_quantile(${share}, ${buckets})`,
    `p${share * 100}`,
  ]);
}

/** The dashboard, in the order in which somebody looks for what is wrong. */
export const ROWS: readonly { readonly title: string; readonly panels: readonly PanelTable[] }[] = [
  {
    title: "Calls",
    panels: [
      {
        title: "Calls",
        description: "Answers of the call endpoint by class of status; each leg is one",
        unit: "reqps",
        width: 8,
        lines: [[rate(`flowhook_calls_total{${WEBHOOK}}`, "status"), "{{status}}"]],
      },
      {
        title: "Time to the answer",
        description: "Each leg is an answer; one that is held has the whole execution in it",
        unit: "s",
        width: 8,
        lines: quantiles("flowhook_call_duration_seconds"),
      },
      {
        title: "Refused calls",
        description: "By code of the error; a refused call has no execution",
        unit: "reqps",
        width: 8,
        lines: [[rate(`flowhook_refusals_total{${SERVICE}}`, "code"), "{{code}}"]],
      },
    ],
  },
  {
    title: "Executions",
    panels: [
      {
        title: "Endings",
        description: "Executions that ended, by status",
        unit: "reqps",
        width: 8,
        lines: [[rate(`flowhook_executions_ended_total{${WEBHOOK}}`, "status"), "{{status}}"]],
      },
      {
        title: "Failures by webhook",
        description: "The ten webhooks whose executions fail or time out most",
        unit: "reqps",
        width: 8,
        lines: [
          [
            `topk(10, ${rate(`flowhook_executions_ended_total{${WEBHOOK}, status=~"ENDED_ERROR|ENDED_TIMEOUT"}`, "webhook")})`,
            "{{webhook}}",
          ],
        ],
      },
      {
        title: "Running and waiting",
        description: "Against their limits: WORKER_THREADS and MAX_QUEUED_EXECUTIONS",
        unit: "short",
        width: 8,
        lines: [
          [`sum(flowhook_executions_running{${SERVICE}})`, "running"],
          [`sum(flowhook_executions_running_limit{${SERVICE}})`, "most that run"],
          [`sum(flowhook_executions_waiting{${SERVICE}})`, "waiting"],
        ],
      },
      {
        title: "Run time",
        description: "From the hand-over to a thread to the ending",
        unit: "s",
        width: 12,
        lines: quantiles("flowhook_execution_run_seconds"),
      },
      {
        title: "Wait in the queue",
        description: "From the record to a thread",
        unit: "s",
        width: 12,
        lines: quantiles("flowhook_execution_wait_seconds"),
      },
    ],
  },
  {
    title: "Service",
    panels: [
      {
        title: "Processor",
        description: "Of the server alone: its runners are processes of their own",
        unit: "percentunit",
        width: 6,
        lines: [[rate(`process_cpu_seconds_total{${SERVICE}}`, "instance"), "{{instance}}"]],
      },
      {
        title: "Delay of the server's loop",
        description: "p99 since the last reading: what each call waits for the others",
        unit: "s",
        width: 6,
        lines: [
          [`max by (instance) (nodejs_eventloop_lag_p99_seconds{${SERVICE}})`, "{{instance}}"],
        ],
      },
      {
        title: "Memory",
        description: "Resident memory of the server and of its runners",
        unit: "bytes",
        width: 6,
        lines: [
          [`sum(process_resident_memory_bytes{${SERVICE}})`, "server"],
          [`sum(flowhook_runner_memory_bytes{${SERVICE}})`, "runners"],
        ],
      },
      {
        title: "Flows, runners, threads",
        description: "Broken flows: flowhook flow list --broken. Restarts name versions in the log",
        unit: "short",
        width: 6,
        lines: [
          [`sum by (state) (flowhook_flows{${SERVICE}})`, "flows {{state}}"],
          [`sum(flowhook_runners{${SERVICE}})`, "runners"],
          [`sum(flowhook_runner_threads{${SERVICE}})`, "threads"],
          [
            `sum(increase(flowhook_runner_restarts_total{${SERVICE}}[$__rate_interval]))`,
            "restarts of runners",
          ],
        ],
      },
      {
        title: "Database",
        description: "Sizes of its files",
        unit: "bytes",
        width: 6,
        lines: [
          [`sum(flowhook_database_bytes{${SERVICE}})`, "database"],
          [`sum(flowhook_wal_bytes{${SERVICE}})`, "write-ahead log"],
          [`sum(flowhook_ledger_bytes{${SERVICE}})`, "ledger"],
        ],
      },
      {
        title: "Free disk space",
        description: "Of the file system with the database",
        unit: "bytes",
        width: 6,
        lines: [[`min by (instance) (flowhook_disk_free_bytes{${SERVICE}})`, "{{instance}}"]],
      },
      {
        title: "Ledger backlog",
        description: "How far the database is behind; at 1 calls wait and are refused",
        unit: "percentunit",
        width: 6,
        lines: [[`max by (instance) (flowhook_ledger_backlog_ratio{${SERVICE}})`, "{{instance}}"]],
      },
      {
        title: "Failed logins",
        description: "Wrong names and passwords, and lock-outs after too many of them",
        unit: "short",
        width: 6,
        lines: [
          [`sum(increase(flowhook_failed_logins_total{${SERVICE}}[$__rate_interval]))`, "failed"],
          [`sum(increase(flowhook_lockouts_total{${SERVICE}}[$__rate_interval]))`, "lock-outs"],
        ],
      },
      {
        title: "Nodes",
        description: "Of a database of PostgreSQL, and what waits at all of them: flowhook nodes",
        unit: "short",
        width: 6,
        lines: [
          [`max by (state) (flowhook_cluster_nodes{${SERVICE}})`, "{{state}}"],
          [`max(flowhook_cluster_waiting{${SERVICE}})`, "executions that wait"],
          [`sum(increase(flowhook_nodes_lost_total{${SERVICE}}[$__rate_interval]))`, "lost"],
        ],
      },
    ],
  },
];
