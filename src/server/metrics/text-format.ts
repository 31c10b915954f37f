import { BOUNDS, Histogram } from "./histogram.ts";
import { METRICS, type MetricDescription, type MetricName } from "./metric-table.ts";

/** Prometheus' text format, version 0.0.4. */
export const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

/** A number, one for each value of the last label, or a histogram. */
export type Figure = number | Readonly<Record<string, number>> | Histogram;

/** A figure with the values of its labels, but the last where the figure has those. */
export type Sample = readonly [figure: Figure, ...labels: readonly string[]];

/** A metric with its samples; empty without any. */
export function toText(name: MetricName, samples: readonly Sample[]): string {
  const { type, labels, help }: MetricDescription = METRICS[name];
  let lines = "";
  for (const [figure, ...values] of samples) lines += toLines(name, figure, labels, values);
  return lines === "" ? "" : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}\n`;
}

function toLines(
  name: string,
  figure: Figure,
  labels: readonly string[],
  values: readonly string[],
): string {
  const pairs = values.map((value, at) => `${labels[at]}="${toValue(value)}"`).join(",");
  if (typeof figure === "number") return `${name}${inBraces(pairs)} ${figure}\n`;
  if (figure instanceof Histogram) return toBuckets(name, figure, pairs);
  const last = `${name}{${andMore(pairs)}${labels[values.length]}="`;
  let lines = "";
  for (const value in figure) lines += `${last}${toValue(value)}"} ${figure[value]}\n`;
  return lines;
}

const ENDS = [...BOUNDS.map(String), "+Inf"];

/** Each bucket counts what is in those before it, too. */
function toBuckets(name: string, { counts, sum }: Histogram, pairs: string): string {
  const bucket = `${name}_bucket{${andMore(pairs)}le="`;
  let lines = "";
  let count = 0;
  for (const [at, own] of counts.entries()) {
    count += own;
    lines += `${bucket}${ENDS[at]}"} ${count}\n`;
  }
  const labels = inBraces(pairs);
  return `${lines}${name}_sum${labels} ${sum}\n${name}_count${labels} ${count}\n`;
}

function inBraces(pairs: string): string {
  return pairs === "" ? "" : `{${pairs}}`;
}

function andMore(pairs: string): string {
  return pairs === "" ? "" : `${pairs},`;
}

function toValue(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

const SPECIAL = /[\\"\n]/;
