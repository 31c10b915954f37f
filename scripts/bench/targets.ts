import type { Figures } from "./alone.ts";
import { quartiles } from "./quartiles.ts";
import type { Measure, Slice } from "./rounds.ts";

/** What the figures should be: ratios in one run, and sizes and times of the service alone. */

interface Target {
  readonly name: string;
  /** A figure of one contestant, divided by another's in the same round; or a figure taken alone. */
  readonly of: readonly [Measure, string, string] | readonly [string, string];
  readonly bound: "at least" | "at most";
  readonly limit: number;
  readonly aim: number;
  readonly unit: string;
}

export interface Verdict extends Target {
  readonly quartiles: readonly [number, number, number];
  readonly holds: "no" | "limit" | "aim";
}

const rates = (name: string, own: string, other: string, limit: number, aim: number): Target => {
  const of = ["calls_per_s", own, other] as const;
  return { name, of, bound: "at least", limit, aim, unit: "" };
};

const most = (name: string, of: Target["of"], limit: number, aim: number, unit = ""): Target => {
  return { name, of, bound: "at most", limit, aim, unit };
};

const TARGETS: readonly Target[] = [
  rates("hold / floor-pool", "hold", "floor-pool", 0.55, 0.75),
  rates("hold-normal / floor-pool", "hold-normal", "floor-pool", 0.65, 1),
  rates("128 connections, hold / floor-pool", "hold-128", "floor-pool-128", 0.75, 0.95),
  rates("async / floor-pool, accepted and run", "async", "floor-pool", 0.55, 0.75),
  most("CPU per call, hold / floor-pool", ["cpu_us", "hold", "floor-pool"], 1.8, 1.3),
  rates("redirect (whole chains) / hold", "redirect", "hold", 0.55, 0.8),
  most("1 connection, p50, hold / floor-pool", ["p50_ms", "hold-1", "floor-pool-1"], 3, 2.3),
  most(
    "1 connection, p50, hold-normal / floor-pool",
    ["p50_ms", "hold-normal-1", "floor-pool-1"],
    2,
    1.2,
  ),
  most("p99, hold / floor-pool", ["p99_ms", "hold", "floor-pool"], 1.5, 1),
  rates("hold / Node-RED 5", "hold", "node-red", 0.7, 1),
  rates("history of 1,000,000 / hold", "history", "hold", 0.95, 1),
  rates("hold on PostgreSQL / on SQLite", "hold-postgres", "hold", 0.65, 0.8),
  rates("bodies of 200 KB, hold / floor-pool", "hold-200k", "floor-pool-200k", 0.4, 0.6),
  most("memory per waiting request", ["idle-10k", "waiting_kb"], 20, 12, "KB"),
  most("start to the first answer", ["start", "start_s"], 0.5, 0.3, "s"),
  most("server and runner at rest", ["start", "rest_mb"], 160, 130, "MB"),
  {
    name: "three nodes / one, flows of 100 ms",
    of: ["nodes", "three nodes / one"],
    bound: "at least",
    limit: 2.4,
    aim: 2.8,
    unit: "",
  },
  most("commits per call, 32 connections", ["nodes", "commits per call"], 0.4, 0.2),
  most("WAL per call, 0.9 KB of input", ["nodes", "WAL per call, KB"], 2.8, 2.4, "KB"),
  most(
    "CPU of PostgreSQL per call, together / alone",
    ["nodes", "CPU per call, together / alone"],
    0.5,
    0.35,
  ),
  most("leg on another node, added", ["nodes", "leg on another node, added p50 ms"], 40, 25, "ms"),
  most(
    "PENDING to RUNNING on another node",
    ["nodes", "PENDING to RUNNING elsewhere, p50 ms"],
    60,
    30,
    "ms",
  ),
  most("first start with 500 new flows", ["first-start", "first_start_s"], 8, 4, "s"),
];

/** Those whose contestants have run. */
export function judge(
  slices: ReadonlyMap<string, readonly Slice[]>,
  alone: ReadonlyMap<string, Figures>,
): Verdict[] {
  return TARGETS.flatMap((target) => {
    const values = valuesOf(target, slices, alone);
    if (values.length === 0) return [];
    const found = quartiles(values);
    return [{ ...target, quartiles: found, holds: grade(target, found[1]) }];
  });
}

function valuesOf(
  { of }: Target,
  slices: ReadonlyMap<string, readonly Slice[]>,
  alone: ReadonlyMap<string, Figures>,
): number[] {
  if (of.length === 2) return figuresOf(of, alone);
  const [measure, own, other] = of;
  const bases = slices.get(other)?.map((slice) => slice[measure]) ?? [];
  const values = slices.get(own)?.map((slice) => slice[measure]) ?? [];
  return values
    .map((value, round) => (value ?? Number.NaN) / (bases[round] ?? Number.NaN))
    .filter((ratio) => !Number.isNaN(ratio));
}

/** None where it was not measured. */
function figuresOf([name, figure]: readonly [string, string], alone: ReadonlyMap<string, Figures>) {
  const figures = alone.get(name);
  if (figures === undefined) return [];
  const value = figures[figure];
  if (value === undefined) throw new Error(`"${name}" has no figure "${figure}"`);
  return Number.isNaN(value) ? [] : [value];
}

function grade({ bound, limit, aim }: Target, value: number): Verdict["holds"] {
  const holds = (border: number) => (bound === "at least" ? value >= border : value <= border);
  if (holds(aim)) return "aim";
  return holds(limit) ? "limit" : "no";
}
