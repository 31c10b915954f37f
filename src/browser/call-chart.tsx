import { useMemo } from "hono/jsx/dom";
import { Choices } from "./button.tsx";
import { duration, number, plural } from "./format.ts";
import { useLoaded } from "./loaded.ts";
import { Plot } from "./plot.tsx";
import { RANGES, readIntervals, timesOf, type Range } from "./range.ts";
import type { Interval } from "./resources.ts";
import { Table, type Column } from "./table.tsx";
import { Time } from "./time.tsx";

interface Point {
  /** Seconds since the epoch, as the chart library counts. */
  readonly at: number;
  readonly calls: number;
  readonly failures: number;
  readonly halfMs: number | null;
  readonly mostMs: number | null;
}

interface ChartOptions {
  /** Only the calls of this webhook. */
  readonly webhook?: string;
  /** How long calls take, in a chart below. */
  readonly withLatency?: boolean;
  /** Drawn again where this changes. */
  readonly count?: number;
}

export function RangeChoice(props: { chosen: Range; choose: (range: Range) => void }) {
  return (
    <Choices
      label="Range"
      names={RANGES.map(({ label }) => label)}
      chosen={RANGES.indexOf(props.chosen)}
      choose={(at) => props.choose(RANGES[at] ?? RANGES[0])}
    />
  );
}

/** Calls and failures over a range that is chosen elsewhere. */
export function RangeChart(options: ChartOptions & { range: Range }) {
  const { range, webhook, withLatency = false, count = 0 } = options;
  const [points] = useLoaded(() => readPoints(range, webhook), [range], count);
  return (
    <div class="chart">
      {points === null ? (
        <Places withLatency={withLatency} />
      ) : (
        <Charts points={points} withLatency={withLatency} />
      )}
    </div>
  );
}

/** As high as what is drawn once it is read, so that nothing is pushed away by that. */
function Places({ withLatency }: { withLatency: boolean }) {
  return (
    <div class={withLatency ? "halves" : ""}>
      <div class="plot-place"></div>
      {withLatency ? <div class="plot-place"></div> : null}
    </div>
  );
}

function Charts({ points, withLatency }: { points: readonly Point[]; withLatency: boolean }) {
  const calls = points.reduce((sum, point) => sum + point.calls, 0);
  const failures = points.reduce((sum, point) => sum + point.failures, 0);
  const sum = `${plural(calls, "call")}, ${number(failures)} failed`;
  const at = useMemo(() => points.map((point) => point.at), [points]);
  return (
    <>
      <div class={withLatency ? "halves" : ""}>
        <div>
          <h3 class="first">{sum}</h3>
          <Plot label={`Calls over time: ${sum}`} at={at} isBars series={callSeries(points)} />
        </div>
        {withLatency ? (
          <div>
            <h3 class="first">Duration</h3>
            <Plot
              label="Duration of executions over time"
              at={at}
              isBars={false}
              series={latencySeries(points)}
            />
          </div>
        ) : null}
      </div>
      <Figures points={points} />
    </>
  );
}

function callSeries(points: readonly Point[]) {
  return [
    { label: "Calls", colour: "--accent", values: points.map(({ calls }) => calls), show: number },
    {
      label: "Failed",
      colour: "--bad",
      values: points.map(({ failures }) => failures),
      show: number,
    },
  ];
}

function latencySeries(points: readonly Point[]) {
  return [
    {
      label: "Half within",
      colour: "--accent",
      values: points.map(({ halfMs }) => halfMs),
      show: duration,
    },
    {
      label: "95 of 100 within",
      colour: "--soft",
      values: points.map(({ mostMs }) => mostMs),
      show: duration,
    },
  ];
}

/** One point for each interval: those without a call are zero, and the service leaves them out. */
async function readPoints(range: Range, webhook: string | undefined): Promise<Point[]> {
  const step = range.interval_sec;
  // Before it is waited: the answer is of these times.
  const { from } = timesOf(range);
  const items = await readIntervals(range, {
    interval_sec: String(step),
    by: webhook === undefined ? undefined : "webhook",
  });
  const own = items.filter((item) => webhook === undefined || item.webhook === webhook);
  const known = new Map(own.map((item) => [Date.parse(item.at) / 1000, item]));
  return Array.from({ length: range.spanSec / step }, (_, count) =>
    toPoint(from + count * step, known),
  );
}

function toPoint(at: number, known: ReadonlyMap<number, Interval>): Point {
  const found = known.get(at);
  return {
    at,
    calls: found?.calls ?? 0,
    failures: found?.failures ?? 0,
    halfMs: found?.duration_p50_ms ?? null,
    mostMs: found?.duration_p95_ms ?? null,
  };
}

const COLUMNS: readonly Column<Point>[] = [
  ["From", ({ at }) => <Time of={new Date(at * 1000).toISOString()} />, "head"],
  ["Calls", ({ calls }) => number(calls), "figure"],
  ["Failed", ({ failures }) => number(failures), "figure"],
  ["Half within", ({ halfMs }) => duration(halfMs), "figure"],
  ["95 of 100 within", ({ mostMs }) => duration(mostMs), "figure"],
];

/** The figures for those who do not see the drawing. */
function Figures({ points }: { points: readonly Point[] }) {
  const busy = points.filter(({ calls }) => calls > 0);
  return (
    <details>
      <summary>As a table</summary>
      {busy.length === 0 ? (
        <p>No calls</p>
      ) : (
        <Table caption="Calls over time" columns={COLUMNS} items={busy} />
      )}
    </details>
  );
}
