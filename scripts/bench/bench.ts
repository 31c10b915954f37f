import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BINARY } from "./contestant.ts";
import type { Figures } from "./calls.ts";
import { CONTESTANTS } from "./measure.ts";
import { SCALES } from "./scale.ts";

/**
 * `npm run bench -- [--rounds N] [--seconds N] [--only a,b]`: each contestant in turn, round after
 * round, and the medians with their ratios in the same run. `--only scale`: how the cost of a call
 * grows. Nothing fails on a time.
 */

/** [figure, contestant, figure, contestant it is divided by, limit, aim]; see the README. */
const RATIOS: readonly [string, string, string, string, string][] = [
  ["floor-http / floor-node", "floor-http", "calls_per_s", "floor-node", "at least 0.60"],
  ["floor-pool / floor-http", "floor-pool", "calls_per_s", "floor-http", "at least 0.30"],
  ["hold / floor-pool", "hold", "calls_per_s", "floor-pool", "at least 0.55"],
  ["async / floor-pool", "async", "calls_per_s", "floor-pool", "at least 0.55"],
  ["redirect / hold", "redirect", "calls_per_s", "hold", "at least 0.45"],
  ["single p50 / floor-pool", "hold-normal", "single_p50_ms", "floor-pool", "at most 3"],
  ["p99 / floor-pool", "hold", "p99_ms", "floor-pool", "at most 2"],
  ["history / hold", "history", "calls_per_s", "hold", "at least 0.95"],
];

type Rounds = Map<string, Figures[]>;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "6" },
    only: { type: "string" },
  },
});

const names = Object.keys(CONTESTANTS);
const scales = Object.keys(SCALES);
const compared = names.filter((name) => !scales.includes(name));
const wanted = values.only === "scale" ? scales : (values.only?.split(",") ?? compared);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0)
  throw new Error(`Unknown: ${unknown.join(", ")}. Known: ${names.join(", ")}`);

execFileSync("node", ["--import", "tsx", "scripts/build.ts"], {
  cwd: join(import.meta.dirname, "../.."),
  stdio: ["ignore", "ignore", "inherit"],
});

// A file that was just written lies in memory in larger pieces than one that was read, and each
// process that maps it would count them.
execFileSync("dd", [`if=${BINARY}`, "iflag=nocache", "count=0"], { stdio: "ignore" });

const rounds: Rounds = new Map(wanted.map((name) => [name, []]));
for (let round = 1; round <= Number(values.rounds); round += 1)
  for (const name of wanted) {
    process.stderr.write(`round ${round} of ${values.rounds}: ${name}\n`);
    const measure = CONTESTANTS[name] as (seconds: number) => Promise<Figures>;
    rounds.get(name)?.push(await measure(Number(values.seconds)));
  }

process.stdout.write(`${describeMachine()}\n\n${toTable()}\n\n${toRatioTable()}\n`);
writeFileSync(
  join(import.meta.dirname, "../../build/bench.json"),
  `${JSON.stringify({ machine: describeMachine(), rounds: Object.fromEntries(rounds) }, null, 2)}\n`,
);

function describeMachine(): string {
  const memory = Math.round(totalmem() / 1024 ** 3);
  const model = cpus()[0]?.model.trim() ?? "unknown";
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, Node.js ${process.versions.node}, ${cpus().length} x ${model}, ${memory} GiB`;
}

function toTable(): string {
  const lines = [...rounds].flatMap(([name, figures]) =>
    Object.keys(figures[0] ?? {}).map((figure) => {
      const [low, middle, high] = quartiles(figures.map((one) => one[figure] ?? Number.NaN));
      return `| ${name} | ${figure} | ${show(middle)} | ${show(low)} to ${show(high)} |`;
    }),
  );
  return ["| Contestant | Figure | Median | Quartiles |", "|---|---|---|---|", ...lines].join("\n");
}

/** Ratios are taken round by round, so that a machine that drifts costs both sides alike. */
function toRatioTable(): string {
  const lines = RATIOS.filter(([, over, , under]) => rounds.has(over) && rounds.has(under)).map(
    ([name, over, figure, under, limit]) => {
      const below = rounds.get(under) ?? [];
      const ratios = (rounds.get(over) ?? []).map(
        (figures, round) =>
          (figures[figure] ?? Number.NaN) / (below[round]?.[figure] ?? Number.NaN),
      );
      const [low, middle, high] = quartiles(ratios);
      return `| ${name} | ${show(middle)} | ${show(low)} to ${show(high)} | ${limit} |`;
    },
  );
  return ["| Ratio | Median | Quartiles | Target |", "|---|---|---|---|", ...lines].join("\n");
}

function quartiles(values: readonly number[]): [number, number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => {
    const place = part * (sorted.length - 1);
    const [below = Number.NaN, above = below] = sorted.slice(
      Math.floor(place),
      Math.floor(place) + 2,
    );
    return below + (above - below) * (place - Math.floor(place));
  };
  return [at(0.25), at(0.5), at(0.75)];
}

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);
}
