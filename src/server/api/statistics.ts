import { STATISTICS, type Interval } from "../../shared/contract/statistics.ts";
import * as v from "valibot";
import { allowedProjects } from "../access/permission.ts";
import { now, toIso } from "../../shared/clock.ts";
import { readStatistics, type StatisticsRow } from "../store/statistics.ts";
import { invalid } from "./named.ts";
import { time, wholeNumber } from "./parameters.ts";
import { defineRoute } from "./route.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Intervals in one answer. */
const MOST_INTERVALS = 1000;

function toInterval(row: StatisticsRow): Interval {
  return {
    ...row,
    at: toIso(row.at),
    duration_avg_ms: toTenths(row.duration_avg_ms),
    duration_p50_ms: toTenths(row.duration_p50_ms),
    duration_p95_ms: toTenths(row.duration_p95_ms),
    duration_p99_ms: toTenths(row.duration_p99_ms),
  };
}

function toTenths(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10) / 10;
}

export const getStatistics = defineRoute({
  method: "GET",
  path: "/statistics",
  summary: "Calls, failures and durations per interval",
  needs: "execution.read",
  query: v.strictObject({
    from: time("Created from this time on; a day before `to`"),
    to: time("Created before this time; now"),
    by: v.optional(
      v.pipe(
        v.picklist(["webhook", "flow"], 'expected "webhook" or "flow"'),
        v.description("An item for each webhook or flow in an interval; without it, one for all"),
      ),
    ),
    interval_sec: v.optional(
      v.pipe(
        v.union(
          [v.literal("all"), wholeNumber(1, 9_999_999, "Length of an interval")],
          "expected seconds, or `all` for one interval, the whole range",
        ),
        v.description("Length of an interval, so that there are a hundred; `all`: the whole range"),
      ),
    ),
  }),
  answer: STATISTICS,
  async act(api, { principal, query }) {
    const to = query.to ?? now();
    const from = query.from ?? to - DAY_MS;
    if (from >= to) throw invalid("from", "expected a time before `to`");
    const intervalMs = toIntervalMs(query.interval_sec, to - from);
    const allowed = allowedProjects(principal.grants, "execution.read");
    const rows = await readStatistics(api.store, {
      from,
      to,
      intervalMs,
      by: query.by ?? null,
      projectIds: allowed === "all" ? null : [...allowed],
    });
    return {
      status: 200,
      body: {
        from: toIso(from),
        to: toIso(to),
        interval_sec: (intervalMs ?? to - from) / 1000,
        items: rows.map(toInterval),
      },
    };
  },
});

/** @returns null: one interval, the whole range */
function toIntervalMs(interval: number | "all" | undefined, rangeMs: number): number | null {
  if (interval === "all") return null;
  const intervalMs = 1000 * (interval ?? Math.max(1, Math.ceil(rangeMs / 100_000)));
  if (rangeMs / intervalMs > MOST_INTERVALS)
    throw invalid("interval_sec", `expected at most ${MOST_INTERVALS} intervals in the range`);
  return intervalMs;
}
