import { FAILURES } from "../shared/contract/status.ts";
import { duration, number, percent, plural } from "./format.ts";
import { pagePath } from "./page.ts";
import { readIntervals, type Range } from "./range.ts";
import type { Interval } from "./resources.ts";
import { Empty, Table, type Column } from "./table.tsx";
import { Tile } from "./tiles.tsx";

/** What the calls of a range were like. */
export interface RangeFigures {
  /** undefined: there were none. */
  readonly whole: Interval | undefined;
  /** Of each webhook, the slowest first. */
  readonly slowest: readonly Interval[];
  /** Of each webhook that had failures, the one with the most first. */
  readonly failing: readonly Interval[];
}

/** Webhooks that are listed. */
const MOST = 5;

export async function readRange(range: Range): Promise<RangeFigures> {
  const [[whole], webhooks] = await Promise.all([
    readIntervals(range, { interval_sec: "all" }),
    readIntervals(range, { interval_sec: "all", by: "webhook" }),
  ]);
  const slowest = webhooks.toSorted((a, b) => slownessOf(b) - slownessOf(a)).slice(0, MOST);
  const failing = webhooks
    .filter(({ failures }) => failures > 0)
    .toSorted((a, b) => b.failures - a.failures)
    .slice(0, MOST);
  return { whole, slowest, failing };
}

function slownessOf({ duration_p95_ms }: Interval): number {
  return duration_p95_ms ?? -1;
}

/** How many calls, how many of them failed, and how long they took. */
export function RangeTiles({ whole }: RangeFigures) {
  const { calls = 0, failures = 0, duration_p50_ms, duration_p95_ms } = whole ?? {};
  const half =
    duration_p50_ms === undefined ? undefined : `half within ${duration(duration_p50_ms)}`;
  return (
    <>
      <Tile name="Calls">{number(calls)}</Tile>
      <Tile name="Failed" more={`${number(failures)} of ${number(calls)}`}>
        {percent(failures, calls)}
      </Tile>
      <Tile name="95 of 100 within" more={half}>
        {duration(duration_p95_ms)}
      </Tile>
    </>
  );
}

const COLUMNS: readonly Column<Interval>[] = [
  ["Webhook", ({ webhook }) => <Called webhook={webhook} />, "head"],
  ["95 of 100 within", ({ duration_p95_ms }) => duration(duration_p95_ms), "figure"],
  ["Longest", ({ duration_max_ms }) => duration(duration_max_ms), "figure wide"],
  ["Calls", ({ calls }) => number(calls), "figure"],
  ["Failed", ({ calls, failures }) => percent(failures, calls), "figure"],
];

/** The webhooks whose calls take longest. */
export function Slowest({ slowest }: RangeFigures) {
  if (slowest.length === 0)
    return <Empty title="No calls in this time">Choose a longer one above.</Empty>;
  return <Table caption="Slowest webhooks" columns={COLUMNS} items={slowest} />;
}

const FAILING_COLUMNS: readonly Column<Interval>[] = [
  ["Webhook", ({ webhook }) => <Called webhook={webhook} />, "head"],
  ["Failures", (item) => <FailuresOf item={item} />, "figure"],
  ["Failed", ({ calls, failures }) => percent(failures, calls), "figure"],
  ["Calls", ({ calls }) => number(calls), "figure"],
];

/** The webhooks whose calls fail most. */
export function Failing({ failing }: RangeFigures) {
  return <Table caption="Webhooks with failures" columns={FAILING_COLUMNS} items={failing} />;
}

/** Their number, which leads to them; no filter finds those without a webhook. */
function FailuresOf({ item: { at, webhook, failures } }: { item: Interval }) {
  if (webhook === null) return <>{number(failures)}</>;
  const query = new URLSearchParams({ webhook, status: FAILURES.join(","), from: at });
  const label = `${plural(failures, "failure")} of ${webhook}`;
  return (
    <a href={`${pagePath("executions")}?${query}`} aria-label={label}>
      {number(failures)}
    </a>
  );
}

/** Leads to when it was, in the chart of the webhook's calls. */
function Called({ webhook }: { webhook: string | null }) {
  if (webhook === null) return <>without a webhook</>;
  return <a href={`${pagePath("webhooks", webhook)}#calls`}>{webhook}</a>;
}
