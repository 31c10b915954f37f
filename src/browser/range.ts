import { now } from "../shared/clock.ts";
import { read } from "./api.ts";
import type { Interval, Statistics } from "./resources.ts";

/** How far back figures go. */
export interface Range {
  readonly label: string;
  readonly spanSec: number;
  /** Of a bar in the chart. */
  readonly interval_sec: number;
}

export const RANGES: readonly [Range, ...Range[]] = [
  { label: "Hour", spanSec: 3600, interval_sec: 60 },
  { label: "Day", spanSec: 86_400, interval_sec: 1800 },
  { label: "Week", spanSec: 604_800, interval_sec: 10_800 },
];

/** The times that a chart of a range begins and ends at, in seconds since the epoch. */
export function timesOf({ spanSec, interval_sec }: Range): { from: number; to: number } {
  const to = (Math.floor(now() / 1000 / interval_sec) + 1) * interval_sec;
  return { from: to - spanSec, to };
}

/** What the calls of a range were like; in `interval_sec`, `all` is the whole range. */
export function readIntervals(
  range: Range,
  query: { interval_sec: string; by?: "webhook" | undefined },
): Promise<readonly Interval[]> {
  const { from, to } = timesOf(range);
  return readBetween(new Date(from * 1000), new Date(to * 1000), query);
}

/** What today's calls of each webhook were like, by its name: a day of the browser's zone. */
export async function readToday(): Promise<ReadonlyMap<string | null, Interval>> {
  const today = new Date(now());
  const dayFrom = (days: number) =>
    new Date(today.getFullYear(), today.getMonth(), today.getDate() + days);
  const query = { interval_sec: "all", by: "webhook" } as const;
  const items = await readBetween(dayFrom(0), dayFrom(1), query);
  return new Map(items.map((item) => [item.webhook, item]));
}

async function readBetween(
  from: Date,
  to: Date,
  query: Readonly<Record<string, string | undefined>>,
): Promise<readonly Interval[]> {
  const times = { from: from.toISOString(), to: to.toISOString() };
  return (await read<Statistics>(["statistics"], { ...times, ...query })).items;
}
