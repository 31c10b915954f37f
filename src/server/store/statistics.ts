import { sql } from "kysely";
import { FAILURES } from "../../shared/contract/status.ts";
import { firstKeyOf } from "../../shared/id.ts";
import type { Store } from "./store.ts";

/** Executions of one interval: of one webhook, of one flow or of all. */
export interface StatisticsRow {
  /** Start of the interval, milliseconds since the epoch. */
  readonly at: number;
  readonly webhook: string | null;
  readonly flow: string | null;
  readonly calls: number;
  readonly failures: number;
  /** Milliseconds from start to end, of those that have ended. */
  readonly duration_avg_ms: number | null;
  readonly duration_max_ms: number | null;
  /** So many of a hundred took at most this long; between two of them, in proportion. */
  readonly duration_p50_ms: number | null;
  readonly duration_p95_ms: number | null;
  readonly duration_p99_ms: number | null;
}

export interface StatisticsRequest {
  readonly from: number;
  readonly to: number;
  /** null: one interval, the whole range. */
  readonly intervalMs: number | null;
  /** What the executions of an interval are told apart by; null: by nothing. */
  readonly by: "webhook" | "flow" | null;
  /** null: all projects. */
  readonly projectIds: readonly string[] | null;
}

/** Grouped in the reader's thread; the range is a range of keys, which grow with time. */
export function readStatistics(store: Store, request: StatisticsRequest): Promise<StatisticsRow[]> {
  const { from, to, intervalMs, by, projectIds } = request;
  const interval = intervalOf(from, intervalMs);
  const column = (name: string) =>
    name === by ? sql<string | null>`${sql.ref(name)}` : sql<string | null>`null`;
  const duration = sql<number>`ended_at - started_at`;
  const failures = sql.join(FAILURES.map((status) => sql.lit(status)));
  const failed = sql<number>`case when status in (${failures}) then 1 else 0 end`;
  const percentile = (percent: number) => store.dialect.percentile(duration, percent);
  let query = store.lists
    .selectFrom("execution")
    .select((e) => [
      interval.as("at"),
      column("webhook").as("webhook"),
      column("flow").as("flow"),
      e.fn.countAll<number>().as("calls"),
      e.fn.sum<number>(failed).as("failures"),
      e.fn.avg<number | null>(duration).as("duration_avg_ms"),
      e.fn.max<number | null>(duration).as("duration_max_ms"),
      percentile(50).as("duration_p50_ms"),
      percentile(95).as("duration_p95_ms"),
      percentile(99).as("duration_p99_ms"),
    ])
    .where(store.dialect.whileWanted())
    .where("key", ">=", firstKeyOf(from))
    .where("key", "<", firstKeyOf(to))
    .groupBy(by === null ? [interval] : [interval, sql.ref(by)])
    .orderBy("at");
  if (projectIds !== null) query = query.where("project_id", "in", [...projectIds, ""]);
  return query.execute();
}

/** Of the whole range it is its start; a number alone would be that of a column for GROUP BY. */
function intervalOf(from: number, intervalMs: number | null) {
  if (intervalMs === null) return sql<number>`0 * created_at + ${sql.lit(from)}`;
  return sql<number>`(created_at / ${sql.lit(intervalMs)}) * ${sql.lit(intervalMs)}`;
}
