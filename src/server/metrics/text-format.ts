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
  const lines = samples.flatMap(([figure, ...values]) =>
    toLines(name, figure, labels, values.map(toValue)),
  );
  if (lines.length === 0) return "";
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n\n`;
}

function toLines(
  name: string,
  figure: Figure,
  labels: readonly string[],
  values: readonly string[],
): string[] {
  const pairs = values.map((value, at) => `${labels[at]}="${value}"`);
  if (typeof figure === "number") return [`${name}${toLabels(pairs)} ${figure}`];
  if (figure instanceof Histogram) return toBuckets(name, figure, pairs);
  const last = labels[values.length];
  return Object.entries(figure).map(
    ([value, count]) => `${name}${toLabels([...pairs, `${last}="${toValue(value)}"`])} ${count}`,
  );
}

/** Each bucket counts what is in those before it, too. */
function toBuckets(name: string, { counts, sum }: Histogram, pairs: readonly string[]): string[] {
  const given = pairs.map((pair) => `${pair},`).join("");
  let count = 0;
  const buckets = counts.map((own, at) => {
    count += own;
    return `${name}_bucket{${given}le="${BOUNDS[at] ?? "+Inf"}"} ${count}`;
  });
  const labels = toLabels(pairs);
  return [...buckets, `${name}_sum${labels} ${sum}`, `${name}_count${labels} ${count}`];
}

function toLabels(pairs: readonly string[]): string {
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function toValue(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
