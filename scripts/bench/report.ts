import { cpus, totalmem } from "node:os";
import type { Figures } from "./alone.ts";
import { median } from "./quartiles.ts";
import { MEASURES, type Slice } from "./rounds.ts";
import type { Verdict } from "./targets.ts";

/** Tables in Markdown; the figures are medians. */

export function describeMachine(): string {
  const memory = Math.round(totalmem() / 1024 ** 3);
  const model = cpus()[0]?.model.trim() ?? "unknown";
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, Node.js ${process.versions.node}, ${cpus().length} x ${model}, ${memory} GiB`;
}

export function toSliceTable(slices: ReadonlyMap<string, readonly Slice[]>): string {
  const rows = [...slices].map(([name, taken]) => [
    name,
    ...MEASURES.map((measure) => show(median(taken.map((slice) => slice[measure])))),
  ]);
  return toTable(
    ["Contestant", "Calls per second", "p50 ms", "p99 ms", "CPU us per call", "Idle %", "Stolen %"],
    rows,
  );
}

/** Beyond it rates say more about the other machines of the host than about this one, in percent. */
const MOST_STOLEN = 5;

/** What is to be known of the figures before they are believed; empty: nothing. */
export function toWarning(slices: ReadonlyMap<string, readonly Slice[]>): string {
  const shares = [...slices.values()].flat().map(({ stolen_percent }) => stolen_percent ?? 0);
  const stolen = shares.length === 0 ? 0 : median(shares);
  if (stolen <= MOST_STOLEN) return "";
  const share = `Other machines of this host had ${show(stolen)} % of the processors`;
  return `${share}: repeat it in a quieter hour.\n\n`;
}

/** CPU by thread; those that never take a microsecond a call are left out. */
export function toThreadTable(slices: ReadonlyMap<string, readonly Slice[]>): string {
  const medians = new Map([...slices].map(([name, taken]) => [name, toThreadMedians(taken)]));
  const labels = [...new Set([...medians.values()].flatMap((threads) => [...threads.keys()]))]
    .filter((label) => [...medians.values()].some((threads) => (threads.get(label) ?? 0) >= 1))
    .toSorted((a, b) => b.localeCompare(a));
  const rows = [...medians].map(([name, threads]) => [
    name,
    ...labels.map((label) => show(threads.get(label) ?? Number.NaN)),
  ]);
  return toTable(["CPU us per call", ...labels], rows);
}

function toThreadMedians(taken: readonly Slice[]): Map<string, number> {
  const labels = new Set(taken.flatMap(({ threads }) => Object.keys(threads)));
  return new Map(
    [...labels].map((label) => [label, median(taken.map(({ threads }) => threads[label] ?? 0))]),
  );
}

export function toTargetTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ name, quartiles, bound, limit, aim, unit, holds }) => {
    const [low, middle, high] = quartiles.map(show);
    const spread = low === high ? "" : `${low} to ${high}`;
    return [name, `${middle} ${unit}`, spread, `${bound} ${limit} ${unit}`, String(aim), holds];
  });
  return toTable(["Ratio or figure", "Median", "Quartiles", "Limit", "Aim", "Holds"], rows);
}

export function toFigureTable(figures: ReadonlyMap<string, Figures>): string {
  const rows = [...figures].flatMap(([name, found]) =>
    Object.entries(found).map(([figure, value]) => [name, figure, show(value)]),
  );
  return toTable(["Alone", "Figure", "Value"], rows);
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const lines = [head, ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.trim()).join(" | ")} |`,
  );
  lines.splice(1, 0, `|${"---|".repeat(head.length)}`);
  return `${lines.join("\n")}\n\n`;
}

function show(value: number): string {
  if (Number.isNaN(value)) return "";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 1 : 2);
}
