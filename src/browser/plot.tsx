import { useEffect, useRef } from "hono/jsx/dom";
import uPlot from "uplot";

interface Series {
  readonly label: string;
  /** A custom property of the stylesheet. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  show(value: number): string;
}

interface PlotOptions {
  readonly label: string;
  /** Seconds since the epoch. */
  readonly at: readonly number[];
  readonly series: readonly Series[];
  readonly isBars: boolean;
}

const HEIGHT = 180;

/** Of the labels, which are drawn. */
const FONT = "12px system-ui, sans-serif";

/** Beside the labels of values, in pixels. */
const MARGIN = 10;

/** Draws series over time, and again when the width or the theme changes. */
export function Plot(options: PlotOptions) {
  const frame = useRef<HTMLElement | null>(null);
  const drawn = useRef<() => void>(() => {});
  // The drawing needs the width that its frame has on the page. New figures may come before the
  // first were drawn: both effects run then, and the second has to know what the first one drew.
  useEffect(() => {
    drawn.current?.();
    drawn.current = frame.current === null ? () => {} : show(frame.current, options);
    return () => drawn.current?.();
  }, [options.at]);
  return <div class="plot" role="img" aria-label={options.label} ref={frame}></div>;
}

/** @returns what takes it away again */
function show(frame: HTMLElement, options: PlotOptions): () => void {
  let plot = draw(frame, options);
  const observer = new ResizeObserver(() => {
    plot.setSize({ width: frame.clientWidth, height: HEIGHT });
  });
  const redraw = (): void => {
    plot.destroy();
    plot = draw(frame, options);
  };
  observer.observe(frame);
  addEventListener("themechange", redraw);
  return () => {
    observer.disconnect();
    removeEventListener("themechange", redraw);
    plot.destroy();
  };
}

function draw(frame: HTMLElement, { at, series, isBars }: PlotOptions): uPlot {
  const style = getComputedStyle(frame);
  const colourOf = (name: string) => resolve(frame, style.getPropertyValue(name).trim());
  const line = colourOf("--line");
  const text = colourOf("--soft");
  const grid = { stroke: line, width: 1 };
  const axis = { stroke: text, font: FONT, grid, ticks: { show: false } };
  const show = series[0]?.show ?? String;
  const lines = series.map(({ label, colour, show: toText }) => ({
    label,
    stroke: colourOf(colour),
    width: isBars ? 0 : 1.5,
    ...(isBars
      ? { fill: colourOf(colour), paths: bars(), points: { show: false } }
      : { spanGaps: true, points: { show: true, size: 5 } }),
    value: (_: uPlot, value: number | null) => (value === null ? "–" : toText(value)),
  }));
  const step = (at[1] ?? 0) - (at[0] ?? 0);
  return new uPlot(
    {
      width: frame.clientWidth,
      height: HEIGHT,
      cursor: { drag: { x: false, y: false }, y: false },
      scales: {
        x: { range: [at[0] ?? 0, (at.at(-1) ?? 0) + step] },
        y: { range: (_, _low, high) => [0, Math.max(high ?? 0, 1) * 1.1] },
      },
      axes: [
        { ...axis, size: 28, values: times },
        {
          ...axis,
          size: widthOf,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6],
          values: (_, ticks) => ticks.map((tick) => show(tick)),
        },
      ],
      series: [{ label: "At" }, ...lines],
    },
    [[...at], ...series.map(({ values }) => [...values])],
    frame,
  );
}

/** Of an axis: its longest label is not cut. */
function widthOf({ ctx }: uPlot, labels: readonly string[] | null): number {
  ctx.save();
  ctx.font = FONT;
  const widths = (labels ?? []).map((label) => ctx.measureText(label).width);
  ctx.restore();
  return Math.max(0, ...widths) + MARGIN;
}

/** 24 hours in every language, as all times of the pages. */
const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** Times of day, and the date where a day begins. */
function times(_: uPlot, ticks: readonly number[]): string[] {
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const isMidnight = at.getHours() === 0 && at.getMinutes() === 0;
    return (isMidnight ? DAY : CLOCK).format(at);
  });
}

function bars() {
  return uPlot.paths.bars?.({ size: [0.7, 24], align: 1 }) ?? (() => null);
}

/** Canvas knows no light-dark(): the browser resolves it for an element. */
function resolve(frame: HTMLElement, colour: string): string {
  const probe = document.createElement("i");
  probe.style.color = colour;
  frame.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
