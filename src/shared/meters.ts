import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

/** What is read when somebody asks, so that it costs nothing meanwhile. */
export interface Readings {
  readonly running: number;
  readonly waiting: number;
  /** Executions that ended since the start, by status. */
  readonly ended: Readonly<Record<string, number>>;
  readonly threads: number;
  readonly runners: number;
  readonly runnerRestarts: number;
  readonly runnerMemoryBytes: number;
  readonly commits: number;
  /** Units of work in those commits. */
  readonly units: number;
  /** Connections used in this calendar month (UTC). */
  readonly connectionsUsed: number;
  /** CONNECTION_ALLOWANCE; null: unlimited. */
  readonly connectionAllowance: number | null;
}

/** The figures of the service in Prometheus' text format. */
export interface Meters {
  /**
   * Counts an answer of the call endpoint.
   *
   * @param webhook Empty where there is none: names that callers make up are not kept
   */
  countCall(webhook: string, status: number, seconds: number): void;
  /** @param code A code of the error registry */
  countRefusal(code: string): void;
  /** @param result `right`, or why it was not */
  countSignature(webhook: string, result: string): void;
  /** A call for which an execution had been started before. */
  countDuplicate(webhook: string): void;
  /** Where the gauges read. */
  watch(read: () => Promise<Readings>): void;
  print(): Promise<string>;
  /** Media type of what `print` gives. */
  readonly type: string;
}

/** Seconds: from a call that a warm thread answers to the longest wait of one leg. */
const BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function openMeters(): Meters {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: "flowhook_calls_total",
    help: "Answers of the call endpoint, by webhook and class of status",
    labelNames: ["webhook", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "flowhook_call_duration_seconds",
    help: "Time from a request of the call endpoint to its answer; each leg is a request",
    labelNames: ["webhook"],
    buckets: BUCKETS,
    registers,
  });
  const refusals = new Counter({
    name: "flowhook_refusals_total",
    help: "Calls that were refused, by code of the error",
    labelNames: ["code"],
    registers,
  });
  const signatures = new Counter({
    name: "flowhook_signature_total",
    help: "Signatures of calls that were checked, by webhook and result",
    labelNames: ["webhook", "result"],
    registers,
  });
  const duplicates = new Counter({
    name: "flowhook_duplicates_total",
    help: "Calls that were answered with an execution of an earlier one, by webhook",
    labelNames: ["webhook"],
    registers,
  });
  const gauges = openGauges(registers);
  const timers = keep((webhook) => durations.labels(webhook));
  const counters = keep((webhook) => keep((status) => calls.labels(webhook, status)));
  return {
    countCall(webhook, status, seconds) {
      counters(webhook)(STATUS_CLASSES[Math.trunc(status / 100)] ?? "other").inc();
      timers(webhook).observe(seconds);
    },
    countRefusal: (code) => refusals.inc({ code }),
    countDuplicate: (webhook) => duplicates.inc({ webhook }),
    countSignature: (webhook, result) => signatures.inc({ webhook, result }),
    watch: (read) => gauges.watch(read),
    async print() {
      await gauges.read();
      return registry.metrics();
    },
    type: registry.contentType,
  };
}

const STATUS_CLASSES = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

/** Children of a metric, made once each. */
function keep<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>();
  return (name) => {
    let found = made.get(name);
    if (found === undefined) made.set(name, (found = make(name)));
    return found;
  };
}

interface Gauges {
  watch(read: () => Promise<Readings>): void;
  read(): Promise<void>;
}

/** Gauges of the same names as the members of `Readings`, with their help texts. */
const GAUGES = {
  running: ["flowhook_executions_running", "Executions in a thread"],
  waiting: ["flowhook_executions_waiting", "Executions recorded and waiting for a thread"],
  threads: ["flowhook_runner_threads", "Threads of all runners, busy and idle"],
  runners: ["flowhook_runners", "Runner processes"],
  runnerMemoryBytes: ["flowhook_runner_memory_bytes", "Resident memory of all runners"],
  connectionsUsed: ["flowhook_connections_used", "Connections used in this month (UTC)"],
  connectionAllowance: ["flowhook_connection_allowance", "CONNECTION_ALLOWANCE, where it is set"],
} as const;

/** Counted elsewhere, and so set to what was read. */
const TOTALS = {
  runnerRestarts: ["flowhook_runner_restarts_total", "Runners that were lost or replaced"],
  commits: ["flowhook_store_commits_total", "Commits of the store"],
  units: ["flowhook_store_units_total", "Units of work in the commits of the store"],
} as const;

function openGauges(registers: Registry[]): Gauges {
  let read: (() => Promise<Readings>) | null = null;
  const gauges = Object.entries(GAUGES).map(
    ([member, [name, help]]) =>
      [member as keyof typeof GAUGES, new Gauge({ name, help, registers })] as const,
  );
  const totals = Object.entries(TOTALS).map(
    ([member, [name, help]]) =>
      [member as keyof typeof TOTALS, new Counter({ name, help, registers })] as const,
  );
  const ended = new Counter({
    name: "flowhook_executions_ended_total",
    help: "Executions that ended, by status",
    labelNames: ["status"],
    registers,
  });
  return {
    watch(from) {
      read = from;
    },
    async read() {
      if (read === null) return;
      const readings = await read();
      for (const [member, gauge] of gauges) gauge.set(readings[member] ?? Number.NaN);
      for (const [member, total] of totals) setTotal(total, {}, readings[member]);
      ended.reset();
      for (const [status, count] of Object.entries(readings.ended)) ended.inc({ status }, count);
    },
  };
}

function setTotal(counter: Counter, labels: Record<string, string>, value: number): void {
  counter.reset();
  counter.inc(labels, value);
}
