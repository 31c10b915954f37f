import { read, sentenceOf } from "./api.ts";
import { chart } from "./chart.ts";
import { button, el } from "./element.ts";
import { duration, number, time } from "./format.ts";
import type { Interval, Statistics } from "./resources.ts";

interface Range {
  readonly label: string;
  readonly spanSec: number;
  readonly interval_sec: number;
}

const RANGES: readonly Range[] = [
  { label: "Hour", spanSec: 3600, interval_sec: 60 },
  { label: "Day", spanSec: 86_400, interval_sec: 1800 },
  { label: "Week", spanSec: 604_800, interval_sec: 10_800 },
];

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
}

interface CallChart {
  /** When it is drawn for the first time. */
  readonly drawn: Promise<void>;
  refresh(): void;
}

/** Calls and failures over an hour, a day or a week. */
export function callChart(place: HTMLElement, options: ChartOptions): CallChart {
  let range = RANGES[0] as Range;
  const charts = el("div");
  const choices = RANGES.map((choice) => {
    const made = button(choice.label, "choice", () => choose(choice));
    return { choice, made };
  });

  function choose(chosen: Range): Promise<void> {
    range = chosen;
    for (const { choice, made } of choices)
      made.setAttribute("aria-pressed", String(choice === chosen));
    return draw().catch((error: unknown) => charts.replaceChildren(sentenceOf(error)));
  }

  async function draw(): Promise<void> {
    const points = await readPoints(range, options.webhook);
    const calls = points.reduce((sum, point) => sum + point.calls, 0);
    const failures = points.reduce((sum, point) => sum + point.failures, 0);
    const sum = `${number(calls)} calls, ${number(failures)} failed`;
    const drawn = el("div", { class: options.withLatency === true ? "halves" : "" });
    const left = el("div", {}, el("h3", { class: "first" }, sum));
    drawn.append(left);
    charts.replaceChildren(drawn);
    chart(left, {
      label: `Calls over time: ${sum}`,
      at: points.map(({ at }) => at),
      isBars: true,
      series: callSeries(points),
    });
    if (options.withLatency === true) {
      const right = el("div", {}, el("h3", { class: "first" }, "Duration"));
      drawn.append(right);
      chart(right, {
        label: "Duration of executions over time",
        at: points.map(({ at }) => at),
        isBars: false,
        series: latencySeries(points),
      });
    }
    charts.append(tableOf(points));
  }

  const group = el(
    "div",
    { class: "choices", role: "group", "aria-label": "Range" },
    ...choices.map(({ made }) => made),
  );
  place.replaceChildren(group, charts);
  return { drawn: choose(range), refresh: () => void draw().catch(() => {}) };
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
  const to = (Math.floor(new Date().getTime() / 1000 / step) + 1) * step;
  const from = to - range.spanSec;
  const { items } = await read<Statistics>(["statistics"], {
    from: new Date(from * 1000).toISOString(),
    to: new Date(to * 1000).toISOString(),
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

/** The figures for those who do not see the drawing. */
function tableOf(points: readonly Point[]): HTMLElement {
  const busy = points.filter(({ calls }) => calls > 0);
  const rows = busy.map(({ at, calls, failures, halfMs, mostMs }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, time(new Date(at * 1000).toISOString())),
      ...[number(calls), number(failures), duration(halfMs), duration(mostMs)].map((text) =>
        el("td", { class: "figure" }, text),
      ),
    ),
  );
  const heads = ["From", "Calls", "Failed", "Half within", "95 of 100 within"].map((name) =>
    el("th", { scope: "col" }, name),
  );
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  return el(
    "details",
    {},
    el("summary", {}, "As a table"),
    busy.length === 0 ? el("p", {}, "No calls") : table,
  );
}
